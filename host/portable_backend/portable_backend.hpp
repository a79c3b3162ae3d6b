// SPDX-License-Identifier: Apache-2.0
// The portable kernels as a backend with the C table. It claims every node that one of its kernels can run,
// and its payload is the graph image itself. So the reference is tested like every other plugin, and
// fallback is no special path.
#pragma once

#include <string_view>

#include "etb/static_plugins.h"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(portable);
}

namespace etb::host {

inline constexpr const char* kPortableBackendId = "PortableBackend";

// False, by name, for ops whose result depends on more than their inputs, and for most whose sizes depend on elements.
bool is_op_of_payloads(std::string_view op);

// An entry for RegistryOptions::static_plugins.
inline constexpr etb_static_plugin kPortablePlugin = ETB_STATIC_PLUGIN(portable, "PortableBackend");

}  // namespace etb::host
