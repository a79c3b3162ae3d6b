// SPDX-License-Identifier: Apache-2.0
// VulkanContext: runs a delegate.
#include <algorithm>
#include <cstring>
#include <string>

#include "etb/cpp/values.hpp"
#include "plugins/vulkan/delegate.hpp"

namespace etb::vulkan {

namespace {

etb_dtype dtype_of(gpu::DataType type) {
  return type == gpu::DataType::kInt64   ? ETB_DTYPE_INT64
         : type == gpu::DataType::kInt32 ? ETB_DTYPE_INT32
                                         : ETB_DTYPE_FLOAT32;
}

// Returns the bytes of a contiguous tensor of the value's type.
Result<std::span<const std::byte>> bytes_of(const Tensor& tensor, gpu::DataType type) {
  const auto as_bytes = [](auto elements) -> Result<std::span<const std::byte>> {
    if (!elements) return tl::make_unexpected(std::move(elements).error());
    return std::as_bytes(*elements);
  };
  switch (type) {
    case gpu::DataType::kFloat32:
      return as_bytes(tensor.data<float>());
    case gpu::DataType::kInt32:
      return as_bytes(tensor.data<int32_t>());
    case gpu::DataType::kInt64:
      return as_bytes(tensor.data<int64_t>());
  }
  return make_error(Code::INTERNAL, "a value of an unknown type");
}

}  // namespace

VulkanContext::VulkanContext(const VulkanDelegate& delegate)
    : state_(*delegate.state_),
      solver_(state_.plan),
      dispatches_(state_.plan.dispatches),
      created_(create()) {}

Status VulkanContext::create() {
  const Device& device = *state_.device;
  ETB_ASSIGN(transfer_, device.make_buffer(state_.plan.memory.transfer_bytes, BufferUse::kTransfer));
  ETB_ASSIGN(arena_, device.make_buffer(state_.plan.memory.arena_bytes, BufferUse::kArena));
  ETB_ASSIGN(command_pool_, device.make_command_pool());
  ETB_ASSIGN(commands_, device.make_command_buffer(command_pool_));
  ETB_ASSIGN(fence_, device.make_fence());
  return create_descriptors();
}

Status VulkanContext::create_descriptors() {
  if (dispatches_.empty()) return {};
  const Device& device = *state_.device;
  uint32_t count = 0, texels = 0;
  views_.resize(state_.plan.graph.values.size());
  std::vector<VkDescriptorSetLayout> layouts;
  for (const gpu::Dispatch& dispatch : dispatches_) {
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
  info.maxSets = static_cast<uint32_t>(dispatches_.size());
  info.poolSizeCount = texels == 0 ? 1 : 2;
  info.pPoolSizes = sizes;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  ETB_TRY(device.note(device.functions().CreateDescriptorPool(device.handle(), &info, nullptr, &pool),
                      "vkCreateDescriptorPool"));
  descriptor_pool_ = OwnedDescriptorPool(state_.device, pool);
  sets_.resize(dispatches_.size());
  bound_.resize(dispatches_.size());
  VkDescriptorSetAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  allocation.descriptorPool = pool;
  allocation.descriptorSetCount = info.maxSets;
  allocation.pSetLayouts = layouts.data();
  ETB_TRY(device.note(device.functions().AllocateDescriptorSets(device.handle(), &allocation, sets_.data()),
                      "vkAllocateDescriptorSets"));
  for (size_t i = 0; i < sets_.size(); ++i) write_descriptors(i);
  return {};
}

Status VulkanContext::create_views(uint32_t value) {
  if (views_[value][0].get() != VK_NULL_HANDLE) return {};
  const gpu::Location& location = state_.plan.memory.locations[value];
  ETB_ASSIGN(views_[value][0], state_.device->make_view(buffer_of(location), location, 1));
  ETB_ASSIGN(views_[value][1], state_.device->make_view(buffer_of(location), location, 4));
  return {};
}

const Buffer& VulkanContext::buffer_of(const gpu::Location& location) const {
  return location.memory == gpu::Memory::kTransfer ? transfer_
         : location.memory == gpu::Memory::kArena  ? arena_
                                                   : state_.constants;
}

// Binds the part of a buffer that each value has, so that no kernel can write outside of it.
void VulkanContext::write_descriptors(size_t index) {
  const gpu::Dispatch& dispatch = dispatches_[index];
  std::array<VkDescriptorBufferInfo, gpu::kMaxBindings> buffers{};
  std::array<VkWriteDescriptorSet, gpu::kMaxBindings> writes{};
  std::array<VkBufferView, 2> views{};
  const gpu::TexelBindings texels = gpu::texels_of(dispatch.kernel);
  bound_[index] = dispatch.kernel;
  for (uint32_t b = 0; b < dispatch.binding_count; ++b) {
    const gpu::Location& location = state_.plan.memory.locations[dispatch.bindings[b]];
    buffers[b] = {buffer_of(location).buffer.get(), location.offset, location.nbytes};
    writes[b].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[b].dstSet = sets_[index];
    writes[b].dstBinding = b;
    writes[b].descriptorCount = 1;
    writes[b].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[b].pBufferInfo = &buffers[b];
    if (b >= texels.count) continue;
    views[b] = views_[dispatch.bindings[b]][texels.floats[b] == 4 ? 1 : 0].get();
    writes[b].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
    writes[b].pTexelBufferView = &views[b];
  }
  state_.device->functions().UpdateDescriptorSets(state_.device->handle(), dispatch.binding_count,
                                                  writes.data(), 0, nullptr);
}

Status VulkanContext::resize(const auto& size_of_input) {
  ETB_TRY(created_);
  bool changed = !is_recorded_;
  for (size_t i = 0; i < state_.plan.graph.inputs.size(); ++i) {
    const std::span<const int64_t> sizes = size_of_input(i);
    const gpu::Shape& known = solver_.shapes()[state_.plan.graph.inputs[i]];
    bool is_same = sizes.size() == known.rank;
    for (uint32_t d = 0; is_same && d < known.rank; ++d) is_same = sizes[d] == int64_t{known.sizes[d]};
    if (is_same) continue;
    changed = true;
    is_recorded_ = false;
    ETB_TRY(solver_.set_input(i, sizes));
  }
  if (!changed) return {};
  ETB_TRY(solver_.solve());
  gpu::make_dispatches(state_.plan.graph, state_.plan.family, solver_.shapes(), state_.plan.aliases,
                       dispatches_);
  ETB_TRY(record(is_timed_));
  is_recorded_ = true;
  return {};
}

Status VulkanContext::record(bool is_timed) {
  const Device& device = *state_.device;
  const DeviceFunctions& vk = device.functions();
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  ETB_TRY(device.note(vk.BeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer"));
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  const auto stamp = [&](size_t index) {
    if (is_timed)
      vk.CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, timestamps_.get(),
                           static_cast<uint32_t>(index));
  };
  if (is_timed)
    vk.CmdResetQueryPool(commands_, timestamps_.get(), 0, static_cast<uint32_t>(times_ns_.size()));
  stamp(0);
  for (size_t i = 0; i < dispatches_.size(); ++i) {
    if (state_.plan.needs_barrier[i])
      vk.CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
    // Kernels for other sizes may read texels of another format.
    if (bound_[i] != dispatches_[i].kernel) write_descriptors(i);
    record_dispatch(dispatches_[i], sets_[i]);
    stamp(i + 1);
  }
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vk.CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                        &barrier, 0, nullptr, 0, nullptr);
  return device.note(vk.EndCommandBuffer(commands_), "vkEndCommandBuffer");
}

// Records one dispatch and, if `copy` is not NULL, a copy of its result.
Status VulkanContext::record_for_values(size_t index, const Buffer* copy) {
  const Device& device = *state_.device;
  const DeviceFunctions& vk = device.functions();
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  ETB_TRY(device.note(vk.BeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer"));
  record_dispatch(dispatches_[index], sets_[index]);
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_HOST_READ_BIT;
  vk.CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                        VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                        nullptr, 0, nullptr);
  if (copy != nullptr) {
    const gpu::Location& location = state_.plan.memory.locations[dispatches_[index].written()];
    const VkBufferCopy region{location.offset, 0, location.nbytes};
    vk.CmdCopyBuffer(commands_, buffer_of(location).buffer.get(), copy->buffer.get(), 1, &region);
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vk.CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                          &barrier, 0, nullptr, 0, nullptr);
  }
  return device.note(vk.EndCommandBuffer(commands_), "vkEndCommandBuffer");
}

Status VulkanContext::put_value(const Run& run, uint32_t id, const std::string& name, std::byte* data) const {
  const gpu::Shape& shape = solver_.shapes()[id];
  std::array<int64_t, gpu::kMaxRank> sizes{};
  std::copy_n(shape.sizes.begin(), shape.rank, sizes.begin());
  etb_tensor tensor{};
  tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
  tensor.dtype = dtype_of(state_.plan.graph.value(id).type);
  tensor.rank = shape.rank;
  tensor.role = ETB_ROLE_OUTPUT;
  tensor.sizes = sizes.data();
  tensor.data = data;
  tensor.capacity_bytes = state_.plan.memory.locations[id].nbytes;
  return ValueReport(run).put(name.c_str(), {&tensor, 1});
}

Status VulkanContext::run_for_values(const Run& run) {
  const ValueReport values(run);
  const auto& locations = state_.plan.memory.locations;
  is_recorded_ = false;
  std::vector<size_t> last(locations.size(), dispatches_.size());  // by value: the dispatch that completes it
  uint64_t nbytes = 0;
  for (size_t i = 0; i < dispatches_.size(); ++i) {
    last[dispatches_[i].written()] = i;
    nbytes = std::max(nbytes, locations[dispatches_[i].written()].nbytes);
  }
  ETB_ASSIGN(const Buffer copy, state_.device->make_buffer(nbytes, BufferUse::kTransfer));
  for (size_t i = 0; i < dispatches_.size(); ++i) {
    ETB_TRY(run.keep_going());
    const uint32_t id = dispatches_[i].written();
    const std::string name = gpu::result_name(id);
    const bool is_wanted = last[id] == i && state_.plan.graph.value(id).role == gpu::ValueRole::kResult &&
                           values.wants(name.c_str());
    const bool is_mapped = locations[id].memory == gpu::Memory::kTransfer;
    ETB_TRY(record_for_values(i, is_wanted && !is_mapped ? &copy : nullptr));
    ETB_TRY(state_.device->run(commands_, fence_.get()));
    if (!is_wanted) continue;
    ETB_TRY(put_value(run, id, name, is_mapped ? transfer_.mapped + locations[id].offset : copy.mapped));
  }
  return {};
}

void VulkanContext::record_dispatch(const gpu::Dispatch& dispatch, VkDescriptorSet set) const {
  const auto [x, y, z] = dispatch.items;
  if (x == 0 || y == 0 || z == 0) return;
  const Device& device = *state_.device;
  const DeviceFunctions& vk = device.functions();
  const VkPipelineLayout layout = device.pipeline_layout(dispatch.kernel);
  vk.CmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, device.pipeline(dispatch.kernel));
  vk.CmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
  vk.CmdPushConstants(commands_, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, dispatch.push_count * 4,
                      dispatch.push.data());
  const uint32_t local_size = device.local_size(gpu::is_linear(dispatch.kernel)),
                 groups = (x - 1) / local_size + 1;
  if (!gpu::is_linear(dispatch.kernel)) return vk.CmdDispatch(commands_, groups, y, z);
  const uint32_t width = std::min(groups, gpu::kMaxGroups);
  vk.CmdDispatch(commands_, width, (groups - 1) / width + 1, 1);
}

Status VulkanContext::reserve(std::span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const etb_dtype expected = dtype_of(state_.plan.graph.value(state_.plan.graph.inputs[i]).type);
    if (inputs[i].dtype() != expected)
      return make_error(Code::INVALID_ARGUMENT, "input " + std::to_string(i) + ": dtype " +
                                                    dtype_text(inputs[i].dtype()) + ", expected " +
                                                    dtype_text(expected));
  }
  return resize([&](size_t i) { return inputs[i].sizes(); });
}

