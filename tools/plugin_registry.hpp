// The registry that every command uses: --plugin-path, the environment, and the folders that belong to this program.
#pragma once

#include "host/registry/registry.hpp"
#include "tools/command.hpp"

namespace etb::tools {

// Options of the session: the application's folders from --plugin-path, the distribution's found from where the program
// lies (<prefix>/lib/etbackend/plugins.d when it is installed, <build>/plugins.d when it is not).
host::RegistryOptions registry_options(const Session& session);

}  // namespace etb::tools
