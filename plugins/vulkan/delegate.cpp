// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/delegate.hpp"

#include <cstring>
#include <string>

#include "plugins/gpu/graph/payload.hpp"
#include "plugins/vulkan/plugin.hpp"

namespace etb::vulkan {

Result<VulkanDelegate> VulkanDelegate::make(const VulkanPlugin& plugin, CreateArgs& args) {
  ETB_ASSIGN(gpu::GpuGraph graph, gpu::read_payload(args.payload.bytes()));
  args.payload.release();
  VulkanDelegate delegate;
  delegate.state_ = std::make_unique<SharedState>();
  SharedState& state = *delegate.state_;
  ETB_ASSIGN(state.device, plugin.open(args.device_uuid));
  const bool has_tiles = state.device->facts().has_tiles && args.options.get_text("kernels") != "registers";
  ETB_ASSIGN(state.plan,
             gpu::make_execution_plan(std::move(graph),
                                      has_tiles ? gpu::KernelFamily::kTiles : gpu::KernelFamily::kRegisters));
  ETB_TRY(gpu::check_ranges(state.plan, state.device->max_range_bytes()));
  ETB_TRY(state.device->prepare(state.plan.uses_kernel));
  ETB_TRY(upload(state, args.named_data));
  return delegate;
}

DelegateInfo VulkanDelegate::info() const {
  DelegateInfo info;
  info.input_count = static_cast<uint32_t>(state_->plan.graph.inputs.size());
  info.output_count = static_cast<uint32_t>(state_->plan.graph.outputs.size());
  info.resident_bytes = state_->plan.memory.constant_bytes;
  info.context_bytes = state_->plan.memory.transfer_bytes + state_->plan.memory.arena_bytes;
  return info;
}

Result<std::vector<float>> VulkanDelegate::numbers_of(const gpu::GpuValue& value, const NamedData& data) {
  if (value.role == gpu::ValueRole::kInline) return value.floats;
  std::vector<float> numbers(value.shape.numel());
  ETB_ASSIGN(const Payload bytes, data.get(value.key.c_str()));
  const size_t expected = numbers.size() * sizeof(float);
  if (bytes.bytes().size() < expected)
    return make_error(Code::INVALID_DATA, "named data '" + value.key + "' of " +
                                              std::to_string(bytes.bytes().size()) + " bytes, expected " +
                                              std::to_string(expected));
  if (expected != 0) std::memcpy(numbers.data(), bytes.bytes().data(), expected);
  return numbers;
}

Result<std::vector<float>> VulkanDelegate::folded_numbers(const gpu::ExecutionPlan& plan, uint32_t value,
                                                          const NamedData& data) {
  for (const gpu::BatchNormFold& fold : plan.folds) {
    if (fold.filters != value && fold.new_bias != value) continue;
    const auto numbers = [&](uint32_t id) { return numbers_of(plan.graph.value(id), data); };
    ETB_ASSIGN(const std::vector<float> weight, numbers(fold.weight));
    ETB_ASSIGN(const std::vector<float> bias, numbers(fold.bias));
    ETB_ASSIGN(const std::vector<float> mean, numbers(fold.mean));
    ETB_ASSIGN(const std::vector<float> variance, numbers(fold.variance));
    const gpu::BatchNormNumbers norm{weight, bias, mean, variance, fold.eps};
    std::vector<float> made(weight.size(), 0.0f);
    if (fold.filters == value) {
      ETB_ASSIGN(made, numbers(value));
      gpu::fold_filters(norm, made);
      return made;
    }
    if (fold.convolution_bias != gpu::kNoValue) {
      ETB_ASSIGN(made, numbers(fold.convolution_bias));
    }
    gpu::fold_bias(norm, made);
    return made;
  }
  return std::vector<float>();
}

// Packs constants into device memory, through a second buffer where the host cannot write it.
Status VulkanDelegate::upload(SharedState& state, const NamedData& data) {
  const gpu::ExecutionPlan& plan = state.plan;
  const uint64_t nbytes = plan.memory.constant_bytes;
  if (nbytes == 0) return {};
  ETB_ASSIGN(state.constants, state.device->make_buffer(nbytes, BufferUse::kConstants));
  Buffer staging;
  if (state.constants.mapped == nullptr) {
    ETB_ASSIGN(staging, state.device->make_buffer(nbytes, BufferUse::kTransfer));
  }
  std::byte* to = state.constants.mapped != nullptr ? state.constants.mapped : staging.mapped;
  for (const gpu::PackedConstant& constant : plan.constants) {
    const gpu::GpuValue& value = plan.graph.value(constant.value);
    std::byte* at = to + plan.memory.locations[constant.value].offset;
    ETB_ASSIGN(const std::vector<float> folded, folded_numbers(plan, constant.value, data));
    if (!folded.empty()) {
      gpu::pack(constant, value.shape, std::as_bytes(std::span(folded)).data(), reinterpret_cast<float*>(at));
      continue;
    }
    if (value.role == gpu::ValueRole::kInline) {
      std::memcpy(at, value.floats.data(), value.floats.size() * sizeof(float));
      continue;
    }
    ETB_ASSIGN(const Payload bytes, data.get(value.key.c_str()));
    const uint64_t expected = value.shape.numel() * gpu::nbytes_of(value.type);
    if (bytes.bytes().size() < expected)
      return make_error(Code::INVALID_DATA, "named data '" + value.key + "' of " +
                                                std::to_string(bytes.bytes().size()) + " bytes, expected " +
                                                std::to_string(expected));
    if (constant.packing == gpu::Packing::kPlain) {
      std::memcpy(at, bytes.bytes().data(), expected);
    } else {
      gpu::pack(constant, value.shape, bytes.bytes().data(), reinterpret_cast<float*>(at));
    }
  }
  if (state.constants.mapped != nullptr) return {};
  return state.device->copy(staging, state.constants, nbytes);
}

}  // namespace etb::vulkan
