// Method: one callable of a program, made ready to run in memory that the caller brings.
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

// All memory that a method uses; the core takes none from elsewhere. Outlives the method.
struct MethodMemory {
  BumpAllocator* state = nullptr;  // MethodMeta::state_nbytes() of it are taken by load
  std::span<const std::span<std::byte>> arenas =
      {};                             // arenas[i]: arena_nbytes(i) or more, on a 16-byte boundary
  std::span<std::byte> scratch = {};  // for kernels, valid during one call; on a 64-byte boundary
};

// What a method works with. Everything outlives the method; one set serves many.
struct MethodOptions {
  const KernelRegistry* kernels = nullptr;  // null: only the core's own ops on sizes and numbers
  DelegateResolver* delegates = nullptr;    // null: programs with delegates are refused
  std::span<const DataFile* const> data_files = {};
  EventTracer* tracer = nullptr;
  const ParallelFor* parallel = nullptr;  // null: one thread
  const PlatformHooks* platform = &kDefaultPlatformHooks;
  uint64_t random_seed = 0;
  LoadLimits limits = {};
};

struct MethodState;

// Not shared between threads while a call is in progress. State (mutable buffers) persists between runs.
class Method {
 public:
  Method() noexcept = default;
  Method(Method&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }
  Method& operator=(Method&& other) noexcept;
  ~Method() { unload(); }

  // Builds values and instructions in memory.state, finds every kernel and delegate, and writes the initial values of mutable
  // buffers into the arenas. Calls no heap. Returns ETB_OPERATOR_MISSING with all missing kernels and their dtypes;
  // ETB_OUT_OF_MEMORY with what is needed; ETB_OUT_OF_RESOURCES beyond a limit of `options`, naming it; ETB_NOT_SUPPORTED
  // (unbounded tensors, memory of another device); what a delegate answered.
  [[nodiscard]] etb_status load(const Program& program, std::string_view name, const MethodMemory& memory,
                                const MethodOptions& options, etb_error* error) noexcept;
  void unload() noexcept;
  bool is_loaded() const noexcept { return state_ != nullptr; }
  const MethodMeta& meta() const noexcept;

  uint32_t input_count() const noexcept;
  uint32_t output_count() const noexcept;
  const EValue& input(uint32_t index) const noexcept;
  const EValue& output(uint32_t index) const noexcept;

  // Gives input `index` a value. A tensor that the program planned is copied, any other is borrowed until the next
  // set_input. Returns ETB_INVALID_ARGUMENT naming index, found and expected (kind, dtype, rank, dim order, sizes).
  [[nodiscard]] etb_status set_input(uint32_t index, const EValue& value, etb_error* error) noexcept;

  // Gives an output that the program did not plan the memory it is written to, borrowed until the next set_output_memory.
  [[nodiscard]] etb_status set_output_memory(uint32_t index, std::span<std::byte> memory,
                                             etb_error* error) noexcept;

  // Runs from the first instruction to the last. After an error outputs hold unspecified bytes and the method can run
  // again; mutable buffers hold what the instructions up to there have written, the last one perhaps in part. Calls no heap
  // (a delegate may). Returns what a kernel or delegate answered; ETB_DEADLINE_EXCEEDED, ETB_CANCELLED or, beyond the
  // instructions that a run may execute, ETB_OUT_OF_RESOURCES; ETB_INVALID_PROGRAM for a loop that changes nothing.
  [[nodiscard]] etb_status execute(etb_error* error, const RunLimits& limits = {}) noexcept;

  // Goes on at the instruction that an execute or step ended at with an error, after the cause is gone (larger scratch).
  [[nodiscard]] etb_status resume(etb_error* error, const RunLimits& limits = {}) noexcept;

  // Runs one instruction, so that callers interleave methods; ETB_END_OF_METHOD when none was left, after which the next
  // step starts over.
  [[nodiscard]] etb_status step(etb_error* error, const RunLimits& limits = {}) noexcept;
  void restart() noexcept;

  // The most scratch that a kernel asked for so far: what MethodMemory::scratch should have.
  uint64_t scratch_peak_bytes() const noexcept;
  void set_scratch(std::span<std::byte> scratch) noexcept;

 private:
  MethodState* state_ = nullptr;
};

}  // namespace etb::host
