// SPDX-License-Identifier: Apache-2.0
// EventTracer: receives what a method does while it loads and runs: times, allocations, values.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "etb/delegate.h"
#include "host/runtime/evalue.hpp"

namespace etb::host {

enum class EventKind : uint8_t {
  kLoadMethod,  // finding and making a method; kInitMethod is a part of it
  kExecute,
  kKernel,
  kDelegate,
  kMove,
  kJumpFalse,
  kFree,
  kInitMethod  // making values, instructions and delegates
};

struct Event {
  EventKind kind;
  const char* name;           // name of the kernel or method, or id of the delegate; valid during the call
  int32_t chain_index;        // -1 outside of chains
  int32_t instruction_index;  // in its chain; -1 outside
  uint64_t begin_ns;          // on the platform's clock; may be the end of the event before
  uint64_t end_ns;
  bool is_core_op = false;  // kKernel: one of the runtime's own ops on sizes and numbers
};

enum class AllocatorKind : uint8_t {
  kMethod,   // values, instructions and tables of a method
  kPlanned,  // an arena of a method; several have an index
  kScratch,  // for one call of a kernel
  kOutput    // outputs that the program leaves to the caller
};

struct Allocation {
  AllocatorKind allocator;
  uint32_t index;  // of the arena
  uint64_t nbytes;
};

// Choice of a tracer. The runtime reads it before each run.
struct TracerWants {
  bool instructions = true;  // an event for each instruction, and the events inside of delegates
  bool values = false;       // what kernels compute, and the arguments of delegates
  bool outputs = false;      // of the method
  bool allocations = false;
};

struct DelegateMemory;  // delegate_resolver.hpp

// The code of Method that only a tracer needs: method_trace.cpp. Objects of EventTracer name it, so the linker leaves it out
// of a program without them.
struct TraceFunctions;
extern const TraceFunctions kTraceFunctions;

// Called on the thread that runs the method. Without a tracer the runtime reads no clock.
class EventTracer {
 public:
  const TracerWants& wants() const noexcept { return wants_; }
  const TraceFunctions& functions() const noexcept { return *functions_; }

  // Called before a method is loaded (kLoadMethod), and before its first instruction runs (kExecute).
  virtual void on_begin(EventKind kind) noexcept { static_cast<void>(kind); }

  // Called at the end of the described work, so a delegate's own events come before its kDelegate event.
  virtual void on_event(const Event& event) noexcept = 0;

  // Called before the event of a kernel, for each value that it wrote, and before the event of a delegate, for each
  // of its arguments, inputs included.
  virtual void on_value(const Event& call, const EValue& value) noexcept {
    static_cast<void>(call), static_cast<void>(value);
  }

  // Called after kExecute for each output of the method.
  virtual void on_output(const EValue& value) noexcept { static_cast<void>(value); }

  virtual void on_allocation(const Allocation& allocation) noexcept { static_cast<void>(allocation); }

  // Called while a method is loaded, for each of its delegates.
  virtual void on_delegate_memory(std::string_view id, const DelegateMemory& memory) noexcept {
    static_cast<void>(id), static_cast<void>(memory);
  }

  // Returns the sink for the events of this delegate call, or null when no events are wanted.
  virtual const etb_event_sink* delegate_events(int32_t chain_index, int32_t instruction_index) noexcept {
    static_cast<void>(chain_index), static_cast<void>(instruction_index);
    return nullptr;
  }

 protected:
  EventTracer() noexcept : functions_(&kTraceFunctions) {}
  EventTracer(const EventTracer&) = default;
  EventTracer& operator=(const EventTracer&) = default;
  ~EventTracer() = default;

  TracerWants wants_;

 private:
  const TraceFunctions* functions_;
};

}  // namespace etb::host
