// SPDX-License-Identifier: Apache-2.0
// Ops that change places only. Permutations cost nothing until an op wants another order.
#include <algorithm>

#include "plugins/dsp_stub/compile/lowering.hpp"

namespace etb::dsp_stub {

namespace {

Status lower_view(PatternLowering& lowering, const Node&) {
  const std::vector<int64_t> sizes = lowering.result_sizes();
  Codes out = lowering.builder().reorder(lowering.current(), row_major(lowering.current().sizes.size()));
  out.sizes = sizes;
  out.order = row_major(sizes.size());
  if (out.numel() != lowering.current().numel()) return reject("attribute", "number of elements");
  lowering.finish(std::move(out));
  return {};
}

Status lower_alias(PatternLowering& lowering, const Node&) {
  if (lowering.result_sizes() != lowering.current().sizes) return reject("attribute", "sizes of a copy");
  lowering.finish(Codes(lowering.current()));
  return {};
}

Status lower_permute(PatternLowering& lowering, const Node& node) {
  std::vector<int64_t> dims = {1, 0};
  if (node.find_arg("dims")) {
    ETB_ASSIGN(dims, Arguments(node).integers("dims"));
  }
  const Codes& from = lowering.current();
  const auto rank = static_cast<int64_t>(from.sizes.size());
  if (static_cast<int64_t>(dims.size()) != rank) return reject("rank", "of a permutation");
  Codes out = from;
  std::vector<uint32_t> place(dims.size());  // of each dimension of `from`
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto source = static_cast<size_t>(dims[i] < 0 ? dims[i] + rank : dims[i]);
    out.sizes[i] = from.sizes[source];
    place[source] = static_cast<uint32_t>(i);
  }
  for (uint32_t& d : out.order) d = place[d];
  lowering.finish(std::move(out));
  return {};
}

Status lower_slice(PatternLowering& lowering, const Node& node) {
  const Arguments args(node);
  const Codes from = lowering.current();
  ETB_ASSIGN(const uint32_t dim, args.dim("dim", 0, static_cast<uint32_t>(from.sizes.size())));
  ETB_ASSIGN(int64_t start, args.integer("start", 0));
  ETB_ASSIGN(const int64_t step, args.integer("step", 1));
  const int64_t extent = from.sizes[dim];
  start = std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent);
  const std::vector<int64_t> sizes = lowering.result_sizes();
  if (sizes.size() != from.sizes.size() || step < 1 || start + (sizes[dim] - 1) * step >= extent)
    return reject("attribute", "start, end or step");
  std::vector<int64_t> begins(sizes.size()), steps(sizes.size(), 1);
  begins[dim] = start;
  steps[dim] = step;
  Codes out = lowering.builder().add_codes(sizes, from.order, from.params);
  lowering.builder().copy_into(from, out, std::vector<int64_t>(sizes.size()), begins, steps);
  lowering.finish(std::move(out));
  return {};
}

// Pads with 0, which is the zero point in codes. A function of the pattern would change the padding, too.
Status lower_pad(PatternLowering& lowering, const Node& node) {
  const Arguments args(node);
  const Codes from = lowering.current();
  ETB_ASSIGN(const std::vector<int64_t> pads, args.integers("pad"));
  ETB_ASSIGN(const double value, args.number("value", 0));
  if (value != 0) return reject("attribute", "value, expected 0");
  for (const Operand& operand : lowering.pattern().operands)
    for (const uint32_t step : operand.steps)
      if (role_of(lowering.facts().graph().node(step).op_name()) == Role::kUnary)
        return reject(kPatternReason, "padding and a function without quantize between them");
  for (const uint32_t step : lowering.pattern().tail)
    if (role_of(lowering.facts().graph().node(step).op_name()) == Role::kUnary)
      return reject(kPatternReason, "padding and a function without quantize between them");
  const std::vector<int64_t> sizes = lowering.result_sizes();
  std::vector<int64_t> begins(sizes.size());
  if (pads.size() % 2 != 0 || pads.size() / 2 > sizes.size()) return reject("attribute", "pad");
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    if (pads[2 * i] < 0 || pads[2 * i + 1] < 0)
      return reject("attribute", "pad, expected no negative number");
    begins[sizes.size() - 1 - i] = pads[2 * i];
  }
  NetworkBuilder& builder = lowering.builder();
  Codes out = builder.add_codes(sizes, from.order, from.params);
  Layer fill{.kind = Layer::Kind::kCopy, .output = out.buffer};
  const auto bytes = static_cast<uint32_t>(out.numel() * from.params.width);
  fill.copies.push_back({.fill = static_cast<uint8_t>(from.params.zero), .dims = {{bytes, 0, 1}}});
  builder.add_layer(std::move(fill));
  builder.copy_into(from, out, begins);
  lowering.finish(std::move(out));
  return {};
}

Status lower_expand(PatternLowering& lowering, const Node&) {
  Codes from = lowering.current();
  const std::vector<int64_t> sizes = lowering.result_sizes();
  if (sizes.size() < from.sizes.size()) return reject("rank", "of an expansion");
  const size_t missing = sizes.size() - from.sizes.size();
  from.sizes.insert(from.sizes.begin(), missing, 1);
  std::vector<uint32_t> order = row_major(missing);
  for (const uint32_t d : from.order) order.push_back(d + static_cast<uint32_t>(missing));
  from.order = order;
  Codes out = lowering.builder().add_codes(sizes, from.order, from.params);
  lowering.builder().copy_into(from, out, {});
  lowering.finish(std::move(out));
  return {};
}

constexpr MoveOp kOps[] = {
    {"aten.view_copy.default", lower_view},
    {"aten.view.default", lower_view},
    {"aten.squeeze_copy.dims", lower_view},
    {"aten.unsqueeze_copy.default", lower_view},
    {"aten.clone.default", lower_alias},
    {"aten.alias_copy.default", lower_alias},
    {"dim_order_ops._clone_dim_order.default", lower_alias},
    {"aten.permute_copy.default", lower_permute, "", true},
    {"aten.permute.default", lower_permute, "", true},
    {"aten.t_copy.default", lower_permute, "", true},
    {"aten.slice_copy.Tensor", lower_slice},
    {"aten.expand_copy.default", lower_expand},
    {"aten.constant_pad_nd.default", lower_pad,
     "Only in a whole pattern; value is 0, no function in the pattern."},
};

}  // namespace

std::span<const MoveOp> move_ops() { return kOps; }

}  // namespace etb::dsp_stub
