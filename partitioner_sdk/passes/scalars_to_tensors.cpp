// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "ops/div.hpp"
#include "partitioner_sdk/passes/builder.hpp"

namespace etb::passes {

namespace {

using DivMode = ops::div_Tensor_mode<infer::Call>;

// Ops whose operands the official lowering casts to one dtype; kernels of the others accept mixed ones.
constexpr std::string_view kPromoted[] = {"aten.add.Tensor",      "aten.div.Tensor", "aten.div.Tensor_mode",
                                          "aten.minimum.default", "aten.mul.Tensor", "aten.sub.Tensor"};

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> out(sizeof(T));
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

// Converts a known number to a constant input, and a symbolic one to a tensor computed at run time, with the
// dtype that it is cast to anyway. A real number of an op on float64 keeps all of its digits; the official
// lowering rounds it to float32.
ValueId number_to_tensor(Builder& b, const Argument& number, std::optional<Dtype> common,
                         std::optional<Dtype> wanted) {
  if (const auto* ref = ir::get_if<ValueRef>(number)) {
    const bool is_flag = b.graph().values[ref->id].kind == ir::ValueKind::kBool;
    const Dtype real = wanted && ops::is_floating(*wanted) ? *wanted
                       : common == Dtype::FLOAT64          ? Dtype::FLOAT64
                                                           : Dtype::FLOAT32;
    return b.call("aten.scalar_tensor.default", {*ref}, {{"dtype", is_flag ? Dtype::BOOL : real}});
  }
  if (const bool* flag = ir::get_if<bool>(number)) return b.add_constant(Dtype::BOOL, {}, {std::byte{*flag}});
  if (const double* value = ir::get_if<double>(number)) {
    if (common == Dtype::FLOAT64) return b.add_constant(Dtype::FLOAT64, {}, bytes_of(*value));
    return b.add_constant(Dtype::FLOAT32, {}, bytes_of(static_cast<float>(*value)));
  }
  const Dim dim = *ir::get_if<Dim>(number);
  if (dim.is_static()) return b.add_constant(Dtype::INT64, {}, bytes_of(dim.value()));
  const Dtype dtype = wanted && ops::is_floating(*wanted) ? *wanted : Dtype::INT64;
  return b.call("aten.scalar_tensor.default", {dim}, {{"dtype", dtype}});
}

// True for a number that is known, and for one that a node computes at run time.
bool is_number(const ir::Graph& graph, const Argument& argument) {
  if (const auto* ref = ir::get_if<ValueRef>(argument))
    return graph.values[ref->id].kind != ir::ValueKind::kTensor;
  return ir::get_if<bool>(argument) || ir::get_if<double>(argument) || ir::get_if<Dim>(argument);
}

// Returns the dtype that the official lowering casts both operands to.
std::optional<Dtype> operand_dtype(const ir::Module& module, const ir::Node& node,
                                   std::optional<Dtype> common) {
  const std::string& name = module.op(node).name;
  if (!common || std::find(std::begin(kPromoted), std::end(kPromoted), name) == std::end(kPromoted))
    return std::nullopt;
  const bool gives_float =
      name == "aten.div.Tensor" ||
      (name == "aten.div.Tensor_mode" && node.args[DivMode::Index::rounding_mode] == Argument(Nothing{}));
  return gives_float && !ops::is_floating(*common) ? Dtype::FLOAT32 : *common;
}

bool convert_numbers(Builder& b, ir::Node& node, std::optional<Dtype> common, std::optional<Dtype> wanted) {
  const ops::Schema* schema = b.module().op(node).schema;
  if (schema == nullptr) return false;
  bool is_changed = false;
  for (uint32_t i = 0; i < schema->argument_count(); ++i) {
    const ops::Type type = schema->argument(i).type;
    if (type.base != ops::BaseType::kTensor || type.is_list || !is_number(b.graph(), node.args[i])) continue;
    node.args[i] = ValueRef{number_to_tensor(b, node.args[i], common, wanted)};
    is_changed = true;
  }
  return is_changed;
}

bool promote_operands(Builder& b, ir::Node& node, Dtype wanted) {
  bool is_changed = false;
  for (size_t i = 0; i < 2; ++i) {
    const ValueId operand = ir::get_if<ValueRef>(node.args[i])->id;
    if (b.spec(operand).dtype == wanted) continue;
    node.args[i] = ValueRef{b.call("aten._to_copy.default", {ValueRef{operand}}, {{"dtype", wanted}})};
    is_changed = true;
  }
  return is_changed;
}

Result<bool> run(ir::Module& module, ir::Graph& graph) {
  PlainBuilder b(module, graph);
  bool is_changed = false;
  for (ir::Node& node : b.take_old_nodes()) {
    b.set_origin(node);
    // Numbers count less than tensors in promotion, so the dtype is computed before they become tensors.
    std::optional<Dtype> common;
    if (node.args.size() >= 2) {
      infer::CallState state(module, graph, node.op, node.args);
      const std::array<infer::AnyArgument, 2> operands = {infer::AnyArgument(state, 0),
                                                          infer::AnyArgument(state, 1)};
      common = infer::promote_arguments(operands);
    }
    const std::optional<Dtype> wanted = operand_dtype(module, node, common);
    is_changed |= convert_numbers(b, node, common, wanted);
    if (wanted) is_changed |= promote_operands(b, node, *wanted);
    b.keep(std::move(node));
  }
  ETB_TRY(b.finish());
  return is_changed;
}

}  // namespace

Result<bool> scalars_to_tensors(ir::Module& module) {
  return run_on_graphs(module, [&](ir::Graph& graph) { return run(module, graph); });
}

}  // namespace etb::passes
