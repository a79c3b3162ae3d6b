// SPDX-License-Identifier: Apache-2.0
// The registry of every command: --plugin-path, the environment, and the program's own plugin folders.
#pragma once

#include "host/registry/registry.hpp"
#include "tools/command.hpp"

namespace etb::tools {

// Returns the session's options: the application's folders from --plugin-path, and the distribution's folder
// relative to the program (<prefix>/lib/etbackend/plugins.d if it is installed, else <build>/plugins.d).
host::RegistryOptions registry_options(const Session& session);

// Rejects a --plugin-path that is no folder.
[[nodiscard]] Status check_plugin_paths(const Session& session);

}  // namespace etb::tools