Status VulkanContext::write_inputs(const Run& run) {
  for (uint32_t i = 0; i < run.input_count(); ++i) {
    const uint32_t id = state_.plan.graph.inputs[i];
    const auto bytes = bytes_of(run.input(i), state_.plan.graph.value(id).type);
    if (!bytes) return tl::make_unexpected(with_context(bytes.error(), "input " + std::to_string(i)));
    if (!bytes->empty())
      std::memcpy(transfer_.mapped + state_.plan.memory.locations[id].offset, bytes->data(), bytes->size());
  }
  return {};
}

Status VulkanContext::read_outputs(const Run& run) {
  for (uint32_t i = 0; i < run.output_count(); ++i) {
    const uint32_t id = state_.plan.graph.outputs[i];
    OutputTensor tensor = run.output(i);
    const auto elements = tensor.data<float>();
    if (!elements) return tl::make_unexpected(with_context(elements.error(), "output " + std::to_string(i)));
    if (!elements->empty())
      std::memcpy(elements->data(), transfer_.mapped + state_.plan.memory.locations[id].offset,
                  elements->size_bytes());
  }
  return {};
}

// Reports an event for each node that has dispatches. The device's clock is another one: its last time stamp is the end of
// the run on the host's clock.
Status VulkanContext::run_timed(const Run& run) {
  const uint64_t begin_ns = run.host().now_ns();
  ETB_TRY(state_.device->run(commands_, fence_.get()));
  const uint64_t end_ns = run.host().now_ns();
  ETB_TRY(state_.device->read_timestamps(timestamps_, times_ns_));
  const auto on_host = [&](uint64_t stamp_ns) {
    const uint64_t before_end = times_ns_.back() - stamp_ns;
    return end_ns - std::min(before_end, end_ns - begin_ns);
  };
  for (size_t i = 0; i < dispatches_.size();) {
    const size_t first = i;
    while (i < dispatches_.size() && dispatches_[i].node == dispatches_[first].node) ++i;
    etb_event event{};
    event.struct_size = ETB_INIT_SIZE(etb_event);
    event.flags = ETB_EVENT_LOSSY;
    event.name = event_names_[dispatches_[first].node].c_str();
    event.debug_id = -1;
    event.begin_ticks = on_host(times_ns_[first]);
    event.end_ticks = on_host(times_ns_[i]);
    event.timebase = ETB_TIMEBASE_HOST;
    event.ns_numerator = event.ns_denominator = 1;
    ETB_TRY(from_host(run.raw().events->put(run.raw().events->ctx, &event), "event sink"));
  }
  return {};
}

