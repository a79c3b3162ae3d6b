// SPDX-License-Identifier: Apache-2.0
// Expansion to larger sizes: a view where no element repeats, else an addition of zeros.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_expand(Lowering& l) {
  constexpr int64_t kMaxNumel = 1 << 18;  // elements of the zeros that the payload stores
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  const Draft::Extents to = l.extents(l.result());
  if (l.sizes(self) == l.sizes(l.result())) return lower_alias(l);
  Draft::Extents wide = l.extents(self);
  if (to.sizes.size() < wide.sizes.size()) return Lowering::refuse("rank", "result of a lower rank");
  const size_t missing = to.sizes.size() - wide.sizes.size();
  wide.sizes.insert(wide.sizes.begin(), missing, 1);
  wide.dynamic_dims <<= missing;
  ETB_ASSIGN(const Form in, view_of(l, self, wide));
  if (in.perm.size() == to.sizes.size() && wide.sizes == to.sizes) {
    l.define(l.result(), in);
    return {};
  }
  if (to.dynamic_dims != 0) return Lowering::refuse("dynamic", "dynamic sizes, expected static ones");
  const std::vector<int64_t> sizes = l.sizes(l.result());
  ETB_ASSIGN(const uint32_t narrow, l.natural(self));
  if (const ConstantPtr& constant = l.draft().constant(narrow)) {
    l.define(l.result(), {l.draft().add_constant(expanded(constant, sizes), l.draft().value(narrow).datatype),
                          identity(sizes.size())});
    return {};
  }
  if (numel_of(sizes) > kMaxNumel)
    return Lowering::refuse("attribute", "size: ", numel_of(sizes), " elements, expected at most ",
                            kMaxNumel);
  const uint32_t zeros =
      l.add_floats(sizes, std::vector<float>(static_cast<size_t>(numel_of(sizes)), 0), narrow);
  ETB_ASSIGN(const uint32_t out, l.add_result());
  l.draft().add_node(XnnOperator::kAdd, {narrow, zeros}, {out});
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.expand_copy.default",
     .lower = lower_expand,
     .constraint = "Static sizes.",
     .traits = kFolds},
};

}  // namespace

extern const OpList expand_ops = kRows;

}  // namespace etb::xnnpack
