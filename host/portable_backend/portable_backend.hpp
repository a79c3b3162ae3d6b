// The portable kernels as one more backend behind the C table: it claims every node that has a kernel which runs it, and its payload is the
// graph image itself. So the reference is tested like every other plugin, and fallback is no special path.
#pragma once

#include "etb/static_plugins.h"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(portable);
}

namespace etb::host {

inline constexpr const char* kPortableBackendId = "PortableBackend";

// For RegistryOptions::static_plugins.
inline constexpr etb_static_plugin kPortablePlugin = ETB_STATIC_PLUGIN(portable, "PortableBackend");

}  // namespace etb::host
