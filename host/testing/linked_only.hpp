// SPDX-License-Identifier: Apache-2.0
// Options of a registry in which a test finds its own plugins only.
#pragma once

#include <span>

#include "host/registry/registry.hpp"

namespace etb::host {

// Returns options with these linked plugins, without environment and folders of the machine. The plugins outlive the registry.
inline RegistryOptions linked_only(std::span<const etb_static_plugin> plugins) {
  RegistryOptions options;
  options.environment = {};
  options.admin_path.clear();
  options.static_plugins = plugins;
  return options;
}

}  // namespace etb::host
