// SPDX-License-Identifier: Apache-2.0
// Method: one callable of a program, made ready to run in memory that the caller provides.
#pragma once

#include <span>
#include <string_view>

#include "host/runtime/bump_allocator.hpp"
#include "host/runtime/delegate_resolver.hpp"
#include "host/runtime/event_tracer.hpp"
#include "host/runtime/kernel_registry.hpp"
#include "host/runtime/load_limits.hpp"
#include "host/runtime/platform_hooks.hpp"
#include "host/runtime/program.hpp"
#include "host/runtime/run_limits.hpp"

namespace etb::host {

// All memory that a method uses; the core uses no other. Outlives the method.
struct MethodMemory {
  BumpAllocator* state = nullptr;  // load allocates MethodMeta::state_nbytes() of it
  // arenas[i] has arena_nbytes(i) bytes or more and starts on a 16-byte boundary.
  std::span<const std::span<std::byte>> arenas = {};
  std::span<std::byte> scratch = {};  // for kernels, valid during one call; on a 64-byte boundary
};

// Services of the host for a method. All of them outlive the method and may serve many methods.
struct MethodOptions {
  const KernelRegistry* kernels = nullptr;  // null: only the core's own ops on sizes and numbers
  DelegateResolver* delegates = nullptr;    // null: programs with delegates are rejected
  std::span<const DataFile* const> data_files = {};
  const ProgramFiles* files = nullptr;  // passed on to `delegates`
  EventTracer* tracer = nullptr;
  const ParallelFor* parallel = nullptr;  // null: one thread
  const PlatformHooks* platform = &kDefaultPlatformHooks;
  uint64_t random_seed = 0;
  LoadLimits limits = {};
};

struct MethodState;

// Not used by two threads at the same time. State (mutable buffers) persists between runs.
class Method {
  friend class OverlappedMethod;   // runs instructions in another order (host/module)
  friend class InputReservations;  // reads which delegates use an input (host/module)
  friend class KeptState;          // changes instructions that update state (host/module)
  friend class KeptValues;         // reads which instructions use a value (host/module)

 public:
  Method() noexcept = default;
  Method(Method&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }
  Method& operator=(Method&& other) noexcept;
  ~Method() { unload(); }

  // Builds values and instructions in memory.state, finds every kernel and delegate, and writes the initial
  // values of mutable buffers into the arenas. Does not use the heap. Returns ETB_OPERATOR_MISSING with all
  // missing kernels and their dtypes; ETB_OUT_OF_MEMORY with the bytes needed; ETB_OUT_OF_RESOURCES beyond a
  // limit of `options`, with its name; ETB_NOT_SUPPORTED (unbounded tensors, memory of another device); or
  // the error of a delegate.
  [[nodiscard]] etb_status load(const Program& program, std::string_view name, const MethodMemory& memory,
                                const MethodOptions& options, etb_error* error) noexcept;
  void unload() noexcept;
  bool is_loaded() const noexcept { return state_ != nullptr; }
  const MethodMeta& meta() const noexcept;

  uint32_t input_count() const noexcept;
  uint32_t output_count() const noexcept;
  const EValue& input(uint32_t index) const noexcept;
  const EValue& output(uint32_t index) const noexcept;

  // Sets input `index`. Copies a tensor that the program planned, borrows any other until the next set_input.
  // Returns ETB_INVALID_ARGUMENT with index, found and expected (kind, dtype, rank, dim order, sizes).
  [[nodiscard]] etb_status set_input(uint32_t index, const EValue& value, etb_error* error) noexcept;

  // Sets the memory of an output that the program did not plan, borrowed until the next set_output_memory.
  [[nodiscard]] etb_status set_output_memory(uint32_t index, std::span<std::byte> memory,
                                             etb_error* error) noexcept;

  // Runs from the first instruction to the last. After an error outputs hold unspecified bytes and the method
  // can run again. Mutable buffers then hold what the executed instructions wrote, the last one perhaps in
  // part. Does not use the heap (a delegate may). Returns the error of a kernel or delegate;
  // ETB_DEADLINE_EXCEEDED; ETB_CANCELLED; ETB_OUT_OF_RESOURCES beyond the limit of instructions;
  // ETB_INVALID_PROGRAM for a loop that changes nothing.
  // Without limits the linker leaves out the code that checks them.
  [[nodiscard]] etb_status execute(etb_error* error) noexcept;
  [[nodiscard]] etb_status execute(etb_error* error, const RunLimits& limits) noexcept;

  // Continues at the instruction that failed in execute or step, after the caller removed
  // the cause (larger scratch).
  [[nodiscard]] etb_status resume(etb_error* error) noexcept;
  [[nodiscard]] etb_status resume(etb_error* error, const RunLimits& limits) noexcept;

  // Runs one instruction, so that a caller can interleave methods. Returns ETB_END_OF_METHOD when none is
  // left; the next step then starts over.
  [[nodiscard]] etb_status step(etb_error* error, const RunLimits& limits = {}) noexcept;
  void restart() noexcept;

  // The most scratch that a kernel has asked for. MethodMemory::scratch should have this size.
  uint64_t scratch_peak_bytes() const noexcept;
  void set_scratch(std::span<std::byte> scratch) noexcept;

 private:
  etb_status start(etb_error* error) noexcept;
  etb_status run_to_end(etb_error* error, const RunLimits& limits) noexcept;
  etb_status finish(etb_status status, etb_error* error) noexcept;

  MethodState* state_ = nullptr;
};

}  // namespace etb::host
