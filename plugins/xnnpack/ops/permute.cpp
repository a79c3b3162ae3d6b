// SPDX-License-Identifier: Apache-2.0
// Transposes. They only change the recorded dimension order.
#include <algorithm>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// Dimension i of the result is dimension dims[i] of the input.
Status permute(Lowering& l, uint32_t self, const std::vector<uint32_t>& dims) {
  ETB_ASSIGN(const Form in, l.form(self));
  Form out{in.id, {}};
  for (const uint32_t dim : dims) out.perm.push_back(in.perm[dim]);
  l.define(l.result(), std::move(out));
  return {};
}

Status lower_permute(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const std::vector<int64_t> found, l.integers("dims", {}));
  const auto rank = static_cast<int64_t>(l.rank(self));
  std::vector<uint32_t> dims;
  for (const int64_t dim : found) dims.push_back(static_cast<uint32_t>(dim < 0 ? dim + rank : dim));
  std::vector<uint32_t> sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != identity(static_cast<size_t>(rank)))
    return Lowering::refuse("attribute", "dims: no permutation");
  return permute(l, self, dims);
}

Status lower_t(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  return l.rank(self) < 2 ? lower_alias(l) : permute(l, self, {1, 0});
}

Status lower_transpose(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  std::vector<uint32_t> dims = identity(l.rank(self));
  if (dims.empty()) return lower_alias(l);
  ETB_ASSIGN(const uint32_t a, l.dim("dim0", 0, dims.size()));
  ETB_ASSIGN(const uint32_t b, l.dim("dim1", 0, dims.size()));
  std::swap(dims[a], dims[b]);
  return permute(l, self, dims);
}

constexpr Op kRows[] = {
    {.name = "aten.permute_copy.default",
     .lower = lower_permute,
     .quantised = QuantKind::kMoves,
     .traits = kFolds | kMovesConstants},
    {.name = "aten.t_copy.default",
     .lower = lower_t,
     .quantised = QuantKind::kMoves,
     .max_rank = 2,
     .traits = kFolds | kMovesConstants},
    {.name = "aten.transpose_copy.int",
     .lower = lower_transpose,
     .quantised = QuantKind::kMoves,
     .traits = kFolds | kMovesConstants},
};

}  // namespace

extern const OpList permute_ops = kRows;

}  // namespace etb::xnnpack
