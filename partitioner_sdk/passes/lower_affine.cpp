// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <limits>

#include "ops/quantized_decomposed/dequantize_per_channel_group.hpp"
#include "ops/quantized_decomposed/quantize_per_channel_group.hpp"
#include "ops/torchao/choose_qparams_affine.hpp"
#include "ops/torchao/dequantize_affine.hpp"
#include "ops/torchao/quantize_affine.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

namespace qd = ops::quantized_decomposed;

// The tensor split into blocks: a dimension of several blocks becomes two, and scales have size 1 inside a
// block.
struct Blocks {
  Dims sizes;        // sizes of the split tensor
  Dims scale_sizes;  // the same with 1 inside blocks
  Dims inside;       // dimensions inside a block
};

// As torchao/quantization/quant_primitives.py, _get_reduction_params.
std::optional<Blocks> cut(const Call& a, const TensorSpec& in, const Dims& block) {
  Blocks out;
  if (block.size() != in.rank()) {
    a.fail(std::to_string(block.size()) + " block sizes for a tensor of rank " + std::to_string(in.rank()) +
           ", expected one per dimension");
    return std::nullopt;
  }
  ir::SymbolTable& symbols = a.symbols();
  for (size_t i = 0; i < block.size(); ++i) {
    const bool is_whole = block[i] == in.sizes[i], is_single = block[i].is(1);
    if (!is_whole && !is_single) {
      out.sizes.push_back(symbols.floor_div(in.sizes[i], block[i]));
      out.scale_sizes.push_back(out.sizes.back());
    }
    if (!is_single) out.inside.emplace_back(static_cast<int64_t>(out.sizes.size()));
    out.sizes.push_back(is_whole || is_single ? in.sizes[i] : block[i]);
    out.scale_sizes.push_back(is_single ? in.sizes[i] : Dim(1));
  }
  return out;
}

struct Limits {
  double low, high;
};
// The range of a quantised dtype, unless the arguments name another.
template <class A>
Limits limits_of(const A& a, Dtype dtype) {
  Limits limits{0, 255};
  if (dtype == Dtype::INT8) limits = {-128, 127};
  if (dtype == Dtype::INT16) limits = {-32768, 32767};
  if (a.quant_min().has_value()) limits.low = a.quant_min().number();
  if (a.quant_max().has_value()) limits.high = a.quant_max().number();
  return limits;
}

ValueId one(Builder& b, std::string_view op, ValueId x) { return b.call(op, {ValueRef{x}}); }
ValueId two(Builder& b, std::string_view op, ValueId x, Argument y) {
  return b.call(op, {ValueRef{x}, std::move(y)});
}
ValueId clamped(Builder& b, ValueId x, Limits limits) {
  return b.call("aten.clamp.default", {ValueRef{x}, limits.low, limits.high});
}

Values choose_qparams(Builder& b, const ops::torchao::choose_qparams_affine_default<Call>& a) {
  const TensorSpec in = a.input().spec();
  const auto* mapping = ir::get_if<std::string>(a.mapping_type());
  const auto blocks = cut(a, in, a.block_size().dims());
  if (mapping == nullptr || !blocks) return {};
  const Limits limits = limits_of(a, a.target_dtype().value_or(Dtype::INT8));
  const double eps = a.eps().has_value() ? a.eps().number() : double{std::numeric_limits<float>::epsilon()};
  const bool keeps_dims = a.keepdim();
  const ValueId x = b.call("aten.view.default", {a.input(), Argument(blocks->sizes)});
  const auto extreme = [&](const char* op) {
    return b.call(op, {ValueRef{x}, Argument(blocks->inside), keeps_dims});
  };
  const ValueId low =
      b.call("aten.clamp.default", {ValueRef{extreme("aten.amin.default")}, Nothing{}, Dim(0)});
  const ValueId high = b.call("aten.clamp.default", {ValueRef{extreme("aten.amax.default")}, Dim(0)});
  const Dtype zero_dtype = a.zero_point_dtype().value_or(Dtype::INT32);
  const auto at_least_eps = [&](ValueId scale) {
    const ValueId safe = b.call("aten.clamp.default", {ValueRef{scale}, eps});
    return to_dtype(b, safe, a.scale_dtype().value_or(in.dtype));
  };
  if (*mapping == "ASYMMETRIC") {
    const ValueId span = two(b, "aten.sub.Tensor", high, ValueRef{low});
    const ValueId scale = at_least_eps(two(b, "aten.div.Tensor", span, limits.high - limits.low));
    const ValueId steps = one(b, "aten.round.default", two(b, "aten.div.Tensor", low, ValueRef{scale}));
    const ValueId zero = clamped(b, b.call("aten.sub.Tensor", {limits.low, ValueRef{steps}}), limits);
    return {scale, to_dtype(b, zero, zero_dtype)};
  }
  if (*mapping == "SYMMETRIC") {
    const ValueId reach = two(b, "aten.maximum.default", high, ValueRef{one(b, "aten.neg.default", low)});
    const ValueId scale = at_least_eps(two(b, "aten.div.Tensor", reach, (limits.high - limits.low) / 2));
    const auto middle = static_cast<int64_t>((limits.high + limits.low + 1) / 2);
    return {scale, b.call("aten.full_like.default", {ValueRef{scale}, Dim(middle)}, {{"dtype", zero_dtype}})};
  }
  a.fail("mapping '" + *mapping + "' is not supported, expected ASYMMETRIC or SYMMETRIC");
  return {};
}

