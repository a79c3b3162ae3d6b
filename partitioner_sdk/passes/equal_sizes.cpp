// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "partitioner_sdk/passes/builder.hpp"

namespace etb::passes {

namespace {

bool is_simple(const ir::SymbolTable& symbols, Dim dim) {
  return dim.is_static() || symbols.as_symbol(dim).has_value();
}

// A view keeps the number of elements: where all other sizes are equal, the last two are equal too. Returns the formula and
// the number or symbol that it equals.
std::optional<std::pair<Dim, Dim>> equal_sizes(const ir::SymbolTable& symbols, const Dims& in,
                                               const Dims& out) {
  Dims left;
  std::vector<bool> is_taken(out.size(), false);
  for (const Dim size : in) {
    size_t same = 0;
    while (same < out.size() && (is_taken[same] || out[same] != size)) ++same;
    if (same < out.size()) {
      is_taken[same] = true;
    } else if (!size.is(1)) {
      left.push_back(size);
    }
  }
  Dims right;
  for (size_t i = 0; i < out.size(); ++i)
    if (!is_taken[i] && !out[i].is(1)) right.push_back(out[i]);
  if (left.size() != 1 || right.size() != 1 || is_simple(symbols, left[0]) || !is_simple(symbols, right[0]))
    return std::nullopt;
  return std::pair(left[0], right[0]);
}

// Sizes that are added are equal, or one of them is 1: a formula beside a symbol equals it, or is 1. Its bound is that of the
// symbol in both cases.
void add_broadcast(const ir::SymbolTable& symbols, const Dims& a, const Dims& b,
                   std::vector<std::pair<Dim, Dim>>& found) {
  for (size_t i = 1; i <= a.size() && i <= b.size(); ++i) {
    const Dim first = a[a.size() - i], second = b[b.size() - i];
    if (!is_simple(symbols, first) && symbols.as_symbol(second)) found.emplace_back(first, second);
    if (!is_simple(symbols, second) && symbols.as_symbol(first)) found.emplace_back(second, first);
  }
}

bool has_zero(const Dims& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](Dim size) { return size.is(0); });
}

Result<bool> run(ir::Module& module, ir::Graph& graph) {
  const auto view = module.find_op("aten.view.default"), sum = module.find_op("aten.add.Tensor");
  // Each one costs a pass over the values; models have a few.
  constexpr size_t kMost = 64;
  std::vector<std::pair<Dim, Dim>> found;
  for (const ir::Node& node : graph.nodes) {
    if (found.size() >= kMost) break;
    if (!(view && node.op == *view) && !(sum && node.op == *sum)) continue;
    const bool is_view = view && node.op == *view;
    const auto* self = ir::get_if<ValueRef>(node.args[0]);
    const auto* other = is_view ? nullptr : ir::get_if<ValueRef>(node.args[1]);
    if (self == nullptr) continue;
    const Dims& in = graph.values[self->id].spec.sizes;
    const Dims& out = graph.values[node.outputs[0]].spec.sizes;
    if (has_zero(in) || has_zero(out)) continue;
    std::vector<std::pair<Dim, Dim>> here;
    if (!is_view) {
      add_broadcast(module.symbols, in, out, here);
      if (other != nullptr) add_broadcast(module.symbols, in, graph.values[other->id].spec.sizes, here);
    } else if (const auto equal = equal_sizes(module.symbols, in, out)) {
      here.push_back(*equal);
    }
    for (const auto& equal : here)
      if (std::find(found.begin(), found.end(), equal) == found.end()) found.push_back(equal);
  }
  bool is_changed = false;
  for (ir::Value& value : graph.values) {
    if (value.kind != ir::ValueKind::kTensor) continue;
    for (Dim& size : value.spec.sizes) {
      const auto equal =
          std::find_if(found.begin(), found.end(), [&](const auto& pair) { return pair.first == size; });
      if (equal == found.end()) continue;
      size = equal->second;
      is_changed = true;
    }
  }
  return is_changed;
}

}  // namespace

Result<bool> simplify_equal_sizes(ir::Module& module) {
  return run_on_graphs(module, [&](ir::Graph& graph) { return run(module, graph); });
}

}  // namespace etb::passes
