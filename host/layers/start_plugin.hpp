// SPDX-License-Identifier: Apache-2.0
// Starts a plugin from its table: services, layers, init.
#pragma once

#include <span>
#include <string>

#include "host/layers/layer.hpp"
#include "host/plugin/plugin_context.hpp"
#include "host/services/plugin_services.hpp"

namespace etb::host {

struct StartArgs {
  std::span<const Layer> layers;  // outermost first; requested by the application or the command line
  SharedServices services;        // outlive the plugin
  uint64_t memory_cap_bytes = AccountedAllocator::kUnbounded;
  // The application's own host struct: its name, its services. Outlives the plugin.
  const etb_host* application = nullptr;
  std::string plugin_dir;
  uint32_t host_flags = 0;              // ETB_HOST_*
  std::span<const etb_option> options;  // scope ETB_OBJECT_PLUGIN
};

// `library` keeps alive all that `table` points into, and receives the status of deinit.
// NULL for a linked plugin.
[[nodiscard]] Result<PluginContext> start_plugin(std::shared_ptr<PluginLife> library,
                                                 const etb_plugin_table& table, const StartArgs& args);

}  // namespace etb::host
