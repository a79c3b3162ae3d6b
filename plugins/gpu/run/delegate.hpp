// SPDX-License-Identifier: Apache-2.0
// A delegate of a GPU plugin: the plan of a payload, on a device that has its kernels and constants. Contexts share it.
#pragma once

#include <memory>

#include "etb/cpp/plugin.hpp"
#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/official/payload.hpp"
#include "plugins/gpu/run/completion_thread.hpp"
#include "plugins/gpu/run/constants.hpp"
#include "plugins/gpu/run/context.hpp"
#include "plugins/gpu/run/device_facts.hpp"
#include "plugins/gpu/run/input_specs.hpp"
#include "plugins/gpu/run/tuner.hpp"

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
    std::shared_ptr<CompletionThread> completions;  // the device's
  };

  // Errors: INCOMPATIBLE for a valid payload that these kernels or this device cannot run. The functions that make the plan
  // also serve compile, whose status for it is NOT_SUPPORTED.
  static Result<GpuDelegate> make(const typename Api::Plugin& plugin, CreateArgs& args) {
    Result<GpuDelegate> made = make_for_payload(plugin, args);
    if (!made && made.error().code == Code::NOT_SUPPORTED) made.error().code = Code::INCOMPATIBLE;
    return made;
  }

  static Result<GpuDelegate> make_for_payload(const typename Api::Plugin& plugin, CreateArgs& args) {
    ETB_ASSIGN(GpuGraph graph, args.backend_id == kOfficialBackend
                                   ? read_official_payload(args.payload.bytes(), args.named_data)
                                   : read_payload(args.payload.bytes()));
    args.payload.release();
    GpuDelegate delegate;
    delegate.state_ = std::make_unique<SharedState>();
    SharedState& state = *delegate.state_;
    ETB_ASSIGN(state.device, plugin.device_for(args.device));
    state.completions = plugin.completions(*state.device);
    ETB_ASSIGN(const KernelFamily family, family_of_option(args.options.get_text("kernels"), *state.device));
    const std::string_view fuses = args.options.get_text("fusion");
    const Fusion fusion = fuses == "off" ? Fusion::kOff : fuses == "all" ? Fusion::kAll : Fusion::kOn;
    ETB_ASSIGN(const HalfStorage halves, halves_of_option(args.options.get_text("float16"), *state.device));
    ETB_ASSIGN(state.plan,
               make_execution_plan(std::move(graph), family, state.device->offset_alignment(), fusion,
                                   args.backend_id == kOfficialBackend ? HalfStorage::kOff : halves));
    delegate.input_specs_ = input_specs_of(state.plan.graph);
    ETB_TRY(check_ranges(state.plan, state.device->max_range_bytes()));
    ETB_TRY(tune_kernels(state, args));
    ETB_TRY(state.device->prepare(state.plan, args.host));
    if (state.plan.memory.constant_bytes != 0) {
      const auto write = [&](std::byte* to) { return write_constants(state.plan, args.named_data, to); };
      ETB_ASSIGN(state.constants, state.device->make_constants(state.plan.memory.constant_bytes, write));
    }
    return delegate;
  }

  // Replaces kernels of the plan by the fastest ones. Not if the option `kernels` names a family.
  static Status tune_kernels(SharedState& state, const CreateArgs& args) {
    const std::string_view tune = args.options.get_text("tune");
    if (tune == "off" || args.options.get_text("kernels") != "auto") return {};
    return gpu::tune_kernels<Context>(state, tune == "measured" ? Tuning::kMeasured : Tuning::kStored,
                                      args.host);
  }

  static Result<KernelFamily> family_of_option(std::string_view kernels, const Device& device) {
    if (kernels == "registers") return KernelFamily::kRegisters;
    if (kernels != "groups") return device.family();
    if (device.has_groups()) return KernelFamily::kGroups;
    return make_error(Code::INVALID_ARGUMENT, "kernels: groups, but '" + device.facts().name +
                                                  "' has no workgroups of " + std::to_string(kLargestGroup) +
                                                  " with " + std::to_string(kSharedMemoryBytes) +
                                                  " bytes of shared memory");
  }

  // Not for processors by default: their own kernels read float32 only. Nor arithmetic where it could change a bit. Without it
  // storage has the same results, so every device takes each value that it has storage for.
  static Result<HalfStorage> halves_of_option(std::string_view float16, const Device& device) {
    const DeviceFacts& facts = device.facts();
    const bool has_arithmetic = facts.has_float16 && facts.rounds_halves;
    if (float16 == "wide") return HalfStorage::kOff;
    if (float16 != "storage" && float16 != "arithmetic") {
      if (!facts.has_16bit_storage || facts.is_cpu) return HalfStorage::kOff;
      return has_arithmetic && facts.keeps_subnormal_halves ? HalfStorage::kArithmetic : HalfStorage::kOn;
    }
    if (!facts.has_16bit_storage)
      return make_error(Code::INVALID_ARGUMENT,
                        "float16: " + std::string(float16) + ", but kernels of '" + facts.name +
                            "' cannot read numbers of 16 bits\nhint: set the option float16 to auto");
    return float16 == "arithmetic" && has_arithmetic ? HalfStorage::kArithmetic : HalfStorage::kOn;
  }

  DelegateInfo info() const {
    DelegateInfo info;
    info.input_count = static_cast<uint32_t>(state_->plan.graph.inputs.size());
    info.output_count = static_cast<uint32_t>(state_->plan.graph.outputs.size());
    info.resident_bytes = state_->plan.memory.constant_bytes;
    info.context_bytes = state_->plan.memory.transfer_bytes + state_->plan.memory.arena_bytes +
                         conversion_room(state_->plan).nbytes();
    return info;
  }

  // Values between delegates of one device may stay there.
  void describe_io(etb_io_req& req) const {
    static constexpr const char* kKinds[] = {Api::kBufferKind};
    const GpuGraph& graph = state_->plan.graph;
    const uint32_t id = (req.role & ETB_ROLE_INPUT) != 0 ? graph.inputs[req.index] : graph.outputs[req.index];
    if ((req.role & ETB_ROLE_INPUT) != 0) req.spec = &input_specs_[req.index].spec;
    if (!may_be_external(state_->plan, id)) return;
    req.kind_count = 1;
    req.kinds = kKinds;
  }

  const SharedState& state() const { return *state_; }

 private:
  std::unique_ptr<SharedState> state_;
  std::vector<InputSpec> input_specs_;
};

}  // namespace etb::gpu
