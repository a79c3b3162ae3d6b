// SPDX-License-Identifier: Apache-2.0
// Runs a delegate on an OpenCL device.
#pragma once

#include <vector>

#include "plugins/gpu/run/context.hpp"
#include "plugins/gpu/run/delegate.hpp"
#include "plugins/opencl/device.hpp"

namespace etb::opencl {

class OpenclPlugin;
class OpenclContext;

// For the templates of plugins/gpu/run.
struct OpenclApi {
  using Plugin = OpenclPlugin;
  using Instance = opencl::Instance;
  using DeviceFacts = opencl::DeviceFacts;
  using Device = opencl::Device;
  using Context = OpenclContext;
  static constexpr const char* kName = "opencl";
  static constexpr etb_verdict_kind kOfficialVerdict = ETB_VERDICT_UNKNOWN;
  static constexpr const char* kBufferKind = "opencl.mem";
  static constexpr const char* kNoDevice =
      "no usable OpenCL device\nhint: install a driver (Debian: pocl-opencl-icd has one for every machine)";
};
using OpenclDelegate = gpu::GpuDelegate<OpenclApi>;

// Memory, queue and kernels of one run in flight. Kernels have their arguments set once, and again when sizes change.
class OpenclContext : public gpu::GpuContext {
 public:
  explicit OpenclContext(const OpenclDelegate& delegate);
  OpenclContext(const OpenclDelegate::SharedState& state, const gpu::ExecutionPlan& plan);
  ~OpenclContext() override;

 private:
  Status created() const override { return created_; }
  Status bind_memory() override;
  Status prepare(bool has_changed) override;
  Status write(uint64_t offset, std::span<const std::byte> bytes) override;
  Status read(uint64_t offset, std::span<std::byte> bytes) override;
  Status run_all(const Run& run) override;
  Status submit() override;
  Result<bool> wait(std::chrono::milliseconds most) override;
  bool set_timed(bool is_timed) override;
  Status read_times(std::span<uint64_t> begins_ns, std::span<uint64_t> ends_ns) override;
  Result<std::byte*> run_one(size_t index, bool is_wanted) override;
  Result<std::unique_ptr<gpu::GpuContext>> make_context(const gpu::ExecutionPlan& plan) const override;

  Status create();
  // Memory of the host that a run uses in place, for an input or output.
  struct HostMemory {
    const gpu::ExternalBuffer* buffer;
    void* address;
  };
  Status find_host_memory(const std::vector<uint32_t>& ids, std::vector<HostMemory>& out) const;
  // A driver may have copies of that memory. They get what other devices wrote, and show them what this one did.
  Status enqueue_host_writes();
  Status enqueue_host_reads();
  // Makes the kernel of a dispatch, if sizes need another one, and sets its arguments.
  Status set_arguments(size_t index);
  Status enqueue(size_t index);
  Status enqueue_all(const Run& run);
  cl_mem memory_of(uint32_t value) const {
    const gpu::ExternalBuffer* const given = external(value);
    return given != nullptr ? static_cast<cl_mem>(given->handle) : parts_[value].get();
  }
  const OwnedMemory& buffer_of(const gpu::Location& location) const;
  const OwnedQueue& queue() const { return is_timed_ ? timed_queue_ : queue_; }
  void release_events();

  const OpenclDelegate::SharedState& state_;
  const Functions& cl_;
  OwnedMemory transfer_, arena_;
  std::vector<OwnedMemory> parts_;  // by value: its part of a buffer
  std::vector<HostMemory> host_inputs_, host_outputs_;
  struct BoundKernel {
    BuiltKernel built;
    gpu::Kernel kernel = gpu::Kernel::kCopy;
    bool has_memory = false;  // its buffers are those of the present run
  };
  std::vector<BoundKernel> kernels_;  // by dispatch
  OwnedQueue queue_;
  OwnedEvent end_;  // of the asynchronous run in flight
  bool is_prepared_ = false;
  bool has_memory_ = true;  // all kernels have
  // While a host profiles.
  bool is_timed_ = false;
  OwnedQueue timed_queue_;
  std::vector<cl_event> events_;  // by dispatch; NULL: nothing to do
  std::vector<std::byte> copy_;   // of a value, for a host that records values
  Status created_;                // reported by execute: a constructor cannot
};

}  // namespace etb::opencl
