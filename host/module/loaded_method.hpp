// SPDX-License-Identifier: Apache-2.0
// LoadedMethod: a method of a module in memory of its own, ready to run.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host/module/input_reservations.hpp"
#include "host/module/kept_state.hpp"
#include "host/module/kept_values.hpp"
#include "host/module/method_memory.hpp"
#include "host/module/overlapped_method.hpp"
#include "host/module/recorded_delegates.hpp"

namespace etb::host {

class LoadedMethod {
 public:
  // `budget` outlives the method. `max_scratch_bytes` is the most that its kernels get.
  LoadedMethod(MemoryBudget& budget, uint64_t max_scratch_bytes) noexcept
      : budget_(budget), max_scratch_bytes_(max_scratch_bytes) {}
  LoadedMethod(const LoadedMethod&) = delete;
  LoadedMethod& operator=(const LoadedMethod&) = delete;

  // Loads the method of `program` that `meta` describes into `arenas`, which outlive it. Returns the errors of
  // Method::load, and OUT_OF_MEMORY with the name of the method.
  [[nodiscard]] Status load(const Program& program, const MethodMeta& meta,
                            std::span<const std::span<std::byte>> arenas, const MethodOptions& options);
  // Lets delegates go on while other instructions run, where the program allows it. Call it once, after load.
  void overlap() { overlapped_ = OverlappedMethod::make(method_); }
  // Lets values that only delegates use stay in the memory of their devices, and mutable buffers if `keeps_state`: then nothing
  // else reads or writes them. Call it once, after load.
  void keep_on_devices(bool keeps_state);
  // Buffers that may stay on a device although other methods use them, too; see SharedStates.
  std::vector<StateCandidate> find_state();
  // Lets one of them stay there, at any time between runs. Returns false if it does not. `state` as in KeptState::add. Call
  // end_keeping after the last one.
  bool keep_state(const StateCandidate& candidate, DeviceState** state);
  void end_keeping();
  // Lets delegates plan when inputs with other sizes are set. Call it once, after keep_on_devices and before the first input.
  void plan_for_inputs_of_new_sizes() { reservations_ = InputReservations::make(method_); }
  // Number of these values and buffers.
  uint32_t kept_count() const noexcept { return kept_count_; }
  // Allocates the outputs that the program leaves to the caller.
  [[nodiscard]] Status allocate_outputs();
  // Arenas for a method that shares none.
  Arenas& own_arenas() noexcept { return own_arenas_; }

  const MethodMeta& meta() const noexcept { return method_.meta(); }
  // The core's interface, for step() and what else is not here. set_input of the core does not tell
  // check_inputs().
  Method& core() noexcept { return method_; }
  uint32_t input_count() const noexcept { return method_.input_count(); }
  uint32_t output_count() const noexcept { return method_.output_count(); }

  // As in Module. They allocate nothing from the heap unless they fail. A plugin may, when it plans for new sizes.
  [[nodiscard]] Status set_input(uint32_t index, const EValue& value) {
    ETB_TRY(put_input(index, value));
    reservations_.update();
    return {};
  }
  // The steps of set_inputs: sets one input, and, after the last one, lets delegates plan for the sizes of all.
  [[nodiscard]] Status put_input(uint32_t index, const EValue& value);
  void end_inputs() noexcept { reservations_.update(); }
  [[nodiscard]] Status set_inputs(std::span<const EValue> values);
  [[nodiscard]] Status check_input_count(uint64_t count) const;
  [[nodiscard]] Status check_inputs() const;
  [[nodiscard]] Status set_output(uint32_t index, std::span<std::byte> memory);
  // Allocates only scratch that the kernels of a run want for the first time.
  [[nodiscard]] Status run(const RunLimits& limits);

  bool has_run() const noexcept { return has_run_; }
  // Value `index` of the latest run; the caller checks both.
  const EValue& output(uint32_t index) const noexcept { return method_.output(index); }
  std::vector<EValue> outputs() const;

 private:
  void set_input_seen(uint32_t index);
  Status resume_with_scratch(etb_status status, etb_error& error, const RunLimits& limits);
  Status grow_scratch();

  // Declared in order of life, so that the core's method is destroyed first.
  MemoryBudget& budget_;
  uint64_t max_scratch_bytes_;
  EventTracer* tracer_ = nullptr;
  ZeroedBuffer state_;
  BumpAllocator state_allocator_;
  ZeroedBuffer scratch_;
  Arenas own_arenas_;
  std::vector<ZeroedBuffer> outputs_;  // memory of outputs that the program leaves to the caller
  std::vector<bool> inputs_seen_;
  size_t missing_input_count_ = 0;
  bool has_run_ = false;
  uint32_t kept_count_ = 0;
  KeptState kept_state_;
  std::optional<RecordedDelegates> recorded_delegates_;
  Method method_;
  InputReservations reservations_;
  std::unique_ptr<OverlappedMethod> overlapped_;  // NULL: instructions run one after another
};

}  // namespace etb::host
