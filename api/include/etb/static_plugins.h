// SPDX-License-Identifier: Apache-2.0
//
// Plugins that are linked into the program, for targets without a dynamic loader.
//
// The program lists the query functions in an array and passes it to the host. The host treats each as if it
// had loaded it: same negotiation, same checks, same resolution by name. Build the plugin's sources with
// ETB_PLUGIN_STATIC_NAME=<name>; its query function is then etb_plugin_query_<name>:
//
//   ETB_DECLARE_STATIC_PLUGIN(my_npu);
//   static const etb_static_plugin plugins[] = {ETB_STATIC_PLUGIN(my_npu, "MyNpuBackend")};
//
// In CMake, etb_link_static_plugins() writes this array from the manifests.
//
// A static plugin has no manifest: its identity comes from the table that query returns, and `provides` lists
// its delegate ids.
#ifndef ETB_STATIC_PLUGINS_H_
#define ETB_STATIC_PLUGINS_H_

#include "etb/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

// One plugin of the program.
typedef struct etb_static_plugin {
  uint32_t struct_size;
  uint32_t flags;             // must be zero
  etb_plugin_query_fn query;  // [static]
  const char* provides;       // [static] delegate ids, separated by one space, as a manifest would list them
} etb_static_plugin;

// Declares the query function of the plugin that was built with ETB_PLUGIN_STATIC_NAME=name.
#define ETB_DECLARE_STATIC_PLUGIN(name)                                                            \
  const etb_plugin_table* ETB_CALL etb_plugin_query_##name(const etb_host* host, uint32_t abi_min, \
                                                           uint32_t abi_max)

// Initialiser of an etb_static_plugin.
#define ETB_STATIC_PLUGIN(name, provides) \
  { ETB_INIT_SIZE(etb_static_plugin), 0, etb_plugin_query_##name, provides }

#ifdef __cplusplus
}
#endif

#endif
