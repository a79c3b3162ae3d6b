// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/context.hpp"

#include <algorithm>
#include <cstring>

namespace etb::vulkan {

VulkanContext::VulkanContext(const VulkanDelegate& delegate)
    : VulkanContext(delegate.state(), delegate.state().plan) {}

VulkanContext::VulkanContext(const VulkanDelegate::SharedState& state, const gpu::ExecutionPlan& plan)
    : GpuContext(plan, VulkanApi::kBufferKind, *state.completions), state_(state), created_(create()) {}

Result<std::unique_ptr<gpu::GpuContext>> VulkanContext::make_context(const gpu::ExecutionPlan& plan) const {
  ETB_TRY(state_.device->prepare(plan, Host()));
  return std::make_unique<VulkanContext>(state_, plan);
}

Status VulkanContext::create() {
  const Device& device = *state_.device;
  ETB_ASSIGN(transfer_, device.make_buffer(plan().memory.transfer_bytes, BufferUse::kTransfer));
  ETB_ASSIGN(arena_, device.make_buffer(plan().memory.arena_bytes, BufferUse::kArena));
  ETB_ASSIGN(command_pool_, device.make_command_pool());
  ETB_ASSIGN(fence_, device.make_fence());
  return create_binding();
}

Status VulkanContext::create_binding() {
  ETB_ASSIGN(binding_->commands, state_.device->make_command_buffer(command_pool_));
  return create_descriptors();
}

// For the dispatches of the largest sizes, whose kernels may read texels that those of other sizes do not.
Status VulkanContext::create_descriptors() {
  if (plan().dispatches.empty()) return {};
  const Device& device = *state_.device;
  uint32_t count = 0, texels = 0;
  binding_->views.resize(plan().graph.values.size());
  std::vector<VkDescriptorSetLayout> layouts;
  for (const gpu::Dispatch& dispatch : plan().dispatches) {
    const uint32_t texel_count = gpu::texels_of(dispatch.kernel).count;
    for (uint32_t b = 0; b < texel_count; ++b) ETB_TRY(create_views(dispatch.bindings[b]));
    texels += texel_count;
    count += dispatch.binding_count - texel_count;
    layouts.push_back(device.set_layout(dispatch.kernel));
  }
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count},
                                        {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, texels}};
  VkDescriptorPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.maxSets = static_cast<uint32_t>(plan().dispatches.size());
  info.poolSizeCount = texels == 0 ? 1 : 2;
  info.pPoolSizes = sizes;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  ETB_TRY(device.note(device.functions().CreateDescriptorPool(device.handle(), &info, nullptr, &pool),
                      "vkCreateDescriptorPool"));
  binding_->pool = OwnedDescriptorPool(state_.device, pool);
  binding_->kernels.resize(plan().dispatches.size());
  std::vector<VkDescriptorSet> sets(plan().dispatches.size());
  VkDescriptorSetAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  allocation.descriptorPool = pool;
  allocation.descriptorSetCount = info.maxSets;
  allocation.pSetLayouts = layouts.data();
  ETB_TRY(device.note(device.functions().AllocateDescriptorSets(device.handle(), &allocation, sets.data()),
                      "vkAllocateDescriptorSets"));
  binding_->sets = std::move(sets);
  for (size_t i = 0; i < binding_->sets.size(); ++i) write_descriptors(i);
  return {};
}

Status VulkanContext::create_views(uint32_t value) {
  std::array<OwnedBufferView, 2>& views = binding_->views[value];
  if (views[0].get() != VK_NULL_HANDLE) return {};
  const VkDescriptorBufferInfo range = place_of(value).range;
  const bool has_room = external(value) == nullptr && state_.device->facts().has_tiles;
  const uint64_t nbytes = view_nbytes(range.range, has_room ? kViewRoom : 0);
  ETB_ASSIGN(views[0], state_.device->make_view(range.buffer, range.offset, nbytes, 1));
  ETB_ASSIGN(views[1], state_.device->make_view(range.buffer, range.offset, nbytes, 4));
  return {};
}

// The binding of the run before is kept, because a run that exchanges two buffers comes back to it; but not one without buffers.
Status VulkanContext::choose_binding() {
  const auto has_buffer = [](const gpu::ExternalBuffer& each) { return each.handle != nullptr; };
  const bool is_kept =
      binding_->is_valid && std::any_of(binding_->externals.begin(), binding_->externals.end(), has_buffer);
  if (!is_kept) return {};
  Binding* const before = binding_;
  binding_ = &bindings_[before == &bindings_[0] ? 1 : 0];
  if (binding_->commands != VK_NULL_HANDLE) return {};
  Status made = create_binding();
  if (made) return {};
  *binding_ = Binding();
  binding_ = before;
  return made;
}

