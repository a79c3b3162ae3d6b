// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/search.hpp"

#include <algorithm>
#include <numeric>

namespace etb::diff {
namespace {

using OnBlock = std::function<void(size_t done, size_t count)>;

std::vector<uint32_t> all_nodes(const Comparison& comparison) {
  std::vector<uint32_t> out(comparison.model().node_count());
  std::iota(out.begin(), out.end(), 0);
  return out;
}

void add_block(const Comparison& comparison, const Block& block, SearchResult& out) {
  out.blocks.push_back(comparison.compare(block.nodes));
  out.is_region.push_back(block.is_region);
}

// Regions interleave: a block that begins before the first node found may hold an earlier one.
void locate_blocks(const Comparison& comparison, const SearchOptions& options, SearchResult& out) {
  std::vector<const NodesComparison*> wrong;
  for (const NodesComparison& block : out.blocks)
    if (block.find_wrong() != nullptr) wrong.push_back(&block);
  // The whole method is the last block. It is searched only if its parts are right.
  const bool has_whole = out.blocks.back().nodes.size() == comparison.model().node_count();
  if (has_whole && wrong.size() > 1 && wrong.back() == &out.blocks.back()) wrong.pop_back();
  std::stable_sort(wrong.begin(), wrong.end(), [](const NodesComparison* x, const NodesComparison* y) {
    return x->nodes.front() < y->nodes.front();
  });
  uint32_t first = UINT32_MAX;
  for (const NodesComparison* block : wrong) {
    if (!options.finds_all && block->nodes.front() > first) break;
    Location found = locate(comparison, *block);
    first = std::min(first, found.nodes.front());
    out.locations.push_back(std::move(found));
  }
  std::stable_sort(out.locations.begin(), out.locations.end(),
                   [](const Location& x, const Location& y) { return x.nodes.front() < y.nodes.front(); });
  if (!options.finds_all && out.locations.size() > 1) out.locations.resize(1);
}

// Following nodes may hide the error of a node: a maximum, a mean of many values.
void search_nodes(const Comparison& comparison, const SearchOptions& options,
                  const std::vector<Block>& blocks, const OnBlock& on_block, SearchResult& out) {
  std::vector<bool> is_known(comparison.model().node_count(), false);  // alone, in a block
  for (const Block& block : blocks)
    if (block.nodes.size() == 1) is_known[block.nodes[0]] = true;
  for (uint32_t node = 0; node < is_known.size(); ++node) {
    if (is_known[node]) continue;
    if (on_block) on_block(blocks.size() + node, blocks.size() + is_known.size());
    NodesComparison found = comparison.compare({node});
    ++out.node_count;
    if (found.find_wrong() == nullptr) continue;
    out.locations.push_back({{node}, found, 1});
    out.blocks.push_back(std::move(found));
    out.is_region.push_back(false);
    if (!options.finds_all) return;
  }
}

Result<SearchResult> search_blocks(const Comparison& comparison, const SearchOptions& options,
                                   const OnBlock& on_block) {
  ETB_ASSIGN(std::vector<Block> blocks, make_blocks(comparison, options.blocks));
  if (blocks.empty()) return SearchResult{};
  const bool knows_outputs = !comparison.has_recorded_side() || comparison.has_archive_side();
  if (blocks.size() > 1 && knows_outputs) blocks.push_back({all_nodes(comparison), false});
  SearchResult out;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (on_block) on_block(i, blocks.size());
    add_block(comparison, blocks[i], out);
    if (out.blocks.back().failure) return tl::make_unexpected(*out.blocks.back().failure);
  }
  locate_blocks(comparison, options, out);
  // A node without its quantisation loses nothing.
  if (out.locations.empty() && !options.has_borders_only && !comparison.has_real_side() &&
      !comparison.has_recorded_side())
    search_nodes(comparison, options, blocks, on_block, out);
  return out;
}

// Compares outputs. If they differ and one side can compute nodes, compares it with the run node by node.
Result<SearchResult> search_outputs(const Comparison& comparison, const SearchOptions& options,
                                    const OnBlock& on_block) {
  SearchResult out;
  if (on_block) on_block(0, 1);
  add_block(comparison, {all_nodes(comparison), false}, out);
  if (out.blocks[0].results.empty())
    return make_error(Code::INVALID_DATA, "cannot compare the outputs: " + out.blocks[0].obstacle);
  if (!out.has_divergence()) return out;
  const Side& other = comparison.a().kind() == SideKind::kOutputs ? comparison.b() : comparison.a();
  if (other.kind() == SideKind::kOutputs || other.kind() == SideKind::kEager) return out;
  ETB_ASSIGN(std::unique_ptr<Side> eager, Side::open("eager", {}));
  auto by = std::make_unique<Comparison>(comparison.model(), *eager, other, CompareOptions{});
  out.substitutes.push_back(std::move(eager));
  ETB_ASSIGN(SearchResult inner, search_blocks(*by, options, on_block));
  out.take(
      std::move(inner), std::move(by),
      "the nodes were found by comparing with eager, because only the outputs of the other side are known");
  return out;
}

}  // namespace

bool SearchResult::has_divergence() const {
  return std::any_of(blocks.begin(), blocks.end(),
                     [](const NodesComparison& block) { return block.find_wrong() != nullptr; });
}

void SearchResult::take(SearchResult inner, std::unique_ptr<Comparison> comparison, std::string reason) {
  substituted = std::move(comparison);
  reason_of_substitute = std::move(reason);
  locations = std::move(inner.locations);
  first_substituted = blocks.size();
  for (size_t i = 0; i < inner.blocks.size(); ++i) {
    blocks.push_back(std::move(inner.blocks[i]));
    is_region.push_back(inner.is_region[i]);
  }
}

Result<SearchResult> search(const Comparison& comparison, const SearchOptions& options,
                            const OnBlock& on_block) {
  return comparison.has_outputs_only() ? search_outputs(comparison, options, on_block)
                                       : search_blocks(comparison, options, on_block);
}

}  // namespace etb::diff
