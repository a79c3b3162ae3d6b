// A layer as the host is given one: a table with the plugin's own interface, and the object behind it.
#pragma once

#include "etb/layer.h"

namespace etb::host {

// The table is constant; what the application set up for this use of it (options, a collector, a log) reaches the layer
// as a host service, so that a layer has no state outside objects that someone made.
struct Layer {
  const char* name = "";                    // what --layers calls it
  const etb_plugin_table* table = nullptr;  // [static]
  const char* service_id = nullptr;         // NULL: needs none
  const void* service = nullptr;            // outlives every plugin that it is used on
};

// What a layer's init does first: copies the host struct for the next init, its link advanced. NULL when nothing made
// the chain: the layer was initialised as if it were a plugin.
inline const etb_plugin_table* next_table(const etb_host& host, etb_host& out_next_host) noexcept {
  const etb_layer_link* const link = host.layer_link;
  if (link == nullptr || link->next == nullptr) return nullptr;
  out_next_host = host;
  out_next_host.struct_size = sizeof(etb_host);
  out_next_host.layer_link = link->rest;
  return link->next;
}

}  // namespace etb::host
