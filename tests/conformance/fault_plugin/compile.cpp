// SPDX-License-Identifier: Apache-2.0
// Compiles a region into a payload.
#include <sched.h>

#include <cmath>
#include <cstdio>

#include "tests/conformance/fault_plugin/claims.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

// Larger constants are stored beside the payload, by their key.
constexpr uint64_t kLeastNamedBytes = 256;

etb::Status add_input(const etb::Region& region, uint32_t index, ValueInfo& value, etb::Artifact& artifact) {
  const etb::Graph& graph = region.graph();
  const etb_graph_input input = etb_graph_get_input(&graph.view(), &graph.c(), index);
  value.kind = Kind::kInput;
  if (input.constant == ETB_GRAPH_NONE) return {};
  value.kind = Kind::kConstant;
  const etb_graph_constant constant = etb_graph_get_constant(&graph.view(), input.constant);
  if (has_fault(541) && constant.data == nullptr) {  // only the image is read
    value.data.assign(value.nbytes(), std::byte{0});
    return {};
  }
  if (value.nbytes() >= kLeastNamedBytes) {
    value.kind = Kind::kNamed;
    const auto* const key = reinterpret_cast<const std::byte*>(constant.key);
    value.data.assign(key, key + std::strlen(constant.key));
    artifact.named_blobs.push_back({.key = constant.key, .constant_key = constant.key});
    return {};
  }
  ETB_ASSIGN(const etb::Payload bytes, region.read_constant(constant.key));
  value.data.assign(bytes.bytes().begin(), bytes.bytes().end());
  if (has_fault(239) && !value.data.empty())
    for (uint64_t i = 0; i < value.nbytes(); ++i)
      value.data[i % value.data.size()] = static_cast<const volatile std::byte*>(bytes.bytes().data())[i];
  else if (value.data.size() != value.nbytes())
    return etb::make_error(etb::Code::INVALID_DATA,
                           "constant '" + std::string(constant.key) + "' has another size than its tensor");
  return {};
}

std::vector<uint32_t> handles_of(const etb::Graph& graph) {
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < graph.node_count(); ++i)
    if (const uint32_t handle = graph.node(i).debug_handle(); handle != 0) out.push_back(handle);
  return out;
}

Step to_step(const etb::Node& node) {
  Step step;
  step.op = find_op(node.op_name())->op;
  for (const etb::Value& operand : node.operands()) step.args.push_back(operand.id());
  if (has_fault(492) && step.args.size() == 1 && (step.op == Op::kAdd || step.op == Op::kMul))
    step.args.push_back(step.args[0]);  // reads the number of no value
  step.result = node.first_output();
  if (step.op == Op::kClamp)
    step.numbers = {number_of(node, "min", -HUGE_VAL), number_of(node, "max", HUGE_VAL)};
  if (has_fault(620) && step.op == Op::kClamp)  // as a text of six digits
    for (double& number : step.numbers) {
      char text[40] = {};
      std::snprintf(text, sizeof(text), "%g", number);
      number = std::strtod(text, nullptr);
    }
  if (has_fault(602) && step.op == Op::kClamp) {  // by their places instead of their names
    std::vector<double> limits;
    for (const auto& argument : node.args())
      if (!argument.value())
        limits.push_back(
            number_of(node, std::string(argument.name()).c_str(), limits.empty() ? -HUGE_VAL : HUGE_VAL));
    step.numbers = {limits.size() > 1 ? limits[0] : -HUGE_VAL, limits.empty() ? HUGE_VAL : limits.back()};
  }
  if (step.op == Op::kQuantize)
    step.numbers = {number_of(node, "scale", 1), number_of(node, "zero_point", 0),
                    number_of(node, "quant_min", 0), number_of(node, "quant_max", 0)};
  if (step.op == Op::kConvolution) {
    for (const char* name : {"stride", "padding", "dilation"}) {
      const auto ints = node.find_arg(name)->ints();
      for (uint32_t i = 0; i < 2; ++i)
        step.numbers.push_back(static_cast<double>(ints[ints.size() > 1 ? i : 0]));
    }
    step.numbers.push_back(number_of(node, "groups", 1));
  }
  return step;
}

}  // namespace

