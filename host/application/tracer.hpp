// SPDX-License-Identifier: Apache-2.0
// SinkTracer: passes the events of a run to the application's sink.
#pragma once

#include "etb/cpp/guard.hpp"
#include "etb/module.h"
#include "host/runtime/event_tracer.hpp"

namespace etb::host {

class SinkTracer final : public EventTracer {
 public:
  explicit SinkTracer(const etb_trace_sink& sink) : sink_(copy_struct(sink)) {}

  void on_event(const Event& event) noexcept override {
    etb_trace_event out{};
    out.struct_size = ETB_INIT_SIZE(etb_trace_event);
    out.kind = static_cast<uint32_t>(event.kind);
    out.chain_index = event.chain_index;
    out.instruction_index = event.instruction_index;
    out.name = event.name;
    out.begin_ns = event.begin_ns;
    out.end_ns = event.end_ns;
    sink_.put(sink_.ctx, &out);
  }

  const etb_event_sink* delegate_events(int32_t, int32_t) noexcept override { return sink_.delegate_events; }

 private:
  static_assert(static_cast<uint32_t>(EventKind::kLoadMethod) == ETB_TRACE_LOAD_METHOD);
  static_assert(static_cast<uint32_t>(EventKind::kDelegate) == ETB_TRACE_DELEGATE);
  static_assert(static_cast<uint32_t>(EventKind::kFree) == ETB_TRACE_FREE);
  static_assert(static_cast<uint32_t>(EventKind::kInitMethod) == ETB_TRACE_INIT_METHOD);

  etb_trace_sink sink_;
};

}  // namespace etb::host
