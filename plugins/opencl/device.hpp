// SPDX-License-Identifier: Apache-2.0
// An opened device: its context and programs. Shared by the delegates that run on it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/run/kernel_cache.hpp"
#include "plugins/gpu/run/opened_process.hpp"
#include "plugins/opencl/instance.hpp"

namespace etb::opencl {

// Memory that the host passes to several delegates (buffer/1). Declared in order of life.
struct SharedMemory {
  std::unique_ptr<std::byte, gpu::FreeMemory> own;  // host memory that the buffer uses
  OwnedMemory buffer;
  OwnedQueue queue;           // for sync, if the host can use it
  std::byte* host = nullptr;  // NULL: the host cannot use it
  uint64_t nbytes = 0;
};

// A kernel, whose arguments belong to the caller.
struct BuiltKernel {
  OwnedKernel handle;
  size_t group_size = 0;  // work-items of a workgroup
};

class Device {
 public:
  using Buffer = OwnedMemory;
  using SharedMemory = opencl::SharedMemory;

  // Returns the device of the process, opened the first time.
  [[nodiscard]] static Result<std::shared_ptr<Device>> open(std::shared_ptr<Instance> instance,
                                                            const DeviceFacts& facts);
  // Opens a device that nothing shares.
  [[nodiscard]] static Result<std::shared_ptr<Device>> make(std::shared_ptr<Instance> instance,
                                                            const DeviceFacts& facts);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Functions& functions() const { return instance_->functions(); }
  const DeviceFacts& facts() const { return facts_; }
  // True after commands failed. Such a device is opened again for the next delegate.
  bool is_lost() const { return is_lost_; }
  [[nodiscard]] Status check_process() const { return process_.check(); }
  // Passes on the result of a call, and remembers a lost device.
  [[nodiscard]] Status note(cl_int result, const char* what) const;
  // Blocks until the commands of a queue end. An error makes the device lost: drivers have no error for it that all return.
  [[nodiscard]] Status finish(const OwnedQueue& queue) const;
  // Starts the commands of a queue, and returns the event of their end.
  [[nodiscard]] Result<OwnedEvent> flush(const OwnedQueue& queue) const;
  // Returns true if the event happened. Otherwise blocks until it does, if it `may_block`.
  [[nodiscard]] Result<bool> wait(const OwnedEvent& event, bool may_block) const;

  uint64_t max_range_bytes() const { return facts_.max_range_bytes; }
  uint64_t offset_alignment() const { return std::max(facts_.offset_alignment, gpu::kMostOffsetAlignment); }
  // True if the device can run the kernels of KernelFamily::kGroups.
  bool has_groups() const {
    return facts_.max_group_size >= gpu::kLargestGroup &&
           facts_.shared_memory_bytes >= gpu::kSharedMemoryBytes;
  }
  // Kernels that suit the device.
  gpu::KernelFamily family() const {
    return facts_.is_cpu  ? gpu::KernelFamily::kVectors
           : has_groups() ? gpu::KernelFamily::kGroups
                          : gpu::KernelFamily::kRegisters;
  }

  [[nodiscard]] Result<OwnedMemory> make_buffer(uint64_t nbytes) const;
  // Memory for buffer/1 (shared_memory.cpp); `is_for_host`: with an address for the host, that other devices can import.
  [[nodiscard]] Result<SharedMemory> share(uint64_t nbytes, bool is_for_host) const;
  [[nodiscard]] Result<SharedMemory> import_host(std::byte* data, uint64_t nbytes) const;
  // Makes writes of the host visible to the device, or the other way round.
  [[nodiscard]] Status sync_shared(const SharedMemory& memory, bool is_write) const;
  static void* handle_of(const SharedMemory& memory) { return memory.buffer.get(); }
  // Returns the address of memory of the host that a buffer uses; NULL: it uses other memory.
  [[nodiscard]] Result<void*> find_host_address(cl_mem buffer) const;
  // Returns the part of a buffer that a value has, so that no kernel can write outside of it.
  [[nodiscard]] Result<OwnedMemory> make_part(const OwnedMemory& buffer, const gpu::Location& location) const;
  [[nodiscard]] Result<OwnedQueue> make_queue(bool is_timed) const;
  // Returns a buffer that write(std::byte*) filled.
  [[nodiscard]] Result<OwnedMemory> make_constants(uint64_t nbytes, const auto& write) const {
    ETB_ASSIGN(OwnedMemory made, make_buffer(nbytes));
    ETB_ASSIGN(const OwnedQueue queue, make_queue(false));
    ETB_ASSIGN(std::byte* const mapped, map(queue, made, nbytes));
    const Status written = write(mapped);
    ETB_TRY(unmap(queue, made, mapped));
    ETB_TRY(written);
    return made;
  }