// Views of memory that is no longer bound stay until the context ends, except for those of inputs and outputs.
Status VulkanContext::bind_memory() {
  const uint64_t freed = state_.device->freed_buffers();
  for (Binding& known : bindings_) {
    if (!known.is_valid || known.freed_buffers != freed || known.externals != externals()) continue;
    binding_ = &known;
    return {};
  }
  ETB_TRY(choose_binding());
  binding_->is_recorded = binding_->is_valid = false;
  for (uint32_t value = 0; value < binding_->views.size(); ++value) {
    if (location(value).memory != gpu::Memory::kTransfer || binding_->views[value][0].get() == VK_NULL_HANDLE)
      continue;
    binding_->views[value] = {};
    ETB_TRY(create_views(value));
  }
  for (size_t i = 0; i < binding_->sets.size(); ++i) write_descriptors(i);
  binding_->externals = externals();
  binding_->freed_buffers = freed;
  binding_->is_valid = true;
  return {};
}

VulkanContext::Place VulkanContext::place_of(uint32_t value) const {
  if (const gpu::ExternalBuffer* const given = external(value))
    return {{reinterpret_cast<VkBuffer>(given->handle), given->offset, given->nbytes}, nullptr};
  const gpu::Location& where = location(value);
  const Buffer& buffer = buffer_of(where);
  return {{buffer.buffer.get(), where.offset, where.nbytes},
          where.memory == gpu::Memory::kTransfer ? buffer.mapped + where.offset : nullptr};
}

const Buffer& VulkanContext::buffer_of(const gpu::Location& location) const {
  return location.memory == gpu::Memory::kTransfer ? transfer_
         : location.memory == gpu::Memory::kArena  ? arena_
                                                   : state_.constants;
}

// Binds the part of a buffer that each value has, so that no kernel can write outside of it.
void VulkanContext::write_descriptors(size_t index) {
  const gpu::Dispatch& dispatch = dispatches()[index];
  std::array<VkDescriptorBufferInfo, gpu::kMaxBindings> buffers{};
  std::array<VkWriteDescriptorSet, gpu::kMaxBindings> writes{};
  std::array<VkBufferView, gpu::kMaxTexelBindings> views{};
  const gpu::TexelBindings texels = gpu::texels_of(dispatch.kernel);
  binding_->kernels[index] = dispatch.kernel;
  for (uint32_t b = 0; b < dispatch.binding_count; ++b) {
    buffers[b] = place_of(dispatch.bindings[b]).range;
    writes[b].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[b].dstSet = binding_->sets[index];
    writes[b].dstBinding = b;
    writes[b].descriptorCount = 1;
    writes[b].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[b].pBufferInfo = &buffers[b];
    if (b >= texels.count) continue;
    views[b] = binding_->views[dispatch.bindings[b]][texels.floats[b] == 4 ? 1 : 0].get();
    writes[b].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
    writes[b].pTexelBufferView = &views[b];
  }
  state_.device->functions().UpdateDescriptorSets(state_.device->handle(), dispatch.binding_count,
                                                  writes.data(), 0, nullptr);
}

void VulkanContext::forget_commands() {
  for (Binding& binding : bindings_) binding.is_recorded = false;
}

Status VulkanContext::prepare(bool has_changed) {
  if (has_changed) forget_commands();
  if (binding_->is_recorded) return {};
  ETB_TRY(record());
  binding_->is_recorded = true;
  return {};
}

