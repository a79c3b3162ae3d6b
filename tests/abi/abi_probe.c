// SPDX-License-Identifier: Apache-2.0
// A library whose debug information includes every type of the ABI. abidiff compares it with the committed
// dump.
#include "etb/all.h"
#include "etb/etbackend.h"
#include "etb/ext/buffer.h"
#include "etb/ext/cache.h"

ETB_EXPORT const etb_plugin_table* etb_plugin_query(const etb_host* host, uint32_t abi_min,
                                                    uint32_t abi_max) {
  (void)host, (void)abi_min, (void)abi_max;
  return 0;
}

// Types that no table reaches.
ETB_EXPORT void etb_probe(const etb_layer_link* link, const etb_static_plugin* plugin,
                          const etb_plugin_note* note, const etb_log_service* log,
                          const etb_alloc_service* alloc, const etb_parallel_service* parallel,
                          const etb_clock_service* clock, const etb_diag_service* diag,
                          const etb_value* value, const etb_module_options* options,
                          const etb_run_limits* limits, const etb_decision* decision,
                          const etb_plugin_info* info, const etb_recording_options* recording,
                          const etb_buffer_table* buffers, const etb_cache_service* cache) {
  (void)buffers, (void)cache, (void)value, (void)options, (void)limits, (void)decision, (void)info, (void)recording, (void)link, (void)plugin, (void)note, (void)log, (void)alloc,
      (void)parallel, (void)clock, (void)diag;
}

// The functions of applications, each with its type.
#define ETB_FUNCTION(name) ETB_EXPORT __typeof__(name)* etb_probe_##name = 0;
#include "../../host/application/functions.def"
#undef ETB_FUNCTION
