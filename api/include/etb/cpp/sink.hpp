// SPDX-License-Identifier: Apache-2.0
//
// Sinks from C++ callables: `etb_device_sink sink = etb::sink_to<etb_device_sink>(put)`. `put` receives the
// item by reference and returns an etb_status. `put` outlives the sink; items are [borrowed-for-call], as for
// every sink.
#pragma once

#include "etb/status.h"

namespace etb {

namespace detail {
template <class Put>
struct SinkItem;
template <class Item>
struct SinkItem<etb_status(ETB_CALL*)(void*, const Item*)> {
  using type = Item;
};
}  // namespace detail

// A sink struct with the one function `put`.
template <class Sink, class F>
Sink sink_to(F& put) noexcept {
  using Item = typename detail::SinkItem<decltype(Sink::put)>::type;
  Sink sink{};
  sink.struct_size = sizeof(Sink);
  sink.ctx = &put;
  sink.put = [](void* ctx, const Item* item) noexcept -> etb_status {
    return (*static_cast<F*>(ctx))(*item);
  };
  return sink;
}

}  // namespace etb