Status VulkanContext::record() {
  const Device& device = *state_.device;
  const DeviceFunctions& vk = device.functions();
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  ETB_TRY(device.note(vk.BeginCommandBuffer(binding_->commands, &begin), "vkBeginCommandBuffer"));
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  const auto stamp = [&](size_t index) {
    if (is_timed_)
      vk.CmdWriteTimestamp(binding_->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, timestamps_.get(),
                           static_cast<uint32_t>(index));
  };
  // Another delegate of the queue may have written it, or read it before this one writes.
  if (has_externals())
    vk.CmdPipelineBarrier(binding_->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                          VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  if (is_timed_)
    vk.CmdResetQueryPool(binding_->commands, timestamps_.get(), 0, static_cast<uint32_t>(times_ns_.size()));
  stamp(0);
  for (size_t i = 0; i < dispatches().size(); ++i) {
    if (plan().needs_barrier[i])
      vk.CmdPipelineBarrier(binding_->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
    // Kernels for other sizes may read texels of another format.
    if (binding_->kernels[i] != dispatches()[i].kernel) write_descriptors(i);
    record_dispatch(dispatches()[i], binding_->sets[i]);
    stamp(i + 1);
  }
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vk.CmdPipelineBarrier(binding_->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                        0, 1, &barrier, 0, nullptr, 0, nullptr);
  return device.note(vk.EndCommandBuffer(binding_->commands), "vkEndCommandBuffer");
}

Status VulkanContext::record_for_values(size_t index, bool is_copied) {
  const Device& device = *state_.device;
  const DeviceFunctions& vk = device.functions();
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  ETB_TRY(device.note(vk.BeginCommandBuffer(binding_->commands, &begin), "vkBeginCommandBuffer"));
  record_dispatch(dispatches()[index], binding_->sets[index]);
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_HOST_READ_BIT;
  vk.CmdPipelineBarrier(binding_->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                        VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                        nullptr, 0, nullptr);
  if (is_copied) {
    const VkDescriptorBufferInfo range = place_of(dispatches()[index].written()).range;
    const VkBufferCopy region{range.offset, 0, range.range};
    vk.CmdCopyBuffer(binding_->commands, range.buffer, copy_.buffer.get(), 1, &region);
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vk.CmdPipelineBarrier(binding_->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0,
                          1, &barrier, 0, nullptr, 0, nullptr);
  }
  return device.note(vk.EndCommandBuffer(binding_->commands), "vkEndCommandBuffer");
}

Result<std::byte*> VulkanContext::run_one(size_t index, bool is_wanted) {
  binding_->is_recorded = false;
  std::byte* const mapped = place_of(dispatches()[index].written()).mapped;
  const bool is_mapped = mapped != nullptr;
  if (is_wanted && copy_.mapped == nullptr) {
    uint64_t nbytes = 0;
    for (const gpu::Dispatch& dispatch : dispatches())
      nbytes = std::max(nbytes, location(dispatch.written()).nbytes);
    ETB_ASSIGN(copy_, state_.device->make_buffer(nbytes, BufferUse::kTransfer));
  }
  ETB_TRY(record_for_values(index, is_wanted && !is_mapped));
  ETB_TRY(state_.device->run(binding_->commands, fence_.get()));
  return is_mapped ? mapped : copy_.mapped;
}

void VulkanContext::record_dispatch(const gpu::Dispatch& dispatch, VkDescriptorSet set) const {
  const auto [x, y, z] = dispatch.items;
  if (x == 0 || y == 0 || z == 0) return;
  const Device& device = *state_.device;
  const DeviceFunctions& vk = device.functions();
  const VkPipelineLayout layout = device.pipeline_layout(dispatch.kernel);
  vk.CmdBindPipeline(binding_->commands, VK_PIPELINE_BIND_POINT_COMPUTE, device.pipeline(dispatch));
  vk.CmdBindDescriptorSets(binding_->commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                           nullptr);
  vk.CmdPushConstants(binding_->commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, dispatch.push_count * 4,
                      dispatch.push.data());
  const uint32_t local_size = device.local_size(dispatch.kernel), groups = (x - 1) / local_size + 1;
  if (!gpu::is_linear(dispatch.kernel)) return vk.CmdDispatch(binding_->commands, groups, y, z);
  const uint32_t width = std::min(groups, gpu::kMaxGroups);
  vk.CmdDispatch(binding_->commands, width, (groups - 1) / width + 1, 1);
}

Status VulkanContext::write(uint64_t offset, std::span<const std::byte> bytes) {
  std::memcpy(transfer_.mapped + offset, bytes.data(), bytes.size());
  return {};
}

Status VulkanContext::read(uint64_t offset, std::span<std::byte> bytes) {
  std::memcpy(bytes.data(), transfer_.mapped + offset, bytes.size());
  return {};
}

Status VulkanContext::run_all(const Run&) { return state_.device->run(binding_->commands, fence_.get()); }

Status VulkanContext::submit() { return state_.device->submit(binding_->commands, fence_.get()); }

Result<bool> VulkanContext::wait(std::chrono::milliseconds most) {
  return state_.device->wait(fence_.get(), std::chrono::nanoseconds(most));
}

bool VulkanContext::set_timed(bool is_timed) {
  is_timed = is_timed && state_.device->has_timestamps();
  if (is_timed && times_ns_.empty()) {
    const auto count = static_cast<uint32_t>(dispatches().size() + 1);
    auto made = state_.device->make_timestamps(count);
    if (!made) return false;  // then the run is one event
    timestamps_ = std::move(*made);
    times_ns_.resize(count);
  }
  if (is_timed != is_timed_) forget_commands();
  return is_timed_ = is_timed;
}

Status VulkanContext::read_times(std::span<uint64_t> begins_ns, std::span<uint64_t> ends_ns) {
  ETB_TRY(state_.device->read_timestamps(timestamps_, times_ns_));
  std::copy_n(times_ns_.begin(), begins_ns.size(), begins_ns.begin());
  std::copy_n(times_ns_.begin() + 1, ends_ns.size(), ends_ns.begin());
  return {};
}

}  // namespace etb::vulkan
