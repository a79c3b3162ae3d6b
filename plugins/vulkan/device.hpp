// SPDX-License-Identifier: Apache-2.0
// An opened device: its queue, pipelines and memory. Shared by the delegates that run on it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "etb/cpp/host.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/run/kernel_cache.hpp"
#include "plugins/gpu/run/opened_process.hpp"
#include "plugins/vulkan/instance.hpp"

namespace etb::vulkan {

class Device;

// A handle that its device destroys.
template <class Handle, auto Member>
class Owned {
 public:
  Owned() = default;
  Owned(std::shared_ptr<const Device> device, Handle handle) : device_(std::move(device)), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned();  // below: it calls the device
  Handle get() const { return handle_; }

 private:
  std::shared_ptr<const Device> device_;
  Handle handle_ = {};
};

using OwnedBuffer = Owned<VkBuffer, &DeviceFunctions::DestroyBuffer>;
using OwnedBufferView = Owned<VkBufferView, &DeviceFunctions::DestroyBufferView>;
using OwnedMemory = Owned<VkDeviceMemory, &DeviceFunctions::FreeMemory>;
using OwnedCommandPool = Owned<VkCommandPool, &DeviceFunctions::DestroyCommandPool>;
using OwnedDescriptorPool = Owned<VkDescriptorPool, &DeviceFunctions::DestroyDescriptorPool>;
using OwnedFence = Owned<VkFence, &DeviceFunctions::DestroyFence>;
using OwnedQueryPool = Owned<VkQueryPool, &DeviceFunctions::DestroyQueryPool>;
using OwnedShader = Owned<VkShaderModule, &DeviceFunctions::DestroyShaderModule>;

// A buffer with memory of its own. Declared in the order of life: the buffer ends first.
struct Buffer {
  OwnedMemory memory;
  OwnedBuffer buffer;
  std::byte* mapped = nullptr;  // NULL: the host cannot write it
};

// Memory that the host passes to several delegates (buffer/1). Declared in order of life.
struct SharedMemory {
  std::unique_ptr<std::byte, gpu::FreeMemory> own;  // host memory that the buffer uses
  Buffer buffer;
  std::byte* host = nullptr;  // NULL: the host cannot use it
  uint64_t nbytes = 0;
};

inline constexpr VkBufferUsageFlags kBufferUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

// Bytes after the values of a buffer, so that a view of the last one can be longer (view_nbytes()).
inline constexpr uint64_t kViewRoom = 256;

// Bytes of a view of a value that `room` bytes follow. Lavapipe compiles a kernel again for views whose size has only zeros in
// bits 8 to 15: it reads them as the levels of an image (Mesa 22.3 to 25, lp_sampler_static_texture_state). So views have 256
// bytes more then. Kernels read no element after the last one of a value.
constexpr uint64_t view_nbytes(uint64_t nbytes, uint64_t room) {
  const bool reads_as_image = (nbytes >> 8 & 255) == 0;
  return reads_as_image && room >= kViewRoom && nbytes + kViewRoom <= gpu::kLeastRangeBytes
             ? nbytes + kViewRoom
             : nbytes;
}

enum class BufferUse {
  kTransfer,   // the host reads and writes it
  kArena,      // only kernels use it
  kConstants,  // written once; mapped where the device's own memory can be
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  using Buffer = vulkan::Buffer;
  using SharedMemory = vulkan::SharedMemory;

  [[nodiscard]] static Result<std::shared_ptr<Device>> open(std::shared_ptr<Instance> instance,
                                                            const DeviceFacts& facts);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceFunctions& functions() const { return functions_; }
  const DeviceFacts& facts() const { return facts_; }
  VkDevice handle() const { return handle_; }
  // True after the driver reported that the device is lost. Such a device is opened again for the next delegate.
  bool is_lost() const { return is_lost_; }
  [[nodiscard]] Status check_process() const { return process_.check(); }
  // Passes on the result of a call, and remembers a lost device.
  [[nodiscard]] Status note(VkResult result, const char* what) const;

  // Largest part of a buffer that a kernel can read.
  uint64_t max_range_bytes() const { return facts_.max_range_bytes; }
  uint64_t offset_alignment() const { return gpu::kMostOffsetAlignment; }
  // True if the device can run the kernels of KernelFamily::kGroups.
  bool has_groups() const {
    const VkPhysicalDeviceLimits& limits = facts_.properties.limits;
    return facts_.max_group_size >= gpu::kLargestGroup &&
           limits.maxComputeWorkGroupSize[0] >= gpu::kLargestGroup &&
           facts_.shared_memory_bytes >= gpu::kSharedMemoryBytes;
  }
  // Kernels that suit the device.
  gpu::KernelFamily family() const {
    return facts_.has_tiles                 ? gpu::KernelFamily::kTiles
           : has_groups() && !facts_.is_cpu ? gpu::KernelFamily::kGroups
                                            : gpu::KernelFamily::kRegisters;
  }

