// SPDX-License-Identifier: Apache-2.0
// Expansion to larger sizes: a view where no element repeats, else an addition of zeros.
#include "ops/expand_copy.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_expand(LoweringContext& context, ops::expand_copy_default<NodeArguments> args) {
  constexpr int64_t kMaxNumel = 1 << 18;  // elements of the zeros that the payload stores
  ETB_ASSIGN(const uint32_t self, args.self().id());
  const Extents to = context.graph().extents(context.result());
  Extents wide = context.graph().extents(self);
  if (wide == to) return define_alias(context, self);
  if (to.sizes.size() < wide.sizes.size()) return reject("rank", "result of a lower rank");
  const size_t missing = to.sizes.size() - wide.sizes.size();
  wide.widen(missing);
  ETB_ASSIGN(const LoweredValue in, view_of(context, self, wide));
  if (in.perm.size() == to.sizes.size() && wide == to) {
    context.define(context.result(), in);
    return {};
  }
  if (to.dynamic_dims != 0 || wide.dynamic_dims != 0)
    return reject("dynamic", "dynamic sizes, expected static ones");
  const std::vector<int64_t> sizes = context.graph().sizes(context.result());
  ETB_ASSIGN(const uint32_t narrow, context.natural(self));
  if (const ConstantPtr& constant = context.builder().constant(narrow)) {
    context.define(
        context.result(),
        {context.builder().add_constant(expanded(constant, sizes), context.builder().value(narrow).datatype),
         identity(sizes.size())});
    return {};
  }
  if (numel_of(sizes) > kMaxNumel)
    return reject("attribute", "size: ", numel_of(sizes), " elements, expected at most ", kMaxNumel);
  // -0: a sum with 0 would make 0 of -0.
  const uint32_t zeros = context.builder().add_floats(
      sizes, std::vector<float>(static_cast<size_t>(numel_of(sizes)), -0.0f), narrow);
  ETB_ASSIGN(const uint32_t out, context.add_result());
  context.builder().add_node(XnnOperator::kAdd, {narrow, zeros}, {out});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::expand_copy_default, lower_expand>(
        {.constraint = "Static sizes and at most 262,144 elements, unless the sizes stay.",
         .traits = kFolds}),
};

}  // namespace

extern const OpList expand_ops = kRows;

}  // namespace etb::xnnpack
