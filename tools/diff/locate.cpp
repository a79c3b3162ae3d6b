// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/locate.hpp"

#include <algorithm>
#include <set>

namespace etb::diff {
namespace {

constexpr size_t kMaxHostNodes = 16;  // in one block
// Nodes that are compared one by one if halving ends at a node that is right alone.
constexpr size_t kMaxSingleNodes = 512;

class Search {
 public:
  Search(const Comparison& comparison, const NodesComparison& wrong) : comparison_(comparison) {
    out_.nodes = wrong.nodes;
    out_.comparison = wrong;
  }

  Location run() {
    const size_t end = find_first_wrong_prefix();
    if (!find_single(end)) narrow_from_front(end);
    return std::move(out_);
  }

 private:
  // Compares nodes [begin, end) of the block.
  NodesComparison compare(size_t begin, size_t end) {
    ++out_.trials;
    return comparison_.compare(
        {all_.begin() + static_cast<long>(begin), all_.begin() + static_cast<long>(end)});
  }
  bool keep_if_wrong(size_t begin, size_t end) {
    NodesComparison found = compare(begin, end);
    if (found.find_wrong() == nullptr) return false;
    out_.nodes = found.nodes;
    out_.comparison = std::move(found);
    return true;
  }

  // Returns a count n so that the first n nodes are wrong and the first n - 1 are right.
  size_t find_first_wrong_prefix() {
    all_ = out_.nodes;
    size_t right = 0, wrong = all_.size();
    while (wrong - right > 1) {
      const size_t middle = right + (wrong - right) / 2;
      (keep_if_wrong(0, middle) ? wrong : right) = middle;
    }
    return wrong;
  }

  // The last node of the prefix is nearly always the one. Its operands may hide an earlier one.
  bool find_single(size_t end) {
    if (end == 1 || keep_if_wrong(end - 1, end)) return true;
    for (size_t i = 0; i + 1 < end && i < kMaxSingleNodes; ++i)
      if (keep_if_wrong(i, i + 1)) return true;
    return false;
  }

  // Removes nodes from the front while the rest is wrong.
  void narrow_from_front(size_t end) {
    size_t wrong = 0, right = end - 1;
    while (right - wrong > 1) {
      const size_t middle = wrong + (right - wrong) / 2;
      (keep_if_wrong(middle, end) ? wrong : right) = middle;
    }
  }

  const Comparison& comparison_;
  std::vector<uint32_t> all_;
  Location out_;
};

// Nodes that compute a recorded tensor from recorded ones, for each.
std::vector<Block> make_recorded_blocks(const Comparison& comparison) {
  const ir::Graph& graph = comparison.model().module().main();
  std::set<ir::ValueId> known;
  for (const Side* side : {&comparison.a(), &comparison.b()})
    for (const auto& [id, value] : side->recording()) known.insert(id);
  std::vector<uint32_t> definers(graph.values.size(), ir::kNone);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    for (const ir::ValueId id : graph.nodes[i].outputs) definers[id] = i;
  std::vector<Block> out;
  for (uint32_t last = 0; last < graph.nodes.size(); ++last) {
    const auto& results = graph.nodes[last].outputs;
    if (std::none_of(results.begin(), results.end(), [&](ir::ValueId id) { return known.count(id) != 0; }))
      continue;
    std::set<uint32_t> nodes{last};
    std::vector<uint32_t> open{last};
    while (!open.empty()) {
      const uint32_t node = open.back();
      open.pop_back();
      for (const ir::Argument& argument : graph.nodes[node].args)
        ir::for_each_value(argument, [&](ir::ValueId id) {
          const uint32_t definer = definers[id];
          if (definer != ir::kNone && known.count(id) == 0 && nodes.insert(definer).second)
            open.push_back(definer);
        });
    }
    out.push_back({{nodes.begin(), nodes.end()}, false});
  }
  return out;
}

}  // namespace

Result<std::vector<Block>> make_blocks(const Comparison& comparison, const BlockOptions& options) {
  const uint32_t count = comparison.model().node_count();
  if (comparison.has_recorded_side()) return make_recorded_blocks(comparison);
  std::vector<Block> out;
  if (options.has_single_nodes) {
    for (uint32_t i = 0; i < count; ++i) out.push_back({{i}, false});
    return out;
  }
  const Side& side = comparison.b().kind() == SideKind::kPlugins ? comparison.b() : comparison.a();
  ETB_ASSIGN(const std::vector<DelegatedRegion> regions, side.find_regions(comparison.model()));
  std::vector<bool> is_delegated(count, false);
  for (const DelegatedRegion& region : regions) {
    out.push_back({region.nodes, true});
    for (const uint32_t node : region.nodes) is_delegated[node] = true;
  }
  std::vector<uint32_t> others;
  const auto end_run = [&] {
    if (!others.empty()) out.push_back({std::move(others), false});
    others.clear();
  };
  for (uint32_t i = 0; i < count; ++i) {
    if (is_delegated[i] || others.size() == kMaxHostNodes) end_run();
    if (!is_delegated[i]) others.push_back(i);
  }
  end_run();
  // By the last node: a block's operands come before it.
  std::stable_sort(out.begin(), out.end(),
                   [](const Block& x, const Block& y) { return x.nodes.back() < y.nodes.back(); });
  return out;
}

Location locate(const Comparison& comparison, const NodesComparison& wrong) {
  if (comparison.has_recorded_side()) return {wrong.nodes, wrong, 0};  // nothing is known inside
  return Search(comparison, wrong).run();
}

}  // namespace etb::diff
