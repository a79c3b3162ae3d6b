// EventTracer: what a method reports while it loads and runs, for profiles and for dumps of intermediate values.
#pragma once

#include <cstdint>
#include <span>

#include "etb/delegate.h"
#include "host/runtime/evalue.hpp"

namespace etb::host {

enum class EventKind : uint8_t { kLoadMethod, kExecute, kKernel, kDelegate, kMove, kJumpFalse, kFree };

struct Event {
  EventKind kind;
  const char* name;           // the kernel's, the delegate's id, or the method's; valid during the call
  int32_t chain_index;        // -1 outside of chains
  int32_t instruction_index;  // in its chain; -1 outside
  uint64_t begin_ns;          // on the platform's clock
  uint64_t end_ns;
};

// Called on the thread that runs the method. With no tracer no clock is read.
class EventTracer {
 public:
  // At the end of what it describes, so a delegate's own events come before its kDelegate event.
  virtual void on_event(const Event& event) noexcept = 0;

  // After each kernel and delegate call when wants_values(): all its arguments, inputs included.
  virtual bool wants_values() const noexcept { return false; }
  virtual void on_values(int32_t chain_index, int32_t instruction_index, EventKind kind,
                         std::span<EValue* const> arguments) noexcept {
    static_cast<void>(chain_index), static_cast<void>(instruction_index), static_cast<void>(kind);
    static_cast<void>(arguments);
  }

  // Where the delegate of this call should put its events; null when none are wanted.
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
