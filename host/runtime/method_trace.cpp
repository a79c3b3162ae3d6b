// SPDX-License-Identifier: Apache-2.0
// Reports loading and runs to a tracer.
#include <algorithm>
#include <cstring>

#include "host/runtime/method_state.hpp"

namespace etb::host {

namespace {

using format::InstructionKind;

EventKind event_kind(InstructionKind kind) noexcept {
  switch (kind) {
    case InstructionKind::kKernel:
      return EventKind::kKernel;
    case InstructionKind::kDelegate:
      return EventKind::kDelegate;
    case InstructionKind::kMove:
      return EventKind::kMove;
    case InstructionKind::kJumpFalse:
      return EventKind::kJumpFalse;
    case InstructionKind::kFree:
      break;
  }
  return EventKind::kFree;
}

// Passes the arguments of a delegate, or the values that a kernel wrote: the marked ones, or for a row without the mark
// `!` the returned values, which a program has after the arguments. The core's own ops compute only sizes and numbers,
// or views.
void trace_values(EventTracer& tracer, const Event& event, const Instruction& instruction) noexcept {
  uint32_t first = 0;
  uint32_t end = instruction.argument_count;
  const Kernel* marked = nullptr;
  if (event.kind == EventKind::kKernel) {
    if (event.is_core_op) return;
    const Kernel& kernel = *instruction.kernel;
    const uint32_t count = std::min(kernel.argument_count, end);
    if (std::strchr(kernel.signature, '!') != nullptr) {
      marked = &kernel;
      end = count;
    } else {
      first = count;
    }
  } else if (event.kind != EventKind::kDelegate) {
    return;
  }
  for (uint32_t i = first; i < end; ++i) {
    if (marked != nullptr && !marked->operands.is_written(i)) continue;
    if (instruction.arguments[i] != nullptr) tracer.on_value(event, *instruction.arguments[i]);
  }
}

// Instructions follow each other, so the end of one is the begin of the next: a clock takes longer to read than an
// event to store.
etb_status run_traced(MethodState& state, const Instruction& instruction, const RunLimits& limits) noexcept {
  EventTracer& tracer = *state.options.tracer;
  const TracerWants& wants = tracer.wants();
  int32_t chain = 0;
  int32_t index = 0;
  state.locate(state.next, &chain, &index);
  const auto* events =
      instruction.kind == InstructionKind::kDelegate ? tracer.delegate_events(chain, index) : nullptr;
  const bool is_kernel = instruction.kind == InstructionKind::kKernel;
  const uint64_t scratch_before = is_kernel && wants.allocations ? state.context.begin_peak() : 0;
  const etb_status status = run_instruction(state, instruction, limits, events);
  if (is_kernel && wants.allocations) {
    const uint64_t nbytes = state.context.end_peak(scratch_before);
    if (nbytes != 0) tracer.on_allocation({AllocatorKind::kScratch, 0, nbytes});
  }
  if (status != ETB_OK) return status;
  const uint64_t end_ns = now_ns(state);
  const Event event{event_kind(instruction.kind),
                    event_name(state, instruction),
                    chain,
                    index,
                    state.traced_ns,
                    end_ns,
                    is_kernel && is_prim_op(*instruction.kernel)};
  if (wants.values) trace_values(tracer, event, instruction);
  tracer.on_event(event);
  state.traced_ns = wants.values ? now_ns(state) : end_ns;
  return ETB_OK;
}

void trace_end(const MethodState& state) noexcept {
  EventTracer& tracer = *state.options.tracer;
  tracer.on_event({EventKind::kExecute, "execute", -1, -1, state.begin_ns, now_ns(state)});
  if (!tracer.wants().outputs) return;
  for (const EValue* output : state.outputs) {
    if (output != nullptr) tracer.on_output(*output);
  }
}

uint64_t begin_load(const MethodOptions& options, const MethodMeta& meta,
                    const MethodMemory& memory) noexcept {
  EventTracer& tracer = *options.tracer;
  tracer.on_begin(EventKind::kLoadMethod);
  const uint64_t begin_ns = options.platform->now_ns(options.platform->self);
  if (!tracer.wants().allocations) return begin_ns;
  for (uint32_t i = 0; i < meta.arena_count() && i < memory.arenas.size(); ++i) {
    tracer.on_allocation({AllocatorKind::kPlanned, i, meta.arena_nbytes(i)});
  }
  tracer.on_allocation({AllocatorKind::kMethod, 0, meta.state_nbytes()});
  return begin_ns;
}

void end_load(const MethodState& state, uint64_t begin_ns, uint64_t init_begin_ns) noexcept {
  EventTracer& tracer = *state.options.tracer;
  tracer.on_event({EventKind::kInitMethod, "init", -1, -1, init_begin_ns, now_ns(state)});
  tracer.on_event({EventKind::kLoadMethod, "load_method", -1, -1, begin_ns, now_ns(state)});
}

}  // namespace

const TraceFunctions kTraceFunctions{run_traced, trace_end, begin_load, end_load};

}  // namespace etb::host
