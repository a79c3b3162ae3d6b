// SPDX-License-Identifier: Apache-2.0
// Ops that move elements: permutations, parts, repetitions, concatenation, padding.
#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

Status lower_permute(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.moved_operand(value));
  ETB_ASSIGN(const std::vector<int64_t> dims, context.args().integers("dims"));
  const int64_t rank = context.spec(value).rank;
  GpuNode node{Operator::kPermute, {self}};
  for (const int64_t dim : dims) node.ints.push_back(to_int32(dim < 0 ? dim + rank : dim));
  return context.add_result_node(std::move(node));
}

Status lower_expand(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.moved_operand(value));
  const etb_graph_spec from = context.spec(value), to = context.spec(context.result());
  if (to.rank < from.rank || to.rank > kMaxRank)
    return reject("rank", "result of rank " + std::to_string(to.rank));
  GpuNode node{Operator::kExpand, {self}};
  for (uint32_t d = 0; d < to.rank; ++d) {
    const uint32_t missing = to.rank - from.rank;
    const bool is_dynamic = (to.dynamic_dims >> d & 1) != 0;
    const bool has_own = d >= missing && (from.dynamic_dims >> (d - missing) & 1) != 0;
    if (is_dynamic && !(has_own && from.exprs[d - missing] == to.exprs[d]))
      return reject("dynamic", "a dynamic size that is not the operand's");
    node.ints.push_back(is_dynamic ? -1 : to_int32(to.sizes[d]));
  }
  return context.add_result_node(std::move(node));
}

Status add_slice(LoweringContext& context, uint32_t self, uint32_t dim, int64_t start, int64_t end,
                 int64_t step, uint32_t index) {
  return context.add_result_node(
      {Operator::kSlice,
       {self},
       kNoValue,
       {static_cast<int32_t>(dim), to_int32(start), to_int32(end), to_int32(step)}},
      index);
}

Status lower_slice(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.moved_operand(value));
  ETB_ASSIGN(const uint32_t dim, context.args().dim("dim", 0, context.spec(value).rank));
  ETB_ASSIGN(const int64_t start, context.args().integer("start", 0));
  ETB_ASSIGN(const int64_t end, context.args().integer("end", INT64_MAX));
  ETB_ASSIGN(const int64_t step, context.args().integer("step", 1));
  return add_slice(context, self, dim, start, end, step, 0);
}

Status lower_select(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.moved_operand(value));
  const etb_graph_spec spec = context.spec(value);
  ETB_ASSIGN(const uint32_t dim, context.args().dim("dim", 0, spec.rank));
  ETB_ASSIGN(const int64_t index, context.args().integer("index", 0));
  if (index < -spec.min_sizes[dim] || index >= spec.min_sizes[dim])
    return reject(context.is_dynamic(value, dim) ? "dynamic" : "attribute",
                  "index: " + std::to_string(index));
  return context.add_result_node(
      {Operator::kSelect, {self}, kNoValue, {static_cast<int32_t>(dim), to_int32(index)}});
}

Status lower_split(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.moved_operand(value));
  ETB_ASSIGN(const uint32_t dim, context.args().dim("dim", 0, context.spec(value).rank));
  if (context.is_dynamic(value, dim)) return reject("dynamic", "a dynamic dimension, expected a static one");
  ETB_ASSIGN(const std::vector<int64_t> sizes, context.args().integers("split_sizes"));
  if (sizes.size() != context.result_count()) return reject("attribute", "split_sizes");
  int64_t start = 0;
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    ETB_TRY(add_slice(context, self, dim, start, start + sizes[i], 1, i));
    start += sizes[i];
  }
  return {};
}

Status lower_cat(LoweringContext& context) {
  constexpr size_t kMost = 64;
  ETB_ASSIGN(const std::vector<uint32_t> values, context.args().tensors("tensors"));
  if (values.size() > kMost)
    return reject("attribute",
                  std::to_string(values.size()) + " tensors, expected at most " + std::to_string(kMost));
  const uint32_t rank = context.spec(context.result()).rank;
  ETB_ASSIGN(const uint32_t dim, context.args().dim("dim", 0, rank));
  GpuNode node{Operator::kCat, {}, kNoValue, {static_cast<int32_t>(dim)}};
  for (const uint32_t value : values) {
    if (context.spec(value).rank != rank) return reject("rank", "an operand of another rank");
    ETB_ASSIGN(const uint32_t id, context.moved_operand(value));
    node.inputs.push_back(id);
  }
  return context.add_result_node(std::move(node));
}

