// SPDX-License-Identifier: Apache-2.0
// A delegate of a GPU plugin: the plan of a payload, on a device that has its kernels and constants. Contexts share it.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "etb/cpp/plugin.hpp"
#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/official/payload.hpp"
#include "plugins/gpu/run/completion_thread.hpp"
#include "plugins/gpu/run/constants.hpp"
#include "plugins/gpu/run/context.hpp"
#include "plugins/gpu/run/host_numbers.hpp"

namespace etb::gpu {

// Api: Plugin, which opens devices; Device, with a Buffer; Context, which runs the delegate.
template <class Api>
class GpuDelegate {
 public:
  using Context = typename Api::Context;
  using Device = typename Api::Device;

  // Stored on the heap, so that a delegate can move while its contexts point to it.
  struct SharedState {
    std::shared_ptr<Device> device;
    ExecutionPlan plan;
    typename Device::Buffer constants;
    std::shared_ptr<CompletionThread> completions;     // the device's
    std::vector<std::array<int64_t, kMaxRank>> sizes;  // of the inputs of official files
    std::vector<etb_tensor_spec> specs;                // likewise
  };

  static Result<GpuDelegate> make(const typename Api::Plugin& plugin, CreateArgs& args) {
    ETB_ASSIGN(GpuGraph graph, args.backend_id == kOfficialBackend
                                   ? read_official_payload(args.payload.bytes(), args.named_data)
                                   : read_payload(args.payload.bytes()));
    args.payload.release();
    GpuDelegate delegate;
    delegate.state_ = std::make_unique<SharedState>();
    SharedState& state = *delegate.state_;
    ETB_ASSIGN(state.device, plugin.open(args.device_uuid));
    state.completions = plugin.completions(*state.device);
    ETB_ASSIGN(const KernelFamily family, family_of_option(args.options.get_text("kernels"), *state.device));
    const Fusion fusion = args.options.get_text("fusion") == "off" ? Fusion::kOff : Fusion::kOn;
    ETB_ASSIGN(state.plan,
               make_execution_plan(std::move(graph), family, state.device->offset_alignment(), fusion));
    ETB_TRY(check_ranges(state.plan, state.device->max_range_bytes()));
    if (args.backend_id == kOfficialBackend) describe_inputs(state);
    ETB_TRY(state.device->prepare(state.plan, args.host));
    if (state.plan.memory.constant_bytes != 0) {
      const auto write = [&](std::byte* to) { return write_constants(state.plan, args.named_data, to); };
      ETB_ASSIGN(state.constants, state.device->make_constants(state.plan.memory.constant_bytes, write));
    }
    return delegate;
  }

  // States the types of the inputs. Integers are those of 32 bits, to which the exporter narrows them.
  static void describe_inputs(SharedState& state) {
    const GpuGraph& graph = state.plan.graph;
    state.sizes.resize(graph.inputs.size());
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const GpuValue& value = graph.value(graph.inputs[i]);
      const bool is_size = value.host == HostNumbers::kSize;
      const bool is_narrow = value.host == HostNumbers::kIntegers || value.host == HostNumbers::kInt32Bits;
      for (uint32_t d = 0; d < value.shape.rank; ++d) state.sizes[i][d] = value.shape.sizes[d];
      etb_tensor_spec& spec = state.specs.emplace_back();
      spec = {};
      spec.struct_size = ETB_INIT_SIZE(etb_tensor_spec);
      spec.dtype = is_narrow ? ETB_DTYPE_INT32 : expected_dtype(value);
      spec.rank = is_size ? 0 : value.shape.rank;
      spec.sizes = state.sizes[i].data();
    }
  }

  static Result<KernelFamily> family_of_option(std::string_view kernels, const Device& device) {
    if (kernels == "registers") return KernelFamily::kRegisters;
    if (kernels != "groups") return device.family();
    if (device.has_groups()) return KernelFamily::kGroups;
    return make_error(Code::NOT_SUPPORTED, "kernels: groups, but '" + device.facts().name +
                                               "' has no workgroups of " + std::to_string(kLargestGroup) +
                                               " with " + std::to_string(kSharedMemoryBytes) +
                                               " bytes of shared memory");
  }

  DelegateInfo info() const {
    DelegateInfo info;
    info.input_count = static_cast<uint32_t>(state_->plan.graph.inputs.size());
    info.output_count = static_cast<uint32_t>(state_->plan.graph.outputs.size());
    info.resident_bytes = state_->plan.memory.constant_bytes;
    info.context_bytes = state_->plan.memory.transfer_bytes + state_->plan.memory.arena_bytes;
    return info;
  }

  // Values between delegates of one device may stay there.
  void describe_io(etb_io_req& req) const {
    static constexpr const char* kKinds[] = {Api::kBufferKind};
    const GpuGraph& graph = state_->plan.graph;
    const bool is_input = (req.role & ETB_ROLE_INPUT) != 0;
    const uint32_t id = is_input ? graph.inputs[req.index] : graph.outputs[req.index];
    // The exporter leaves inputs that no operator reads out of official files, and the program passes them.
    if (is_input && !state_->specs.empty()) req.spec = &state_->specs[req.index];
    if (!may_be_external(state_->plan, id)) return;
    req.kind_count = 1;
    req.kinds = kKinds;
  }

  const SharedState& state() const { return *state_; }

 private:
  std::unique_ptr<SharedState> state_;
};

}  // namespace etb::gpu
