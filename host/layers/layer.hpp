// SPDX-License-Identifier: Apache-2.0
// Layer: a table with the plugin's own interface, and the service object that its functions use.
#pragma once

#include "etb/layer.h"

namespace etb::host {

// The table is constant. The application's settings for one use (options, a collector, a log) reach the layer
// as a host service. So all state of a layer is in objects that the application made.
struct Layer {
  const char* name = "";                    // its name in --layers
  const etb_plugin_table* table = nullptr;  // [static]
  const char* service_id = nullptr;         // NULL: needs no service
  const void* service = nullptr;            // outlives every plugin that uses the layer
};

// Starts a layer's init: copies the host struct for the next init, with the link advanced. Returns NULL
// without a chain, when the layer was initialised as if it were a plugin.
inline const etb_plugin_table* next_table(const etb_host& host, etb_host& out_next_host) noexcept {
  const etb_layer_link* const link = host.layer_link;
  if (link == nullptr || link->next == nullptr) return nullptr;
  out_next_host = host;
  out_next_host.struct_size = sizeof(etb_host);
  out_next_host.layer_link = link->rest;
  return link->next;
}

}  // namespace etb::host