// Prepares for a host that profiles, or no longer does.
Status VulkanContext::set_timed(bool is_timed) {
  if (is_timed == is_timed_) return {};
  if (is_timed && event_names_.empty()) {
    auto made = state_.device->make_timestamps(static_cast<uint32_t>(dispatches_.size() + 1));
    if (!made) return {};  // then the run is one event
    timestamps_ = std::move(*made);
    times_ns_.resize(dispatches_.size() + 1);
    for (const gpu::GpuNode& node : state_.plan.graph.nodes) event_names_.push_back(gpu::event_name(node));
  }
  is_timed_ = is_timed;
  is_recorded_ = false;
  return {};
}

Status VulkanContext::execute(const Run& run) {
  ETB_TRY(created_);
  const bool has_events = run.raw().events != nullptr, has_values = ValueReport(run).is_wanted();
  ETB_TRY(set_timed(has_events && !has_values && state_.device->has_timestamps() && !dispatches_.empty()));
  ETB_TRY(resize([&](size_t i) { return run.input(static_cast<uint32_t>(i)).sizes(); }));
  ETB_TRY(run.keep_going());
  ETB_TRY(write_inputs(run));
  for (uint32_t i = 0; i < run.output_count(); ++i) {
    const gpu::Shape& shape = solver_.shapes()[state_.plan.graph.outputs[i]];
    std::array<int64_t, gpu::kMaxRank> sizes{};
    std::copy_n(shape.sizes.begin(), shape.rank, sizes.begin());
    OutputTensor tensor = run.output(i);
    if (Status fits = tensor.resize({sizes.data(), shape.rank}); !fits)
      return tl::make_unexpected(with_context(std::move(fits).error(), "output " + std::to_string(i)));
  }
  if (has_values) {
    ETB_TRY(run.timed(gpu::kRunEvent, [&] { return run_for_values(run); }));
    return read_outputs(run);
  }
  if (is_timed_) {
    ETB_TRY(run_timed(run));
    return read_outputs(run);
  }
  ETB_TRY(run.timed(gpu::kRunEvent, [&] { return state_.device->run(commands_, fence_.get()); }));
  return read_outputs(run);
}

}  // namespace etb::vulkan