  // Builds the programs of the plan, and has the driver compile them for its sizes: some do that at the first run of a kernel.
  [[nodiscard]] Status prepare(const gpu::ExecutionPlan& plan, const Host& host);
  // Sizes other than the plan's may need a kernel that prepare() did not build.
  [[nodiscard]] Result<BuiltKernel> make_kernel(const gpu::KernelVariant& kernel);
  // Sets the arguments of a dispatch that follow its buffers.
  [[nodiscard]] Status set_push(const OwnedKernel& kernel, const gpu::Dispatch& dispatch) const;
  // Enqueues a dispatch, if it has anything to do. Writes an event unless `out_event` is NULL. Some drivers compile here.
  [[nodiscard]] Status enqueue(const OwnedQueue& queue, const BuiltKernel& kernel,
                               const gpu::Dispatch& dispatch, cl_event* out_event) const;

 private:
  Device(std::shared_ptr<Instance> instance, const DeviceFacts& facts)
      : instance_(std::move(instance)), facts_(facts) {}
  // Likewise for the result of commands that were started: any error of them is a lost device.
  Status note_end(cl_int result, const char* what) const;
  Result<std::byte*> map(const OwnedQueue& queue, const OwnedMemory& buffer, uint64_t nbytes) const;
  Status unmap(const OwnedQueue& queue, const OwnedMemory& buffer, std::byte* mapped) const;
  std::string build_options(const std::string& macros) const;
  // Sets `out_unsaved` to the key of a program that was compiled from source and belongs in the cache.
  Result<OwnedProgram> make_program(const gpu::KernelVariant& kernel, const gpu::KernelCache& cache,
                                    std::optional<format::Sha256>& out_unsaved) const;
  // Returns a program of a binary in the cache; nothing if there is none that the driver takes.
  OwnedProgram load_program(const gpu::KernelCache& cache, const format::Sha256& key,
                            const std::string& options) const;
  void save_program(const gpu::KernelCache& cache, const format::Sha256& key,
                    const OwnedProgram& program) const;
  Status build(const OwnedProgram& program, const std::string& options) const;
  // Stores the binaries of programs that were compiled from source.
  void save_programs(const gpu::KernelCache& cache);
  struct Program {
    OwnedProgram handle;
    size_t group_size = 0;
  };
  // Returns the work-items of a workgroup of the kernel.
  Result<size_t> find_group_size(gpu::Kernel kernel, const OwnedProgram& program) const;
  // Returns the program of a kernel. Builds it, unless it is there.
  Result<const Program*> build_program(const gpu::KernelVariant& kernel, const gpu::KernelCache& cache);
  Error with_kernel(Error error, gpu::Kernel kernel) const;
  Result<OwnedKernel> create_kernel(gpu::Kernel kernel, const OwnedProgram& program) const;
  // Runs the plan's kernels with arguments that let them return at once.
  Status run_empty(const gpu::ExecutionPlan& plan);

  std::shared_ptr<Instance> instance_;
  DeviceFacts facts_;
  gpu::OpenedProcess process_;
  OwnedContext context_;
  // Programs stay where they are until the device ends.
  std::map<gpu::KernelVariant, Program> programs_;
  std::vector<std::pair<const Program*, format::Sha256>> unsaved_;  // and the key of its binary
  std::mutex programs_mutex_;                                       // locked while programs are built
  mutable std::atomic<bool> is_lost_{false};
};

}  // namespace etb::opencl
