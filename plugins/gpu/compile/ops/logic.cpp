// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic, choices by a condition, and conversions between float32, float16 and bool. Bools are 0 and 1 on the device.
#include <limits>

#include "plugins/gpu/compile/element_nodes.hpp"
#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// ---- Comparisons, by the three that have kernels

struct Comparison {
  BinaryFunction function;
  bool swaps = false, negates = false;
};
constexpr Comparison kEq{BinaryFunction::kEqual}, kNe{BinaryFunction::kEqual, false, true},
    kLt{BinaryFunction::kLess}, kLe{BinaryFunction::kLessEqual}, kGt{BinaryFunction::kLess, true},
    kGe{BinaryFunction::kLessEqual, true};

template <const Comparison& how>
Status lower_comparison(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  ETB_ASSIGN(const uint32_t other, context.operand_or_number("other"));
  GpuNode node = how.swaps ? binary_node(how.function, other, self) : binary_node(how.function, self, other);
  if (how.negates) node = negation_node(context, context.add_node(std::move(node)));
  return context.add_result_node(std::move(node));
}

Status lower_is_nan(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  return context.add_result_node(
      negation_node(context, context.add_node(binary_node(BinaryFunction::kEqual, self, self))));
}

Status lower_is_infinite(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  const uint32_t size = context.add_node(unary_node(UnaryFunction::kAbs, self));
  return context.add_result_node(
      binary_node(BinaryFunction::kEqual, size, context.add_floats({kInfinity}, true)));
}

// ---- Logic

Status lower_not(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.moved_operand("self"));
  return context.add_result_node(negation_node(context, self));
}

template <BinaryFunction function>
Status lower_logic(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.bool_operand("self"));
  ETB_ASSIGN(const uint32_t other, context.bool_operand("other"));
  return context.add_result_node(binary_node(function, self, other));
}

Status lower_exclusive_or(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.bool_operand("self"));
  ETB_ASSIGN(const uint32_t other, context.bool_operand("other"));
  return context.add_result_node(
      negation_node(context, context.add_node(binary_node(BinaryFunction::kEqual, self, other))));
}

// ---- Choices

// An operand, and the image's value if it is one.
struct Part {
  uint32_t id;
  std::optional<uint32_t> value;
};

// Finds an operand that has dimension `d` of the result by the same formula. Returns the payload's integer for it.
std::optional<int32_t> find_size(const LoweringContext& context, const std::vector<Part>& parts, uint32_t d,
                                 GpuNode& node) {
  const etb_graph_spec to = context.spec(context.result());
  for (const Part& part : parts) {
    if (!part.value) continue;
    const etb_graph_spec from = context.spec(*part.value);
    const uint32_t missing = to.rank - from.rank;
    if (d < missing || (from.dynamic_dims >> (d - missing) & 1) == 0 ||
        from.exprs[d - missing] != to.exprs[d])
      continue;
    const auto at = static_cast<int32_t>(node.inputs.size() * kMaxRank + (d - missing));
    node.inputs.push_back(part.id);
    return kCopiedSize - at;
  }
  return std::nullopt;
}

bool has_result_sizes(const LoweringContext& context, uint32_t value) {
  const etb_graph_spec from = context.spec(value), to = context.spec(context.result());
  if (from.rank != to.rank || from.dynamic_dims != to.dynamic_dims) return false;
  for (uint32_t d = 0; d < to.rank; ++d) {
    const bool is_dynamic = (to.dynamic_dims >> d & 1) != 0;
    if (is_dynamic ? from.exprs[d] != to.exprs[d] : from.sizes[d] != to.sizes[d]) return false;
  }
  return true;
}

// Returns one of the operands with the sizes of the result.
Result<uint32_t> expanded(LoweringContext& context, const std::vector<Part>& parts, const Part& part) {
  if (part.value && has_result_sizes(context, *part.value)) return part.id;
  const etb_graph_spec to = context.spec(context.result());
  GpuNode node{Operator::kExpand, {part.id}};
  for (uint32_t d = 0; d < to.rank; ++d) {
    if ((to.dynamic_dims >> d & 1) == 0) {
      node.ints.push_back(to_int32(to.sizes[d]));
      continue;
    }
    const std::optional<int32_t> size = find_size(context, parts, d, node);
    if (!size) return reject("dynamic", "a dynamic size that is no operand's");
    node.ints.push_back(*size);
  }
  return context.add_node(std::move(node));
}

Result<Part> choice(LoweringContext& context, const char* name) {
  const bool is_bool = context.spec(context.result()).dtype == ETB_DTYPE_BOOL;
  const auto found = context.args().find(name);
  std::optional<uint32_t> value = found ? found->value() : std::nullopt;
  if (is_bool) {
    ETB_ASSIGN(const uint32_t id, context.bool_operand(name));
    return Part{id, value};
  }
  // masked_fill has its number as a tensor of rank 0. As a number it can be part of attention.
  if (value && context.is_constant(*value) && context.spec(*value).rank == 0 &&
      context.spec(*value).dtype == ETB_DTYPE_FLOAT32) {
    ETB_ASSIGN(std::vector<float> number, context.read_floats(*value));
    return Part{context.add_floats(std::move(number), true), std::nullopt};
  }
  ETB_ASSIGN(const uint32_t id, context.operand_or_number(name));
  const GpuValue& made = context.graph().value(id);
  if (made.role == ValueRole::kInline && made.shape.rank == 0) value.reset();  // a number
  return Part{id, value};
}

