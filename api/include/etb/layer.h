// SPDX-License-Identifier: Apache-2.0
//
// Layers: plugins with ETB_PROFILE_LAYER that sit between the host and another plugin and have a plugin's
// interface.
//
// A layer is queried by the same function and returns the same tables. The application or the command line
// switches it on; a layer is never active because it was found (ABI-LAYER-01). The host makes a chain:
//
//   host -> trace (link: validate) -> validate (link: plugin) -> plugin (link: NULL)
//
//   1. The host calls init of the outermost layer. The layer_link of its host struct names the next table.
//   2. The layer makes its context, copies the host struct, and sets layer_link of the copy to `rest`.
//   3. The layer calls init of the next table with the copy.
//   4. From then on the layer wraps every handle that it passes on.
//
// In C, the init of a layer:
//
//   etb_host inner = *host;   // [borrowed-until-destroy]: keep the copy in the context
//   inner.layer_link = host->layer_link->rest;
//   status = host->layer_link->next->init(&inner, options, option_count, &context->plugin, error);
//
// How the host completes the table of a layer (ABI-LAYER-02):
//
//   - A layer with `init` wraps handles: it has every required function. An optional function is offered when
//     both the layer and the next table offer it; the same holds for a whole table (device, delegate, aot).
//   - A layer whose `init` is NULL wraps nothing: the host fills every NULL function with the next table's.
//   - The identity is the plugin's, for any number of layers before it.
//
// Functions of an extension receive handles too. A layer that wraps handles returns NULL from get_extension
// for every extension that it does not wrap itself.
#ifndef ETB_LAYER_H_
#define ETB_LAYER_H_

#include "etb/base.h"
#include "etb/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

// One step of the chain. [borrowed-until-destroy] of the layer's context.
typedef struct etb_layer_link {
  uint32_t struct_size;
  uint32_t flags;  // must be zero

  // The next table. It is complete: the host has replaced absent functions by stubs (ABI-CALL-01).
  const etb_plugin_table* next;

  // The layer_link for init of the next table; NULL when `next` is the plugin itself.
  const struct etb_layer_link* rest;
} etb_layer_link;

#ifdef __cplusplus
}
#endif

#endif
