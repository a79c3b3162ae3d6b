// SPDX-License-Identifier: Apache-2.0
// EventTracer: receives what a method does while it loads and runs, for profiles and for
// dumps of intermediate values.
#pragma once

#include <cstdint>
#include <span>

#include "etb/delegate.h"
#include "host/runtime/evalue.hpp"

namespace etb::host {

enum class EventKind : uint8_t { kLoadMethod, kExecute, kKernel, kDelegate, kMove, kJumpFalse, kFree };

struct Event {
  EventKind kind;
  const char* name;           // name of the kernel or method, or id of the delegate; valid during the call
  int32_t chain_index;        // -1 outside of chains
  int32_t instruction_index;  // in its chain; -1 outside
  uint64_t begin_ns;          // on the platform's clock
  uint64_t end_ns;
};

// Called on the thread that runs the method. Without a tracer the runtime reads no clock.
class EventTracer {
 public:
  // Called at the end of the described work, so a delegate's own events come before its kDelegate event.
  virtual void on_event(const Event& event) noexcept = 0;

  // Called after each kernel and delegate call if wants_values(): with all arguments, inputs included.
  virtual bool wants_values() const noexcept { return false; }
  virtual void on_values(int32_t chain_index, int32_t instruction_index, EventKind kind,
                         std::span<EValue* const> arguments) noexcept {
    static_cast<void>(chain_index), static_cast<void>(instruction_index), static_cast<void>(kind);
    static_cast<void>(arguments);
  }

  // Returns the sink for the events of this delegate call, or null when no events are wanted.
  virtual const etb_event_sink* delegate_events(int32_t chain_index, int32_t instruction_index) noexcept {
    static_cast<void>(chain_index), static_cast<void>(instruction_index);
    return nullptr;
  }

 protected:
  EventTracer() noexcept = default;
  EventTracer(const EventTracer&) = default;
  EventTracer& operator=(const EventTracer&) = default;
  ~EventTracer() = default;
};

}  // namespace etb::host