Values quantize(Builder& b, const ops::torchao::quantize_affine_default<Call>& a) {
  const TensorSpec in = a.input().spec();
  const auto blocks = cut(a, in, a.block_size().dims());
  const auto dtype = a.output_dtype().value();
  if (!blocks || !dtype) return {};
  const ValueId x = b.call("aten.view.default", {a.input(), Argument(blocks->sizes)});
  const ValueId scale = b.call("aten.view.default", {a.scale(), Argument(blocks->scale_sizes)});
  const ValueId inverse = one(b, "aten.reciprocal.default", scale);
  ValueId q = one(b, "aten.round.default", two(b, "aten.mul.Tensor", x, ValueRef{inverse}));
  if (a.zero_point().has_value()) {
    const ValueId zero = b.call("aten.view.default", {a.zero_point(), Argument(blocks->scale_sizes)});
    q = two(b, "aten.add.Tensor", q, ValueRef{to_dtype(b, zero, in.dtype)});
  }
  q = to_dtype(b, clamped(b, q, limits_of(a, *dtype)), *dtype);
  return {b.call("aten.view.default", {ValueRef{q}, Argument(in.sizes)})};
}

Values dequantize(Builder& b, const ops::torchao::dequantize_affine_default<Call>& a) {
  const TensorSpec in = a.input().spec();
  const auto blocks = cut(a, in, a.block_size().dims());
  if (!blocks) return {};
  const Dtype dtype = a.output_dtype().value_or(Dtype::FLOAT32);
  const ValueId q = b.call("aten.view.default", {a.input(), Argument(blocks->sizes)});
  const ValueId scale = b.call("aten.view.default", {a.scale(), Argument(blocks->scale_sizes)});
  ValueId x = to_dtype(b, q, dtype);
  if (a.zero_point().has_value()) {
    const ValueId zero = b.call("aten.view.default", {a.zero_point(), Argument(blocks->scale_sizes)});
    x = two(b, "aten.sub.Tensor", x, ValueRef{to_dtype(b, zero, dtype)});
  }
  x = two(b, "aten.mul.Tensor", x, ValueRef{to_dtype(b, scale, dtype)});
  return {b.call("aten.view.default", {ValueRef{x}, Argument(in.sizes)})};
}

// Splits a matrix into rows of one group each. The list is empty for groups that do not divide a row.
Dims groups_of(const Call& call, Builder& b, const TensorSpec& in, const infer::IntArgument& group_size) {
  int64_t size = group_size.integer();
  if (in.rank() == 2 && in.sizes[1].is_static() && size > in.sizes[1].value()) size = in.sizes[1].value();
  if (in.rank() != 2 || size < 1 || !in.sizes[1].is_static() || in.sizes[1].value() % size != 0) {
    call.fail("groups of " + std::to_string(size) + " in a tensor of rank " + std::to_string(in.rank()) +
              ", expected a matrix whose rows they divide");
    return {};
  }
  return {b.symbols().mul(in.sizes[0], in.sizes[1].value() / size), Dim(size)};
}