  [[nodiscard]] Result<Buffer> make_buffer(uint64_t nbytes, BufferUse use) const;
  // Returns a buffer that write(std::byte*) filled, through a second buffer where the host cannot write it.
  [[nodiscard]] Result<Buffer> make_constants(uint64_t nbytes, const auto& write) const {
    ETB_ASSIGN(Buffer made, make_buffer(nbytes, BufferUse::kConstants));
    Buffer staging;
    if (made.mapped == nullptr) {
      ETB_ASSIGN(staging, make_buffer(nbytes, BufferUse::kTransfer));
    }
    ETB_TRY(write(made.mapped != nullptr ? made.mapped : staging.mapped));
    if (made.mapped == nullptr) ETB_TRY(copy(staging, made, nbytes));
    return made;
  }
  // Memory for buffer/1 (shared_memory.cpp); `is_for_host`: with an address for the host, that other devices can import.
  [[nodiscard]] Result<SharedMemory> share(uint64_t nbytes, bool is_for_host) const;
  [[nodiscard]] Result<SharedMemory> import_host(std::byte* data, uint64_t nbytes) const;
  // Makes writes of the host visible to the device, or the other way round.
  [[nodiscard]] Status sync_shared(const SharedMemory& memory, bool is_write) const;
  static void* handle_of(const SharedMemory& memory) {
    return reinterpret_cast<void*>(memory.buffer.buffer.get());
  }
  // A handle that was known before a buffer was freed may belong to another one now.
  void count_freed_buffer() { freed_buffers_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t freed_buffers() const { return freed_buffers_.load(std::memory_order_relaxed); }
  // Creates the pipelines that a delegate may need.
  [[nodiscard]] Status prepare(const gpu::ExecutionPlan& plan, const Host& host);
  // A pipeline that prepare() created.
  VkPipeline pipeline(const gpu::Dispatch& dispatch) const;
  // Invocations of a workgroup of the kernel.
  uint32_t local_size(gpu::Kernel kernel) const;
  VkDescriptorSetLayout set_layout(gpu::Kernel kernel) const { return layouts_of(kernel).set; }
  VkPipelineLayout pipeline_layout(gpu::Kernel kernel) const { return layouts_of(kernel).pipeline; }
  // A view of bytes of a buffer as texels of one or four floats.
  [[nodiscard]] Result<OwnedBufferView> make_view(VkBuffer buffer, uint64_t offset, uint64_t nbytes,
                                                  uint32_t floats) const;

  [[nodiscard]] Result<OwnedCommandPool> make_command_pool() const;
  [[nodiscard]] Result<VkCommandBuffer> make_command_buffer(const OwnedCommandPool& pool) const;
  [[nodiscard]] Result<OwnedFence> make_fence() const;
  bool has_timestamps() const { return facts_.timestamp_bits != 0; }
  // Memory for time stamps.
  [[nodiscard]] Result<OwnedQueryPool> make_timestamps(uint32_t count) const;
  // Reads time stamps of commands that ended, in nanoseconds since the first one.
  [[nodiscard]] Status read_timestamps(const OwnedQueryPool& pool, std::span<uint64_t> out) const;
  // Hands commands to the device. Calls from several threads are queued.
  [[nodiscard]] Status submit(VkCommandBuffer commands, VkFence fence) const;
  // Returns true if the commands of the fence ended within this time.
  [[nodiscard]] Result<bool> wait(VkFence fence, std::chrono::nanoseconds most) const;
  // Runs commands and blocks until they end.
  [[nodiscard]] Status run(VkCommandBuffer commands, VkFence fence) const;
  // Copies all bytes of one buffer to another.
  [[nodiscard]] Status copy(const Buffer& from, const Buffer& to, uint64_t nbytes) const;

 private:
  Device(std::shared_ptr<Instance> instance, const DeviceFacts& facts);
  Status create();
  // By numbers of buffers, and of those at the beginning that are texel buffers.
  struct Layouts {
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
  };
  const Layouts& layouts_of(gpu::Kernel kernel) const {
    return layouts_[gpu::kKernelBindings[gpu::index_of(kernel)]][gpu::texels_of(kernel).count];
  }
  Status create_layouts();
  Status create_layout(uint32_t count, uint32_t texels);
  Result<VkPipeline> make_pipeline(const gpu::KernelVariant& variant) const;
  // Creates pipelines that a plan uses. Sets `out_has_new` if there were any.
  Status create_pipelines(const gpu::ExecutionPlan& plan, bool& out_has_new);
  // Creates pipeline_cache_ with the data of earlier processes. Without one, pipelines are compiled.
  void load_pipelines(const gpu::KernelCache& cache);
  void save_pipelines(const gpu::KernelCache& cache);
  // Returns the memory type with the most wanted flags among those that have the required ones.
  Result<uint32_t> find_memory_type(uint32_t allowed, VkMemoryPropertyFlags required,
                                    VkMemoryPropertyFlags wanted) const;

  std::shared_ptr<Instance> instance_;
  DeviceFacts facts_;
  VkDevice handle_ = VK_NULL_HANDLE;
  DeviceFunctions functions_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkPhysicalDeviceMemoryProperties memory_ = {};
  std::array<std::array<Layouts, gpu::kMaxTexelBindings + 1>, gpu::kMaxBindings + 1> layouts_ = {};
  std::array<VkPipeline, gpu::kKernelCount> pipelines_ = {};
  std::map<gpu::KernelVariant, VkPipeline> variant_pipelines_;
  mutable std::mutex variant_pipelines_mutex_;  // locked while they are read or one is added
  VkPipelineCache pipeline_cache_ = VK_NULL_HANDLE;
  size_t saved_nbytes_ = 0;     // of its data in the host's cache
  std::mutex pipelines_mutex_;  // locked while pipelines are created
  mutable std::mutex queue_mutex_;
  mutable std::atomic<bool> is_lost_{false};
  std::atomic<uint64_t> freed_buffers_{0};
  gpu::OpenedProcess process_;
};

template <class Handle, auto Member>
Owned<Handle, Member>::~Owned() {
  if (device_) (device_->functions().*Member)(device_->handle(), handle_, nullptr);
}

}  // namespace etb::vulkan
