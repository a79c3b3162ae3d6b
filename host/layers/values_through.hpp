// SPDX-License-Identifier: Apache-2.0
// Values inside of delegates (etb/ext/draft/values.h) behind a layer that has a sink of events of its own.
#pragma once

#include "etb/ext/draft/values.h"

namespace etb::host {

// Joins a layer's sink of events with the host's sink of values, if the host has one.
class ValuesThrough {
 public:
  // `layer`: receives the events. `host`: what the host passed. Both outlive this object; NULL: no events.
  ValuesThrough(const etb_event_sink* layer, const etb_event_sink* host)
      : layer_(layer), values_(layer == nullptr ? nullptr : etb_values_of(host)) {
    if (values_ == nullptr) return;
    joined_.events.struct_size = sizeof(joined_);
    joined_.events.ctx = this;
    joined_.events.put = [](void* ctx, const etb_event* event) -> etb_status {
      const etb_event_sink& to = *static_cast<ValuesThrough*>(ctx)->layer_;
      return to.put(to.ctx, event);
    };
    joined_.id = ETB_VALUE_SINK_ID;
    joined_.wants = [](void* ctx, const char* name, int64_t debug_id) -> uint32_t {
      const etb_value_sink& to = *static_cast<ValuesThrough*>(ctx)->values_;
      return to.wants(to.events.ctx, name, debug_id);
    };
    joined_.put_value = [](void* ctx, const etb_inner_value* value) -> etb_status {
      const etb_value_sink& to = *static_cast<ValuesThrough*>(ctx)->values_;
      return to.put_value(to.events.ctx, value);
    };
  }
  ValuesThrough(const ValuesThrough&) = delete;
  ValuesThrough& operator=(const ValuesThrough&) = delete;

  // The sink for the plugin.
  const etb_event_sink* get() const { return values_ == nullptr ? layer_ : &joined_.events; }

 private:
  const etb_event_sink* layer_;
  const etb_value_sink* values_;
  etb_value_sink joined_{};
};

}  // namespace etb::host
