// SPDX-License-Identifier: Apache-2.0
// The half of a context that does not depend on the device's API: sizes, tensors of a run, events and values of nodes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "etb/cpp/plugin.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/run/completion_thread.hpp"

namespace etb::gpu {

// Memory of the device that the host passes for an input or output, in place of memory of the host (buffer/1).
struct ExternalBuffer {
  void* handle = nullptr;  // of the API; NULL: the value is in the context's own memory
  uint64_t offset = 0, nbytes = 0;
  bool operator==(const ExternalBuffer&) const = default;
};

// True if the host may pass a buffer for an input or output: not if two arguments are this value.
bool may_be_external(const ExecutionPlan& plan, uint32_t value);

// Numbers that a context converts at a time, in the host's memory: arguments of other types than the device's pass in pieces.
struct ConversionRoom {
  size_t numbers = 0;  // as floats
  size_t halves = 0;   // as float16, after or before that

  uint64_t nbytes() const { return numbers * sizeof(float) + halves * sizeof(uint16_t); }
};
ConversionRoom conversion_room(const ExecutionPlan& plan);

// A derived class has the memory and the commands of one run in flight. After construction nothing here allocates, except for
// a host that profiles or records values.
class GpuContext : private CompletionThread::Entry {
 public:
  // `buffer_kind`: of the buffers that the host may pass.
  GpuContext(const ExecutionPlan& plan, const char* buffer_kind, CompletionThread& completions);
  ~GpuContext() override = default;
  GpuContext(const GpuContext&) = delete;
  GpuContext& operator=(const GpuContext&) = delete;

  Status execute(const Run& run);
  Status reserve(std::span<const Tensor> inputs);
  Status start(const AsyncRun& run);
  // Commands that the device has are not stopped: the run then ends after them, without a result.
  Status cancel();

  // For a context of a trial, which never runs otherwise. Runs dispatches [begin, end) of the plan and blocks until they end.
  // Returns the nanoseconds from submission to the end.
  [[nodiscard]] Result<uint64_t> time_dispatches(size_t begin, size_t end);
  // Likewise: writes zeros to the memory of inputs and outputs.
  [[nodiscard]] Status clear_arguments();

 protected:
  const ExecutionPlan& plan() const { return plan_; }
  // Dispatches for the sizes of the present run.
  const std::vector<Dispatch>& dispatches() const { return dispatches_; }
  const Location& location(uint32_t value) const { return plan_.memory.locations[value]; }
  // Returns the error of a run that should stop.
  Status keep_going(const Run& run) const;

  // The memory of an input or output, or of a value that shows it; nothing if the context has it.
  const ExternalBuffer* external(uint32_t value) const {
    const ExternalBuffer& found = externals_[plan_.aliases[value]];
    return found.handle != nullptr ? &found : nullptr;
  }

  bool has_externals() const;
  // By value.
  const std::vector<ExternalBuffer>& externals() const { return externals_; }
  // True in bind_memory() if external() of the value has changed.
  bool has_moved(uint32_t value) const { return has_moved_[plan_.aliases[value]] != 0; }

