// SPDX-License-Identifier: Apache-2.0
// The plugin for fuzz targets: linked in, on a host whose workers are one thread, so that runs are
// reproducible.
#pragma once

#include <string_view>

#include "etb/static_plugins.h"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(xnnpack);
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
}

namespace etb::xnnpack {

inline constexpr uint32_t kWorkerCount = 3;
inline constexpr etb_parallel_service kOneThread = {
    ETB_INIT_SIZE(etb_parallel_service), 0, nullptr, [](void*) { return kWorkerCount; },
    [](void*, uint64_t count, uint64_t, void(ETB_CALL* task)(void*, uint64_t, uint64_t, uint32_t),
       void* arg) {
      for (uint64_t i = 0; i < count; ++i) task(arg, i, i + 1, 0);
    }};
inline const void* ETB_CALL find_service(const etb_host*, const char* name) {
  return std::string_view(name) == ETB_SERVICE_PARALLEL ? &kOneThread : nullptr;
}
inline constexpr etb_host kFuzzHost = {
    ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "fuzz", "0", "", nullptr, find_service, nullptr};

struct FuzzPlugin {
  const etb_plugin_table* table = etb_plugin_query_xnnpack(&kFuzzHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  etb_plugin* plugin = nullptr;
  FuzzPlugin() {
    etb_error error = ETB_ERROR_INIT;
    if (table->init(&kFuzzHost, nullptr, 0, &plugin, &error) != ETB_OK) __builtin_trap();
  }
};

}  // namespace etb::xnnpack
