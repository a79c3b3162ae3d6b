// The plugin as fuzz targets call it: linked in, on a host without services.
#pragma once

#include "etb/static_plugins.h"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(xnnpack);
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
}

namespace etb::xnnpack {

inline const void* ETB_CALL no_service(const etb_host*, const char*) { return nullptr; }
inline constexpr etb_host kBareHost = {
    ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "fuzz", "0", "", nullptr, no_service, nullptr};

struct FuzzPlugin {
  const etb_plugin_table* table = etb_plugin_query_xnnpack(&kBareHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  etb_plugin* plugin = nullptr;
  FuzzPlugin() {
    etb_error error = ETB_ERROR_INIT;
    if (table->init(&kBareHost, nullptr, 0, &plugin, &error) != ETB_OK) __builtin_trap();
  }
};

}  // namespace etb::xnnpack
