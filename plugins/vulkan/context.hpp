// SPDX-License-Identifier: Apache-2.0
// Runs a delegate on a Vulkan device.
#pragma once

#include <array>
#include <vector>

#include "plugins/gpu/run/context.hpp"
#include "plugins/gpu/run/delegate.hpp"
#include "plugins/vulkan/device.hpp"

namespace etb::vulkan {

class VulkanPlugin;
class VulkanContext;

// For the templates of plugins/gpu/run.
struct VulkanApi {
  using Plugin = VulkanPlugin;
  using Instance = vulkan::Instance;
  using DeviceFacts = vulkan::DeviceFacts;
  using Device = vulkan::Device;
  using Context = VulkanContext;
  static constexpr const char* kName = "vulkan";
  static constexpr etb_verdict_kind kOfficialVerdict = ETB_VERDICT_OPTIMAL;
  static constexpr const char* kBufferKind = "vulkan.buffer";
  static constexpr const char* kNoDevice =
      "no usable Vulkan device\nhint: install a driver (Debian: mesa-vulkan-drivers has one for every "
      "machine)";
};
using VulkanDelegate = gpu::GpuDelegate<VulkanApi>;

// Memory, descriptors and commands of one run in flight. Commands are recorded once, and again when sizes change. There are two
// sets of them where the host alternates between buffers.
class VulkanContext : public gpu::GpuContext {
 public:
  explicit VulkanContext(const VulkanDelegate& delegate);
  VulkanContext(const VulkanDelegate::SharedState& state, const gpu::ExecutionPlan& plan);

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

  // Descriptors and commands for the buffers of one run.
  struct Binding {
    std::vector<gpu::ExternalBuffer> externals;  // buffers in the descriptors
    uint64_t freed_buffers = 0;                  // count of the device, at that time
    bool is_valid = false;                       // the two fields above are
    bool is_recorded = false;
    OwnedDescriptorPool pool;
    std::vector<std::array<OwnedBufferView, 2>> views;  // by value: texels of one and of four floats
    std::vector<VkDescriptorSet> sets;                  // by dispatch
    std::vector<gpu::Kernel> kernels;  // by dispatch: the kernel that its set was written for
    VkCommandBuffer commands = VK_NULL_HANDLE;
  };

  Status create();
  // Fills `binding_`.
  Status create_binding();
  Status create_descriptors();
  // Chooses the binding whose descriptors to replace.
  Status choose_binding();
  // Creates the views of a value that kernels may read as texels.
  Status create_views(uint32_t value);
  const Buffer& buffer_of(const gpu::Location& location) const;
  // The bytes of a value, and their address for the host, or NULL.
  struct Place {
    VkDescriptorBufferInfo range;
    std::byte* mapped;
  };
  Place place_of(uint32_t value) const;
  void write_descriptors(size_t index);
  void forget_commands();
  // With a time stamp before the first dispatch and one after each, if is_timed_.
  Status record();
  void record_dispatch(const gpu::Dispatch& dispatch, VkDescriptorSet set) const;
  // Records one dispatch and, if `is_copied`, a copy of its result to copy_.
  Status record_for_values(size_t index, bool is_copied);

  const VulkanDelegate::SharedState& state_;
  Buffer transfer_, arena_;
  OwnedCommandPool command_pool_;
  std::array<Binding, 2> bindings_;
  Binding* binding_ = &bindings_[0];  // of the present run
  OwnedFence fence_;
  // While a host profiles.
  bool is_timed_ = false;
  OwnedQueryPool timestamps_;
  std::vector<uint64_t> times_ns_;
  Buffer copy_;     // of a value, for a host that records values
  Status created_;  // reported by execute: a constructor cannot
};

}  // namespace etb::vulkan
