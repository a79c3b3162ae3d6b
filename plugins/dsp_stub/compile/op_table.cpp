// SPDX-License-Identifier: Apache-2.0
#include "plugins/dsp_stub/compile/op_table.hpp"

#include <vector>

namespace etb::dsp_stub {

namespace {

template <class Op>
const Op* find_in(std::span<const Op> ops, std::string_view name) {
  for (const Op& op : ops)
    if (name == op.name) return &op;
  return nullptr;
}

constexpr etb_dtype kCodes[] = {ETB_DTYPE_INT8, ETB_DTYPE_INT16, ETB_DTYPE_INT32};
constexpr etb_dtype kWeightCodes[] = {ETB_DTYPE_INT8, ETB_DTYPE_INT16, ETB_DTYPE_INT32};
constexpr const char* kPerTensor[] = {"per-tensor"};
constexpr const char* kPerChannel[] = {"per-channel"};
// One scale for each channel: of the weight only.
constexpr const char* kOfWeights[] = {"per-tensor", "per-channel"};
constexpr const char* kWhole = "Only in a whole pattern from dequantize to quantize.";

std::vector<OpRow> make_rows() {
  std::vector<OpRow> rows = {
      {.op = "quantized_decomposed.quantize_per_tensor.default",
       .constraint = "The end of a whole pattern, to int8, or to int16 with zero point 0.",
       .quant_schemes = kPerTensor},
      {.op = "quantized_decomposed.dequantize_per_tensor.default",
       .dtypes = kCodes,
       .constraint = "The begin of whole patterns: all readers are claimed; int16 with zero point 0; int32 "
                     "only for a bias.",
       .quant_schemes = kPerTensor},
      {.op = kDequantizePerChannel,
       .dtypes = kWeightCodes,
       .constraint = "Of a constant weight or bias.",
       .quant_schemes = kPerChannel}};
  const auto add = [&](const char* op, const char* constraint,
                       std::span<const char* const> schemes = kPerTensor) {
    rows.push_back(
        {.op = op, .constraint = *constraint != '\0' ? constraint : kWhole, .quant_schemes = schemes});
  };
  for (const CoreOp& op : weight_ops()) add(op.name, op.constraint, kOfWeights);
  for (const auto& ops : {pool_ops(), elementwise_ops()})
    for (const CoreOp& op : ops) add(op.name, op.constraint);
  for (const UnaryOp& op : unary_ops()) add(op.name, "");
  for (const MoveOp& op : move_ops())
    add(op.name, op.constraint, op.moves_weights ? std::span<const char* const>(kOfWeights) : kPerTensor);
  return rows;
}

}  // namespace

const CoreOp* find_core(std::string_view op) {
  for (const auto& ops : {weight_ops(), pool_ops(), elementwise_ops()})
    if (const CoreOp* found = find_in(ops, op)) return found;
  return nullptr;
}
const UnaryOp* find_unary(std::string_view op) { return find_in(unary_ops(), op); }
const MoveOp* find_move(std::string_view op) { return find_in(move_ops(), op); }

Role role_of(std::string_view op) {
  if (find_core(op) != nullptr) return Role::kCore;
  if (find_unary(op) != nullptr) return Role::kUnary;
  return find_move(op) != nullptr ? Role::kMove : Role::kNone;
}
bool is_clamp(std::string_view op) {
  const UnaryOp* found = find_unary(op);
  return found != nullptr && found->is_clamp;
}

std::span<const OpRow> op_rows() {
  static const std::vector<OpRow> rows = make_rows();
  return rows;
}

std::span<const char* const> preserved_ops() {
  static constexpr const char* kOps[] = {"aten.linear.default",
                                         "aten.hardswish.default",
                                         "aten.hardsigmoid.default",
                                         "aten.silu.default",
                                         "aten._adaptive_avg_pool2d.default",
                                         "aten.adaptive_avg_pool2d.default",
                                         "aten.upsample_nearest2d.vec",
                                         "aten.leaky_relu.default"};
  return kOps;
}

}  // namespace etb::dsp_stub
