// SPDX-License-Identifier: Apache-2.0
// A Vulkan delegate, and a context that runs it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "etb/cpp/plugin.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/vulkan/device.hpp"

namespace etb::vulkan {

class VulkanPlugin;
class VulkanContext;

// Plans the payload, uploads the packed constants and creates the pipelines once. Contexts share them.
class VulkanDelegate {
 public:
  using Context = VulkanContext;

  static Result<VulkanDelegate> make(const VulkanPlugin& plugin, CreateArgs& args);

  DelegateInfo info() const;

 private:
  friend class VulkanContext;

  // Stored on the heap, so that a delegate can move while its contexts point to it.
  struct SharedState {
    std::shared_ptr<Device> device;
    gpu::ExecutionPlan plan;
    Buffer constants;
  };

  // Returns the numbers of a constant, as the program stores them.
  static Result<std::vector<float>> numbers_of(const gpu::GpuValue& value, const NamedData& data);
  // Returns the numbers of a value that a batch norm is folded into; nothing for other values.
  static Result<std::vector<float>> folded_numbers(const gpu::ExecutionPlan& plan, uint32_t value,
                                                   const NamedData& data);
  static Status upload(SharedState& state, const NamedData& data);

  std::unique_ptr<SharedState> state_;
};

// Memory, descriptors and commands of one run in flight. Commands are recorded once, and again when sizes change.
class VulkanContext {
 public:
  explicit VulkanContext(const VulkanDelegate& delegate);

  Status execute(const Run& run);
  Status reserve(std::span<const Tensor> inputs);

 private:
  Status create();
  Status create_descriptors();
  // Creates the views of a value that kernels may read as texels.
  Status create_views(uint32_t value);
  const Buffer& buffer_of(const gpu::Location& location) const;
  void write_descriptors(size_t index);
  // Solves the sizes and records the commands, if sizes of inputs changed.
  Status resize(const auto& size_of_input);
  // `is_timed`: with a time stamp before the first dispatch and one after each.
  Status record(bool is_timed);
  Status run_timed(const Run& run);
  Status set_timed(bool is_timed);
  void record_dispatch(const gpu::Dispatch& dispatch, VkDescriptorSet set) const;
  Status record_for_values(size_t index, const Buffer* copy);
  // Runs one dispatch after the other, and reports each result before another overwrites it.
  Status run_for_values(const Run& run);
  Status put_value(const Run& run, uint32_t id, const std::string& name, std::byte* data) const;
  Status write_inputs(const Run& run);
  Status read_outputs(const Run& run);

  const VulkanDelegate::SharedState& state_;
  gpu::ShapeSolver solver_;
  std::vector<gpu::Dispatch> dispatches_;
  Buffer transfer_, arena_;
  OwnedDescriptorPool descriptor_pool_;
  std::vector<std::array<OwnedBufferView, 2>> views_;  // by value: texels of one and of four floats
  std::vector<VkDescriptorSet> sets_;                  // by dispatch
  std::vector<gpu::Kernel> bound_;                     // by dispatch: the kernel that its set was written for
  OwnedCommandPool command_pool_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  OwnedFence fence_;
  bool is_recorded_ = false;
  // While a host profiles.
  bool is_timed_ = false;
  OwnedQueryPool timestamps_;
  std::vector<uint64_t> times_ns_;
  std::vector<std::string> event_names_;  // by node
  Status created_;  // reported by execute: a constructor cannot
};

}  // namespace etb::vulkan
