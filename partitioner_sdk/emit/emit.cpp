// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/emit/emit.hpp"

#include "partitioner_sdk/emit/delegate_data.hpp"
#include "partitioner_sdk/emit/whole_file.hpp"

namespace etb::emit {

namespace {

format::MethodSpec constant_method(const ConstantMethod& constant) {
  format::MethodSpec method;
  method.name = constant.name;
  method.values = constant.values;
  for (size_t i = 0; i < constant.values.size(); ++i) method.outputs.push_back(static_cast<int32_t>(i));
  return method;
}

// Adds the methods by which ExecuTorch's TrainingModule finds gradients and parameters among the outputs.
void add_training_methods(const ir::Module& module, std::vector<format::MethodSpec>& methods) {
  if (!module.training) return;
  const ir::TrainingOutputs& outputs = *module.training;
  const auto add = [&](const char* what, std::vector<format::ValueSpec> values) {
    methods.push_back(
        constant_method({"__et_training_" + std::string(what) + module.name, std::move(values)}));
  };
  add("gradients_index_", {int64_t{outputs.first_gradient}});
  add("fqn_", {outputs.parameters.begin(), outputs.parameters.end()});
  add("parameters_index_", {int64_t{outputs.first_parameter}});
}

}  // namespace

Result<Program> emit(std::span<ir::Module> methods, const EmitOptions& options) {
  Program program;
  ProgramData data;
  data.is_external = options.has_external_data;
  data.plans_inputs = options.plans_inputs;
  data.plans_outputs = options.plans_outputs;
  data.keeps_branches_apart = options.keeps_branches_apart;
  if (data.is_external)
    for (const NamedBytes& item : options.named_data) data.external.reserve(item.key);
  data.delegates = options.delegates;
  data.memories = options.memories;
  ETB_ASSIGN(data.shared_state, SharedState::find(methods));
  for (ir::Module& module : methods) {
    MethodEmitter emitter(module, data, options.has_kernel);
    auto method = emitter.run();
    if (!method)
      return tl::make_unexpected(with_context(std::move(method).error(), "method '" + module.name + "'"));
    program.methods.push_back({module.name, emitter.memory_plan().arena_nbytes,
                               emitter.memory_plan().lower_bound_nbytes, emitter.least_arena_nbytes(),
                               method->instructions.size(), emitter.delegate_calls(), emitter.debug_handles(),
                               emitter.own_kernels(), emitter.memories()});
    program.parts.methods.push_back(*std::move(method));
  }
  for (const ir::Module& module : methods) add_training_methods(module, program.parts.methods);
  for (const ConstantMethod& constant : options.constant_methods) {
    program.parts.methods.push_back(constant_method(constant));
  }
  const DataSegment &constants = data.constants, &states = data.states;
  // The official runtime expects a constant segment even without constants. Such a file has no extended
  // header.
  program.parts.constant_offsets = constants.offsets();
  program.parts.segment_nbytes.push_back(constants.nbytes());
  program.segments.push_back(constants.pieces());
  if (!states.is_empty()) {
    program.parts.mutable_segment = static_cast<uint32_t>(program.segments.size());
    program.parts.mutable_offsets = states.offsets();
    program.parts.segment_nbytes.push_back(states.nbytes());
    program.segments.push_back(states.pieces());
  }
  add_delegate_data(program, options, data.is_external ? &data.external : nullptr);
  const size_t own_segments = states.is_empty() ? 1 : 2;
  if (constants.nbytes() + states.nbytes() == 0 && program.segments.size() == own_segments)
    program.parts.header_length = 0;
  program.external.tensors = data.external.tensors();
  program.external.segment_nbytes = data.external.segment_nbytes();
  program.external_segments = data.external.pieces();
  return program;
}

Status write_file(const Program& program, const std::string& path, std::span<const ir::FileBytes> files) {
  const auto write = [&](const format::ByteSink& sink) {
    return format::write_program(program.parts, program.segments, sink);
  };
  return write_whole_file(path, write, files);
}

Status write_file(const Program& program, format::OutputFile& file, std::span<const ir::FileBytes> files) {
  const auto write = [&](const format::ByteSink& sink) {
    return format::write_program(program.parts, program.segments, sink);
  };
  return write_into(file, write, files);
}

Status write_external_file(const Program& program, const std::string& path,
                           std::span<const ir::FileBytes> files) {
  const auto write = [&](const format::ByteSink& sink) {
    return format::write_data_file(program.external, program.external_segments, sink);
  };
  return write_whole_file(path, write, files);
}

}  // namespace etb::emit