Values quantize_groups(Builder& b, const qd::quantize_per_channel_group_default<Call>& a) {
  const TensorSpec in = a.input().spec();
  const Dims groups = groups_of(a, b, in, a.group_size());
  const auto dtype = a.dtype().value();
  if (groups.empty() || !dtype) return {};
  const Dims column = {groups[0], Dim(1)};
  const ValueId x = b.call("aten.view.default", {a.input(), Argument(groups)});
  const ValueId scale = reshape(b, a.scales(), column), zero = reshape(b, a.zero_points(), column);
  ValueId q = two(b, "aten.mul.Tensor", x, ValueRef{one(b, "aten.reciprocal.default", scale)});
  q = one(b, "aten.round.default", two(b, "aten.add.Tensor", q, ValueRef{zero}));
  const Limits limits{static_cast<double>(a.quant_min().integer()),
                      static_cast<double>(a.quant_max().integer())};
  q = to_dtype(b, clamped(b, q, limits), *dtype);
  return {b.call("aten.view.default", {ValueRef{q}, Argument(in.sizes)})};
}

Values dequantize_groups(Builder& b, const qd::dequantize_per_channel_group_default<Call>& a) {
  const TensorSpec in = a.input().spec();
  const Dims groups = groups_of(a, b, in, a.group_size());
  if (groups.empty()) return {};
  const Dims column = {groups[0], Dim(1)};
  const ValueId scale = reshape(b, a.scales(), column);
  ValueId x = to_dtype(b, b.call("aten.view.default", {a.input(), Argument(groups)}), b.spec(scale).dtype);
  if (a.zero_points().has_value()) {
    const ValueId zero = reshape(b, ir::get_if<ValueRef>(a.zero_points().get())->id, column);
    x = two(b, "aten.sub.Tensor", x, ValueRef{to_dtype(b, zero, b.spec(scale).dtype)});
  }
  x = two(b, "aten.mul.Tensor", x, ValueRef{scale});
  x = b.call("aten.view.default", {ValueRef{x}, Argument(in.sizes)});
  return {to_dtype(b, x, a.output_dtype().value_or(Dtype::FLOAT32))};
}

constexpr Decomposition kRows[] = {
    row<qd::dequantize_per_channel_group_default, dequantize_groups>(),
    row<qd::quantize_per_channel_group_default, quantize_groups>(),
    row<ops::torchao::choose_qparams_affine_default, choose_qparams>(),
    row<ops::torchao::dequantize_affine_default, dequantize>(),
    row<ops::torchao::quantize_affine_default, quantize>(),
};

const Decomposition* find_row(std::string_view op) {
  for (const Decomposition& row : kRows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

Result<bool> lower(ir::Module& module, ir::Graph& graph) {
  PlainBuilder b(module, graph);
  bool is_changed = false;
  for (ir::Node& node : b.take_old_nodes()) {
    b.set_origin(node);
    b.substitute(node);
    const Decomposition* row = find_row(module.op(node).name);
    if (row == nullptr) {
      b.keep(std::move(node));
      continue;
    }
    infer::CallState state(module, graph, node.op, node.args);
    const Values results = row->expand(b, Call(state));
    if (!state.error.empty()) b.fail(Code::NOT_SUPPORTED, std::string(row->op) + ": " + state.error);
    for (size_t i = 0; i < results.size() && i < node.outputs.size(); ++i)
      b.replace(node.outputs[i], results[i]);
    is_changed = true;
  }
  ETB_TRY(b.finish());
  return is_changed;
}

}  // namespace

Result<bool> lower_affine(ir::Module& module) {
  bool is_changed = false;
  for (ir::Graph& graph : module.graphs) {
    ETB_ASSIGN(const bool here, lower(module, graph));
    is_changed |= here;
  }
  if (!is_changed) return false;
  // The new nodes are ATen's; converts them to the edge dialect.
  ETB_TRY(views_to_copies(module));
  ETB_TRY(scalars_to_tensors(module));
  ETB_TRY(use_dim_order_ops(module));
  return true;
}

}  // namespace etb::passes