Status lower_pad(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  ETB_ASSIGN(const std::vector<int64_t> pad, context.args().integers("pad"));
  ETB_ASSIGN(const double number, context.args().number("value", 0));
  if (pad.empty()) return reject("attribute", "pad: nothing to pad");
  GpuNode node{Operator::kPad, {self}, kNoValue, {}, {static_cast<float>(number)}};
  for (const int64_t each : pad) node.ints.push_back(to_int32(each));
  return context.add_result_node(std::move(node));
}

Status lower_flip(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.moved_operand(value));
  ETB_ASSIGN(const std::vector<int64_t> dims, context.args().integers("dims"));
  const int64_t rank = context.spec(value).rank;
  uint32_t mask = 0;
  for (const int64_t dim : dims) {
    const int64_t counted = dim < 0 ? dim + rank : dim;
    if (counted < 0 || counted >= rank) return reject("attribute", "dims: " + std::to_string(dim));
    mask |= 1u << counted;
  }
  return context.add_result_node({Operator::kFlip, {self}, kNoValue, {static_cast<int32_t>(mask)}});
}

// Returns the two parts of a dimension in exchanged order.
uint32_t add_rolled(LoweringContext& context, uint32_t x, uint32_t dim, int64_t size, int64_t shift) {
  const auto at = [&](int64_t start, int64_t end) {
    return context.add_node(
        {Operator::kSlice, {x}, kNoValue, {static_cast<int32_t>(dim), to_int32(start), to_int32(end), 1}});
  };
  const uint32_t last = at(size - shift, size), first = at(0, size - shift);
  return context.add_node({Operator::kCat, {last, first}, kNoValue, {static_cast<int32_t>(dim)}});
}

Status lower_roll(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(uint32_t x, context.moved_operand(value));
  ETB_ASSIGN(const std::vector<int64_t> shifts, context.args().integers("shifts"));
  ETB_ASSIGN(std::vector<int64_t> dims, context.args().integers("dims"));
  const etb_graph_spec spec = context.spec(value);
  if (dims.empty() && spec.rank == 1) dims = {0};
  if (dims.size() != shifts.size()) return reject("attribute", "dims: expected one for each shift");
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = dims[i] < 0 ? dims[i] + spec.rank : dims[i];
    if (dim < 0 || dim >= spec.rank) return reject("attribute", "dims: " + std::to_string(dims[i]));
    const auto d = static_cast<uint32_t>(dim);
    if (context.is_dynamic(value, d)) return reject("dynamic", "a dynamic dimension, expected a static one");
    const int64_t size = spec.sizes[d], shift = size == 0 ? 0 : ((shifts[i] % size) + size) % size;
    if (shift != 0) x = add_rolled(context, x, d, size, shift);
  }
  context.define(0, x);
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.permute_copy.default", .lower = lower_permute, .dtypes = kFloatOrBool},
    {"aten.expand_copy.default", lower_expand, 0, kMaxRank, "Dynamic sizes are the operand's.", false,
     kFloatOrBool},
    {"aten.slice_copy.Tensor", lower_slice, 1, kMaxRank, "Start and end are no run-time values.", false,
     kFloatOrBool},
    {"aten.select_copy.int", lower_select, 0, kMaxRank, "The element exists for every size.", false,
     kFloatOrBool},
    {"aten.split_with_sizes_copy.default", lower_split, 1, kMaxRank, "The dimension is static.", false,
     kFloatOrBool},
    {"aten.cat.default", lower_cat, 0, kMaxRank, "At most 64 operands of one rank.", false, kFloatOrBool},
    {"aten.roll.default", lower_roll, 0, kMaxRank, "The dimensions are named and static.", false,
     kFloatOrBool},
    {.name = "aten.flip.default", .lower = lower_flip, .dtypes = kFloatOrBool},
    {"aten.constant_pad_nd.default", lower_pad, 1, kMaxRank},
};

}  // namespace

extern const OpList movement_ops = kRows;

}  // namespace etb::gpu