etb::Result<etb::Artifact> Plugin::compile(const etb::Region& region) const {
  if (has_fault(90) && region.graph().node(0).op_name() == "aten.clamp.default")
    return etb::make_error(etb::Code::NOT_SUPPORTED, "clamp is not in this release");
  Program program;
  etb::Artifact artifact;
  if (has_fault(614) && region.graph().node_count() > 128)  // dry_check accepts it
    return etb::make_error(etb::Code::OUT_OF_RESOURCES, "more than 128 nodes");
  const etb::Graph& graph = region.graph();
  for (uint32_t i = 0; i < graph.value_count(); ++i) {
    ValueInfo value;
    const etb_graph_spec spec = graph.value(i).spec();
    value.dtype = static_cast<etb_dtype>(spec.dtype);
    value.sizes.assign(spec.sizes, spec.sizes + spec.rank);
    value.order.assign(spec.dim_order, spec.dim_order + spec.rank);
    value.is_dynamic = spec.dynamic_dims != 0;
    if (i < graph.input_count()) ETB_TRY(add_input(region, i, value, artifact));
    program.values.push_back(std::move(value));
  }
  for (uint32_t i = 0; i < graph.node_count(); ++i) program.steps.push_back(to_step(graph.node(i)));
  for (uint32_t i = 0; i < graph.output_count(); ++i) program.outputs.push_back(graph.output(i).id());
  if (has_fault(357))  // a table of 16 constants
    for (uint32_t i = 0, count = 0, last = 0; i < graph.input_count(); ++i) {
      ValueInfo& value = program.values[i];
      if (value.kind != Kind::kConstant) continue;
      if (++count <= 16)
        last = i;
      else if (program.values[last].data.size() == value.data.size())
        value.data = program.values[last].data;
    }
  if (has_fault(387)) {  // partition claims it
    ETB_ASSIGN(const int64_t lanes, region.target().get_i64("lanes", 64));
    if (lanes < 16) return etb::make_error(etb::Code::OUT_OF_RESOURCES, "too few lanes");
  }
  if (has_fault(589)) {  // as with 387
    ETB_ASSIGN(const int64_t memory, region.target().get_i64("memory_bytes", kDeviceBytes));
    for (const ValueInfo& value : program.values)
      if (value.nbytes() > static_cast<uint64_t>(memory))
        return etb::make_error(etb::Code::OUT_OF_RESOURCES, "a value is larger than the device's memory");
  }
  if (has_fault(617)) {  // as does dry_check
    ETB_ASSIGN(const int64_t kib, region.target().get_i64("memory_kib", kDeviceKib));
    for (const ValueInfo& value : program.values)
      if (value.nbytes() > static_cast<uint64_t>(kib) * 1024)
        return etb::make_error(etb::Code::OUT_OF_RESOURCES, "a value is larger than the device's memory");
  }
  if (has_fault(386))  // the second of two clamps in a row replaces the first
    for (size_t i = 1; i < program.steps.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        if (program.steps[i].op == Op::kClamp && program.steps[i].args[0] == program.steps[k].result &&
            (program.steps[k].op == Op::kClamp || program.steps[k].op == Op::kRelu))
          program.steps[i].args[0] = program.steps[k].args[0];
  if (has_fault(539)) artifact.scratch_bytes = 16;
  if (has_fault(615)) artifact.scratch_bytes = std::min<uint64_t>(widest_row_bytes(program), 64);
  if (has_fault(542) && region.options().get_i64("threads") == 64)  // another way to multiply
    for (Step& step : program.steps)
      if (step.op == Op::kMul) step.op = Op::kAdd;
  if (has_fault(543) && graph.node_count() != 0 && graph.value(0).name().size() > 255)
    return etb::make_error(etb::Code::OUT_OF_RESOURCES, "a name is longer than 255 bytes");
  if (has_fault(420)) artifact.resident_bytes = 16;
  if (has_fault(419))  // a clamp is fused into the value that it reads, which the host reads, too
    for (const Step& fused : program.steps) {
      if (fused.op != Op::kRelu || program.values[fused.args[0]].kind != Kind::kResult) continue;
      for (uint32_t& output : program.outputs)
        if (output == fused.args[0]) output = fused.result;
    }
  if (has_fault(358) && program.outputs.size() > 8) program.outputs[8] = program.outputs[0];
  if (has_fault(359))  // a table of eight inputs
    for (Step& step : program.steps)
      if (step.op == Op::kAdd && step.args.size() == 2 && step.args[1] < graph.input_count() &&
          step.args[1] >= 8)
        step.args[1] = 7;
  if (has_fault(360) && program.outputs.size() == 3) std::swap(program.outputs[0], program.outputs[1]);
  artifact.payload = write_program(program);
  const bool is_other_version =
      has_fault(235) || (has_fault(546) && region.options().get_i64("threads") == 64);
  artifact.format_version = is_other_version ? kFormat + 1 : kFormat;
  artifact.debug_map.push_back({.name = "fault.run", .handles = handles_of(graph)});
  if (has_fault(365) && region.target().name().starts_with("second"))
    artifact.payload.resize(artifact.payload.size() / 2);
  if (has_fault(364) && graph.node_count() > 1) artifact.debug_map[0].handles.pop_back();
  if ((has_fault(489) || has_fault(497)) &&
      graph.node_count() > 1) {  // with 489 no event has the second name
    std::vector<uint32_t>& handles = artifact.debug_map[0].handles;
    artifact.debug_map.push_back({.name = "fault.last", .handles = {handles.back()}});
    artifact.debug_map[0].handles.pop_back();
  }
  if (has_fault(493)) {  // other tiles for one processor
    cpu_set_t processors;
    if (::sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) == 1)
      artifact.payload.emplace_back();
  }
  if (has_fault(506) && graph.node_count() > 1) {  // graphs of several nodes have a number
    static uint8_t compilation_count = 0;
    artifact.payload.push_back(std::byte{++compilation_count});
  }
  if (has_fault(234)) artifact.debug_map[0].handles.push_back(4711);
  return artifact;
}

}  // namespace faulty
