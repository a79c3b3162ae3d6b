// SPDX-License-Identifier: Apache-2.0
// Padding with a constant.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_pad(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const std::vector<int64_t> pad, l.integers("pad", {}));
  ETB_ASSIGN(const double value, l.number("value", 0));
  const size_t rank = l.rank(self);
  // Before a dynamically quantised layer, padding with zeros does not change the range, which includes zero
  // anyway.
  const std::optional<uint32_t> source = l.dynamic_source(self);
  if (source && value != 0) return Lowering::refuse("quant", "value: ", value, ", expected 0");
  ETB_ASSIGN(const Form in, l.form(source.value_or(self)));
  std::vector<uint32_t> before(rank, 0), after(rank, 0);
  for (size_t i = 0; 2 * i + 1 < pad.size() && i < rank; ++i) {
    if (pad[2 * i] < 0 || pad[2 * i + 1] < 0)
      return Lowering::refuse("attribute", "pad: negative, expected 0 or more");
    before[in.perm[rank - 1 - i]] = static_cast<uint32_t>(pad[2 * i]);
    after[in.perm[rank - 1 - i]] = static_cast<uint32_t>(pad[2 * i + 1]);
  }
  ETB_ASSIGN(const uint32_t out, l.add_result(0, in.perm));
  XnnNode& node = l.draft().add_node(XnnOperator::kConstantPad, {in.id}, {out});
  node.first = std::move(before);
  node.second = std::move(after);
  node.value = static_cast<float>(value);
  if (source) l.define_dynamic(l.result(), l.result());
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.constant_pad_nd.default",
     .lower = lower_pad,
     .quantised = QuantKind::kMoves,
     .min_rank = 1,
     .constraint = "No negative padding.",
     .traits = kInChain},
};

}  // namespace

extern const OpList pad_ops = kRows;

}  // namespace etb::xnnpack