Status lower_where(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t condition_value, context.args().tensor("condition"));
  ETB_ASSIGN(const uint32_t condition, context.bool_operand("condition"));
  ETB_ASSIGN(const Part self, choice(context, "self"));
  ETB_ASSIGN(const Part other, choice(context, "other"));
  const std::vector<Part> parts = {{condition, condition_value}, self, other};
  GpuNode node{Operator::kWhere, {}};
  for (const Part& part : parts) {
    ETB_ASSIGN(const uint32_t id, expanded(context, parts, part));
    node.inputs.push_back(id);
  }
  return context.add_result_node(std::move(node));
}

// A number, in the sizes of a tensor of which nothing else is read.
Status lower_full_like(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.moved_operand(value));
  ETB_ASSIGN(const double number, context.args().number("fill_value", 0));
  const bool is_bool = context.spec(context.result()).dtype == ETB_DTYPE_BOOL;
  const float filled = is_bool ? (number != 0 ? 1.0f : 0.0f) : static_cast<float>(number);
  GpuNode node{Operator::kExpand, {context.add_floats({filled}, true), self}};
  for (uint32_t d = 0; d < context.spec(context.result()).rank; ++d)
    node.ints.push_back(kCopiedSize - static_cast<int32_t>(kMaxRank + d));
  return context.add_result_node(std::move(node));
}

// ---- Conversions

Status lower_conversion(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.moved_operand(value));
  const uint32_t from = context.spec(value).dtype, to = context.spec(context.result()).dtype;
  const bool is_float = to == ETB_DTYPE_FLOAT32 || to == ETB_DTYPE_FLOAT16;
  if (from != ETB_DTYPE_BOOL && to == ETB_DTYPE_BOOL)
    return context.add_result_node(truth_node(context, self));
  if (from == ETB_DTYPE_BOOL && is_float) {  // a view: the numbers are floats on the device
    GpuNode view{Operator::kReshape, {self}};
    for (uint32_t d = 0; d < context.spec(value).rank; ++d)
      view.ints.push_back(kCopiedSize - static_cast<int32_t>(d));
    return context.add_result_node(std::move(view));
  }
  // float16 inside of a region has more digits, which a conversion ends.
  const bool is_exact = from == ETB_DTYPE_FLOAT16 && context.graph().value(self).role != ValueRole::kResult;
  if (from != to && is_float && !is_exact)
    return context.add_result_node(unary_node(UnaryFunction::kRoundHalf, self));
  if (from != to && !is_float)
    return reject("dtype", std::string("a conversion to ") + dtype_text(static_cast<etb_dtype>(to)));
  context.define(0, self);
  return {};
}

constexpr Op kRows[] = {
    {"aten.eq.Tensor", lower_comparison<kEq>},
    {"aten.ne.Tensor", lower_comparison<kNe>},
    {"aten.lt.Tensor", lower_comparison<kLt>},
    {"aten.le.Tensor", lower_comparison<kLe>},
    {"aten.gt.Tensor", lower_comparison<kGt>},
    {"aten.ge.Tensor", lower_comparison<kGe>},
    {"aten.eq.Scalar", lower_comparison<kEq>},
    {"aten.ne.Scalar", lower_comparison<kNe>},
    {"aten.lt.Scalar", lower_comparison<kLt>},
    {"aten.le.Scalar", lower_comparison<kLe>},
    {"aten.gt.Scalar", lower_comparison<kGt>},
    {"aten.ge.Scalar", lower_comparison<kGe>},
    {"aten.isnan.default", lower_is_nan},
    {"aten.isinf.default", lower_is_infinite},
    {.name = "aten.logical_not.default", .lower = lower_not, .dtypes = kFloatOrBool},
    {.name = "aten.bitwise_not.default", .lower = lower_not, .dtypes = kBoolOnly},
    {.name = "aten.logical_and.default", .lower = lower_logic<BinaryFunction::kMul>, .dtypes = kBoolOnly},
    {.name = "aten.bitwise_and.Tensor", .lower = lower_logic<BinaryFunction::kMul>, .dtypes = kBoolOnly},
    {.name = "aten.logical_or.default", .lower = lower_logic<BinaryFunction::kMaximum>, .dtypes = kBoolOnly},
    {.name = "aten.bitwise_or.Tensor", .lower = lower_logic<BinaryFunction::kMaximum>, .dtypes = kBoolOnly},
    {.name = "aten.logical_xor.default", .lower = lower_exclusive_or, .dtypes = kBoolOnly},
    {.name = "aten.bitwise_xor.Tensor", .lower = lower_exclusive_or, .dtypes = kBoolOnly},
    {.name = "aten.where.self",
     .lower = lower_where,
     .constraint = "The condition is bool; self and other are floats or bools.",
     .dtypes = kBoolOnly},
    {.name = "aten.full_like.default", .lower = lower_full_like, .dtypes = kFloatOrBool},
    {.name = "dim_order_ops._to_dim_order_copy.default",
     .lower = lower_conversion,
     .constraint = "The result is row-major float32, float16 or bool.",
     .dtypes = kFloatOrBool},
};

}  // namespace

extern const OpList logic_ops = kRows;

}  // namespace etb::gpu
