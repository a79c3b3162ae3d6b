// SPDX-License-Identifier: Apache-2.0
#include "host/module/overlapped_method.hpp"

#include <algorithm>
#include <cstring>

#include "etb/cpp/fail.hpp"
#include "host/module/core_error.hpp"

namespace etb::host {

namespace {

using format::InstructionKind;

struct MemoryRange {
  uintptr_t begin, end;
  bool overlaps(uintptr_t other_begin, uintptr_t other_end) const noexcept {
    return other_begin < end && begin < other_end;
  }
};

MemoryRange range_of(const CallerMemory& memory) noexcept {
  const auto begin = reinterpret_cast<uintptr_t>(memory.data);
  return {begin, memory.is_tensor && !memory.is_planned ? begin + memory.nbytes : begin};
}

}  // namespace

std::unique_ptr<OverlappedMethod> OverlappedMethod::make(Method& method) {
  const MethodState& state = *method.state_;
  if (state.options.tracer != nullptr) return nullptr;
  std::vector<DelegateStarts> starts;
  for (MethodDelegate* const delegate : state.delegates) {
    const AsyncRuns* const runs = delegate->async_runs();
    starts.push_back({runs != nullptr, runs != nullptr && runs->can_follow()});
  }
  InstructionOrder order = find_order(state, starts);
  if (order.steps.empty()) return nullptr;
  return std::unique_ptr<OverlappedMethod>(new OverlappedMethod(method, std::move(order)));
}

std::vector<std::vector<uint32_t>> OverlappedMethod::dependencies_of(const Method& method) {
  return find_dependencies(*method.state_);
}

OverlappedMethod::OverlappedMethod(Method& method, InstructionOrder order)
    : method_(method), planned_(std::move(order.planned)) {
  std::vector<uint32_t> slots(state().instructions.size(), kNone);
  for (OrderedStep& step : order.steps) {
    if (step.is_start) {
      slots[step.instruction] = static_cast<uint32_t>(slots_.size());
      const Instruction& instruction = state().instructions[step.instruction];
      slots_.push_back({step.instruction,
                        state().delegates[instruction.delegate]->async_runs(),
                        {{instruction.arguments, instruction.argument_count}, {}, nullptr, nullptr},
                        ETB_ERROR_INIT,
                        false,
                        ETB_OK,
                        UINT64_MAX,
                        0,
                        false,
                        {},
                        {}});
    }
    for (uint32_t& wait : step.waits) wait = slots[wait];
    for (const uint32_t before : step.after) {
      Slot& slot = slots_[slots[step.instruction]];
      slot.after.push_back(slots[before]);
      slot.runs_after.reserve(slot.after.size());
      (void)slots_[slots[before]].runs->allow_followers();  // without, a follower starts later
    }
    steps_.push_back(
        {step.instruction, step.is_start ? slots[step.instruction] : kNone, std::move(step.waits)});
  }
  for (Slot& slot : slots_) slot.run.error = &slot.error;
}

// The order takes memory of the caller as separate.
bool OverlappedMethod::is_caller_memory_apart() noexcept {
  const std::span<const CallerMemory> all = state().caller_memory;
  for (size_t i = 0; i < all.size(); ++i) {
    const MemoryRange memory = range_of(all[i]);
    if (memory.begin == memory.end) continue;
    const auto in_plan = std::upper_bound(planned_.begin(), planned_.end(), memory.begin,
                                          [](uintptr_t at, const auto& range) { return at < range.second; });
    if (in_plan != planned_.end() && memory.overlaps(in_plan->first, in_plan->second)) return false;
    for (size_t output = std::max(i + 1, state().inputs.size()); output < all.size(); ++output) {
      const MemoryRange other = range_of(all[output]);
      if (memory.overlaps(other.begin, other.end)) return false;
    }
  }
  return true;
}

bool OverlappedMethod::is_short_run() noexcept {
  if (std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.is_short; }))
    return ++short_run_count_ % kRunsToMeasure != 0;
  short_run_count_ = 0;
  return false;
}

etb_status OverlappedMethod::execute(etb_error* error, const RunLimits& limits) noexcept {
  method_.restart();
  next_ = 0;
  for (Slot& slot : slots_) slot.status = ETB_OK;
  is_in_order_ = is_short_run() || !is_caller_memory_apart();
  return resume(error, limits);
}

etb_status OverlappedMethod::resume(etb_error* error, const RunLimits& limits) noexcept {
  if (is_in_order_) return method_.resume(error, limits);
  for (; next_ < steps_.size(); ++next_) {
    const Step& step = steps_[next_];
    for (const uint32_t wait : step.waits) {
      const etb_status status = finish(slots_[wait], error);
      if (status != ETB_OK) return finish_all(slots_[wait].instruction, status, error);
    }
    const etb_status status = run_step(step, error, limits);
    if (status != ETB_OK) return finish_all(step.instruction, status, error);
  }
  const etb_status status = finish_all(kNone, ETB_OK, error);
  return status == ETB_OK ? check_time(limits, error) : status;
}

