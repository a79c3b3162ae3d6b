// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

uint32_t add_unary(XnnGraphBuilder& builder, XnnOperator op, uint32_t input) {
  const uint32_t out = builder.add_like(input, builder.extents(input));
  builder.add_node(op, {input}, {out});
  return out;
}

uint32_t add_widened(XnnGraphBuilder& builder, uint32_t input) {
  if (builder.value(input).datatype != XnnDatatype::kFloat16) return input;
  const uint32_t wide = builder.add_value(XnnDatatype::kFloat32, builder.extents(input));
  builder.add_node(XnnOperator::kConvert, {input}, {wide});
  return wide;
}

uint32_t add_binary(XnnGraphBuilder& builder, XnnOperator op, uint32_t left, uint32_t right,
                    Extents extents) {
  const uint32_t out = builder.add_like(left, std::move(extents));
  builder.add_node(op, {left, right}, {out});
  return out;
}

uint32_t add_multiple(XnnGraphBuilder& builder, uint32_t input, double factor) {
  constexpr double kStep = 32768;  // the largest power of two in float16
  const auto multiply = [&](double number) {
    const uint32_t constant = builder.add_floats({1}, {static_cast<float>(number)}, input);
    input = add_binary(builder, XnnOperator::kMultiply, input, constant, builder.extents(input));
  };
  for (; builder.dtype(input) == ETB_DTYPE_FLOAT16 && factor > kStep; factor /= kStep) multiply(kStep);
  multiply(factor);
  return input;
}

uint32_t add_mean(XnnGraphBuilder& builder, uint32_t input) {
  Extents extents = builder.extents(input);
  extents.sizes[1] = extents.sizes[2] = 1;
  extents.dynamic_dims &= ~6u;
  const uint32_t out = builder.add_like(input, std::move(extents));
  builder.add_node(XnnOperator::kGlobalAveragePooling2d, {input}, {out}).flags = kFlagKeepDims;
  return out;
}

uint32_t add_slice(XnnGraphBuilder& builder, uint32_t id, uint32_t axis, uint32_t from, uint32_t count) {
  Extents extents = builder.extents(id);
  std::vector<uint32_t> offsets(extents.sizes.size(), 0);
  offsets[axis] = from;
  extents.sizes[axis] = count;
  std::vector<uint32_t> sizes = extents.sizes;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (extents.is_dynamic(d)) sizes[d] = 0;  // 0: to the end
  const uint32_t out = builder.add_like(id, std::move(extents));
  XnnNode& node = builder.add_node(XnnOperator::kStaticSlice, {id}, {out});
  node.first = std::move(offsets);
  node.second = std::move(sizes);
  return out;
}

Result<Matrix> right_factor(LoweringContext& context, uint32_t value) {
  ETB_ASSIGN(const LoweredValue factor, context.lowered(value));
  if (factor.perm.size() < 2) return reject("rank", "a factor of rank ", factor.perm.size());
  Permutation swapped = identity(factor.perm.size());
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  if (factor.perm == swapped) return Matrix{factor.id, true};
  ETB_ASSIGN(const uint32_t id, context.natural(value));
  return Matrix{id, false};
}

Status check_only_first_result_is_read(const LoweringContext& context, const char* what) {
  for (uint32_t i = 1; i < context.result_count(); ++i) {
    if (context.graph().use_count(context.result(i)) != 0)
      return reject("attribute", what, " that a node reads");
  }
  return {};
}

}  // namespace etb::xnnpack
