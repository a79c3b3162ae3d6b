// Layers: plugins with ETB_PROFILE_LAYER that stand between the host and another plugin and have the plugin's
// own interface.
//
// A layer is asked by the same query function and gives the same tables. It is switched on by the application
// or the command line, never by being found (ABI-LAYER-01). The host makes a chain: it calls init of the
// outermost layer with a host struct whose layer_link names the next table; that layer makes its context,
// copies the host struct, advances the copy's layer_link to `rest`, calls init of the next with it, and from
// then on wraps every handle that it passes on.
//
// How the host makes a layer's table complete (ABI-LAYER-02):
//   - A layer that gives `init` wraps handles: it gives every required function. An optional function is
//     offered when both the layer and the next table offer it; a whole table (device, delegate, aot) too.
//   - A layer that leaves `init` NULL wraps nothing: every function that it leaves NULL is the next one's.
//   - The identity is the plugin's, whatever stands in front of it.
//
// Functions of an extension take handles too, so a layer that wraps handles answers get_extension with NULL for
// every extension that it does not wrap itself.
//
//   host -> trace (link: validate) -> validate (link: plugin) -> plugin (link: NULL)
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
  uint32_t flags;                // must be zero
  const etb_plugin_table* next;  // complete: the host has replaced absent functions by stubs (ABI-CALL-01)
  const struct etb_layer_link*
      rest;  // layer_link for the next one's init; NULL when next is the plugin itself
} etb_layer_link;

#ifdef __cplusplus
}
#endif

#endif