etb_status OverlappedMethod::check_time(const RunLimits& limits, etb_error* error) noexcept {
  const auto count = static_cast<unsigned long long>(state().executed_count);
  if (limits.cancel != nullptr && limits.cancel->load(std::memory_order_relaxed))
    return fail(error, ETB_CANCELLED, "cancelled after %llu instructions", count);
  const PlatformHooks& platform = *state().options.platform;
  if (limits.deadline_ns == 0 || platform.now_ns(platform.self) < limits.deadline_ns) return ETB_OK;
  return fail(error, ETB_DEADLINE_EXCEEDED, "deadline passed after %llu instructions", count);
}

etb_status OverlappedMethod::run_step(const Step& step, etb_error* error, const RunLimits& limits) noexcept {
  if (step.slot == kNone) return run_to_end(step.instruction, error, limits);
  Slot& slot = slots_[step.slot];
  const bool runs_now = slot.is_short && !is_behind_others(slot);
  return runs_now ? run_short(slot, error, limits) : start(slot, error, limits);
}

bool OverlappedMethod::is_behind_others(const Slot& slot) const noexcept {
  return std::any_of(slot.after.begin(), slot.after.end(), [&](uint32_t i) { return slots_[i].is_running; });
}

etb_status OverlappedMethod::run_to_end(uint32_t instruction, etb_error* error,
                                        const RunLimits& limits) noexcept {
  state().next = instruction;
  return method_.step(error, limits);
}

// Larger sizes may make the run long again.
etb_status OverlappedMethod::run_short(Slot& slot, etb_error* error, const RunLimits& limits) noexcept {
  const PlatformHooks& platform = *state().options.platform;
  const uint64_t begin_ns = platform.now_ns(platform.self);
  const etb_status status = run_to_end(slot.instruction, error, limits);
  if (platform.now_ns(platform.self) - begin_ns < kShortNs) return status;
  slot.is_short = false;
  slot.shortest_ns = UINT64_MAX;
  slot.started_count = 0;
  return status;
}

etb_status OverlappedMethod::start(Slot& slot, etb_error* error, const RunLimits& limits) noexcept {
  slot.run.limits = limits;
  slot.error.text[0] = '\0';
  const Instruction& instruction = state().instructions[slot.instruction];
  if (instruction.checks_overlap)
    if (const etb_status status = check_operands(state(), instruction); status != ETB_OK) {
      std::memcpy(slot.error.text, state().error.text, sizeof slot.error.text);
      return report(slot, status, error);
    }
  etb_status status = is_behind_others(slot) ? start_after_others(slot) : ETB_NOT_SUPPORTED;
  if (status == ETB_NOT_SUPPORTED) {
    slot.error.text[0] = '\0';
    for (const uint32_t before : slot.after) ETB_CHECK(finish(slots_[before], error));
    status = slot.runs->start(slot.run);
  }
  ++state().executed_count;
  slot.is_running = status == ETB_OK;
  return status == ETB_OK ? ETB_OK : report(slot, status, error);
}

etb_status OverlappedMethod::start_after_others(Slot& slot) noexcept {
  slot.runs_after.clear();
  for (const uint32_t before : slot.after)
    if (slots_[before].is_running) slot.runs_after.push_back(slots_[before].runs);
  return slot.runs->start_after(slot.run, slot.runs_after);
}

etb_status OverlappedMethod::finish(Slot& slot, etb_error* error) noexcept {
  if (slot.is_running) {
    bool has_failed_before = false;
    for (const uint32_t before : slot.after)
      has_failed_before = finish(slots_[before], nullptr) != ETB_OK || has_failed_before;
    if (has_failed_before) slot.runs->stop();
    slot.is_running = false;
    slot.status = slot.runs->finish();
    slot.shortest_ns = std::min(slot.shortest_ns, slot.runs->latest_ns());
    slot.is_short = ++slot.started_count >= kRunsToJudge && slot.shortest_ns < kShortNs;
  }
  return slot.status == ETB_OK ? ETB_OK : report(slot, slot.status, error);
}

// Waits for all runs. `failed` is the instruction of `status`, an error that is in `error`.
etb_status OverlappedMethod::finish_all(uint32_t failed, etb_status status, etb_error* error) noexcept {
  for (Slot& slot : slots_) {
    etb_error own;
    clear(own);
    const etb_status ended = finish(slot, &own);
    if (ended == ETB_OK || (status != ETB_OK && failed <= slot.instruction)) continue;
    status = ended;
    failed = slot.instruction;
    if (detail::can_write(error)) std::memcpy(error, &own, sizeof own);
  }
  if (status == ETB_OK) state().next = static_cast<uint32_t>(state().instructions.size());
  return status;
}

// The text of Method for a failed delegate.
etb_status OverlappedMethod::report(const Slot& slot, etb_status status, etb_error* error) noexcept {
  int32_t chain = 0, index = 0;
  state().locate(slot.instruction, &chain, &index);
  const auto name = state().meta.name();
  const auto id = state().view().delegate(state().instructions[slot.instruction].delegate).id();
  fail(error, status, "method '%.*s', chain %d, instruction %d: delegate '%.*s'%s%s", shown(name),
       name.data(), chain, index, shown(id), id.data(), slot.error.text[0] == '\0' ? " failed" : ": ",
       slot.error.text);
  if (detail::can_write(error)) {
    error->vendor_code = slot.error.vendor_code;
    std::memcpy(error->reason, slot.error.reason, sizeof error->reason);
  }
  return status;
}

}  // namespace etb::host