  // Returns the error of the derived class's constructor: a constructor cannot return it.
  virtual Status created() const = 0;
  // Called before prepare() when external() has changed: commands bind the memory of values. State that stays on the device
  // alternates between two buffers from run to run.
  virtual Status bind_memory() = 0;
  // Makes the commands of dispatches(), if they have changed or if the derived class lost them.
  virtual Status prepare(bool has_changed) = 0;
  // Copies to and from the memory of inputs and outputs (Memory::kTransfer).
  virtual Status write(uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Status read(uint64_t offset, std::span<std::byte> bytes) = 0;
  // Runs all dispatches and blocks until they end.
  virtual Status run_all(const Run& run) = 0;
  // As run_all(), but returns when the device has the commands; after an error it has none.
  virtual Status submit() = 0;
  // Returns true if the commands of submit() ended. Blocks for `most` at least if they did not, unless it is 0.
  virtual Result<bool> wait(std::chrono::milliseconds most) = 0;
  // Prepares for runs with time stamps, or for those without. Returns false if the device cannot.
  virtual bool set_timed(bool is_timed) = 0;
  // Reads the time stamps of the last run of all dispatches, in nanoseconds of the device's clock.
  virtual Status read_times(std::span<uint64_t> begins_ns, std::span<uint64_t> ends_ns) = 0;
  // Returns another context of the delegate, with a plan of the same graph and constants that lives as long.
  virtual Result<std::unique_ptr<GpuContext>> make_context(const ExecutionPlan& plan) const = 0;
  // Runs one dispatch and blocks until it ends. If `is_wanted`, returns its result, valid until the next call.
  virtual Result<std::byte*> run_one(size_t index, bool is_wanted) = 0;

 private:
  Status resize(const auto& input_at);
  // The sizes of an input's value: of a tensor its own, of an integer that integer. Those of a tensor without memory are the largest.
  Result<std::span<const int64_t>> sizes_of_input(size_t index, const Tensor& tensor);
  // Reads the buffers of tensors, inputs or outputs. Sets has_new_externals_ if they are others than before.
  Status take_buffers(const std::vector<uint32_t>& ids, const auto& tensor_of, size_t count);
  Status take_buffer(uint32_t id, const etb_tensor& tensor);
  Status execute_now(const Run& run);
  // Makes everything ready for the commands of a run.
  Status bind(const Run& run);
  Status submit_run(const Run& run);
  bool advance(std::chrono::milliseconds most) noexcept override;
  void end() noexcept override;
  Status write_input(uint32_t id, const Tensor& tensor);
  Status write_inputs(const Run& run);
  // Convert elements from `first` on, as many as `numbers`.
  Status write_piece(uint32_t id, const Tensor& tensor, size_t first, std::span<float> numbers);
  Status read_piece(uint32_t id, const OutputTensor& tensor, size_t first, std::span<float> numbers);
  // Copy numbers to and from the elements that the device has, from `first` on.
  Status write_floats(uint32_t id, size_t first, std::span<const float> numbers);
  Status read_floats(uint32_t id, size_t first, std::span<float> numbers);
  Status resize_outputs(const Run& run) const;
  Status read_output(uint32_t id, const OutputTensor& tensor);
  Status read_outputs(const Run& run);
  // Reports an event for each node that has dispatches.
  Status run_timed(const Run& run);
  Status put_event(const Run& run, uint32_t node, uint64_t begin, uint64_t end) const;
  // Official files have no debug map, in which the event of a fusion names all nodes: the others have events without length.
  Status put_inner_events(const Run& run, uint32_t node, uint64_t begin) const;
  // Runs with a dispatch for each node, so that inner results of fusions exist.
  Status run_without_fusions(const Run& run);
  // Runs one dispatch after the other, and reports each result before another overwrites it.
  Status run_for_values(const Run& run);
  Status put_value(const Run& run, uint32_t id, const std::string& name, std::byte* data) const;

  const ExecutionPlan& plan_;
  ShapeSolver solver_;
  std::vector<Dispatch> dispatches_;
  const char* buffer_kind_;
  std::vector<ExternalBuffer> externals_;  // by value
  std::vector<uint8_t> has_moved_;         // by value
  bool has_new_externals_ = false;
  bool is_solved_ = false;               // dispatches_ are those of the solver's sizes
  std::vector<float> numbers_;           // a piece of a converted argument
  std::vector<std::byte> halves_;        // likewise, as float16
  std::vector<int64_t> input_integers_;  // by input
  StopRequest stop_;
  const StopRequest* asked_ = &stop_;  // another context's, if that runs this one
  // While an asynchronous run is in flight.
  CompletionThread& completions_;
  std::optional<AsyncRun> async_;
  bool is_submitted_ = false;
  etb_status async_code_ = ETB_OK;
  etb_error async_error_ = ETB_ERROR_INIT;
  // While a host records values.
  std::unique_ptr<ExecutionPlan> inner_plan_;
  std::unique_ptr<GpuContext> inner_;
  // While a host profiles.
  std::vector<uint64_t> begins_ns_, ends_ns_;
  std::vector<std::string> event_names_;  // by node
};

}  // namespace etb::gpu
