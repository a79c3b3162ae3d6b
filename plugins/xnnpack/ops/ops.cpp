// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

uint32_t add_unary(Draft& draft, XnnOperator op, uint32_t input) {
  const uint32_t out = draft.add_like(input, draft.extents(input));
  draft.add_node(op, {input}, {out});
  return out;
}

uint32_t add_binary(Draft& draft, XnnOperator op, uint32_t left, uint32_t right, Draft::Extents extents) {
  const uint32_t out = draft.add_like(left, std::move(extents));
  draft.add_node(op, {left, right}, {out});
  return out;
}

uint32_t add_mean(Draft& draft, uint32_t input) {
  Draft::Extents extents = draft.extents(input);
  extents.sizes[1] = extents.sizes[2] = 1;
  extents.dynamic_dims &= ~6u;
  const uint32_t out = draft.add_like(input, std::move(extents));
  draft.add_node(XnnOperator::kGlobalAveragePooling2d, {input}, {out}).flags = kFlagKeepDims;
  return out;
}

uint32_t add_slice(Draft& draft, uint32_t id, uint32_t place, uint32_t from, uint32_t count) {
  Draft::Extents extents = draft.extents(id);
  std::vector<uint32_t> offsets(extents.sizes.size(), 0);
  offsets[place] = from;
  extents.sizes[place] = count;
  std::vector<uint32_t> sizes = extents.sizes;
  for (size_t d = 0; d < sizes.size(); ++d)
    if ((extents.dynamic_dims >> d & 1) != 0) sizes[d] = 0;  // 0: to the end
  const uint32_t out = draft.add_like(id, std::move(extents));
  XnnNode& node = draft.add_node(XnnOperator::kStaticSlice, {id}, {out});
  node.first = std::move(offsets);
  node.second = std::move(sizes);
  return out;
}

Result<Matrix> right_factor(Lowering& l, uint32_t value) {
  ETB_ASSIGN(const Form form, l.form(value));
  if (form.perm.size() < 2) return Lowering::refuse("rank", "a factor of rank ", form.perm.size());
  Permutation swapped = identity(form.perm.size());
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  if (form.perm == swapped) return Matrix{form.id, true};
  ETB_ASSIGN(const uint32_t id, l.natural(value));
  return Matrix{id, false};
}

Status check_only_first_result_is_read(const Lowering& l, const char* what) {
  for (uint32_t i = 1; i < l.result_count(); ++i) {
    if (l.use_count(l.result(i)) != 0) return Lowering::refuse("attribute", what, " that somebody reads");
  }
  return {};
}

}  // namespace etb::xnnpack
