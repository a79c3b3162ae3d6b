// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "conformance/cases/case.hpp"
#include "etb/aot.h"

namespace etb::conformance {
namespace {

constexpr const char* kContiguous = "contiguous";
constexpr const char* kChannelsLast = "channels last";
constexpr const char* kOtherOrder = "other dim order";
constexpr const char* kDynamic = "dynamic sizes";

// The first operand and the attributes of a case, from its name.
struct NameFacts {
  std::string rank, layout;  // "" if unknown
  std::vector<std::string> attributes;
};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    out.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// Reads "2x3x4", "scalar", "2x3x4_cl", "2x3x4_o0213__4". Returns false for other words.
bool read_sizes(const std::string& word, NameFacts& out) {
  const std::string first = word.substr(0, word.find("__"));
  const std::string sizes = first.substr(0, first.find('_'));
  const std::string order = first.substr(sizes.size());
  const bool is_scalar = sizes == "scalar";
  if (!is_scalar && (sizes.empty() || sizes.find_first_not_of("0123456789x") != std::string::npos))
    return false;
  out.rank = is_scalar ? "0" : std::to_string(1 + std::count(sizes.begin(), sizes.end(), 'x'));
  out.layout = order == "_cl" ? kChannelsLast : order.rfind("_o", 0) == 0 ? kOtherOrder : kContiguous;
  return true;
}

// GROUP.OP.DTYPE.SIZES[.ATTRIBUTE...].VALUES
NameFacts read_name(std::string_view name) {
  constexpr size_t kBeforeSizes = 3;
  NameFacts out;
  const std::vector<std::string> words = split(without_round(name));
  if (!words.empty() && words[0] == "dyn") out.layout = kDynamic;
  for (size_t i = kBeforeSizes; i + 1 < words.size(); ++i)
    if (out.layout == kDynamic || !out.rank.empty() || !read_sizes(words[i], out))
      out.attributes.push_back(words[i]);
  return out;
}

void add(const Outcome& outcome, CoverageCount& out) {
  ++out.cases;
  out.claimed += outcome.is_claimed ? 1 : 0;
  out.executed += outcome.is_executed ? 1 : 0;
  out.failed += is_failure(outcome.state) ? 1 : 0;
}

// Returns the layout of a node of a graph of several.
const char* layout_of(const ClaimRow& node) {
  if (node.is_dynamic) return kDynamic;
  return (node.layouts & ETB_LAYOUT_CONTIGUOUS) != 0      ? kContiguous
         : (node.layouts & ETB_LAYOUT_CHANNELS_LAST) != 0 ? kChannelsLast
                                                          : kOtherOrder;
}

class GapFinder {
 public:
  void look_at(const std::string& name, const CoverageRow& row) {
    const ClaimRow& claim = *row.claim;
    note("any case", name, row.all);
    if (row.all.executed == 0) return;
    // Rows without a limit claim rank 16, which no model has.
    constexpr uint32_t kMostRank = 8;
    for (uint32_t rank = claim.min_rank; rank <= std::min(claim.max_rank, kMostRank); ++rank)
      note("rank " + std::to_string(rank), name, count_in(row.by_rank, std::to_string(rank)));
    constexpr uint32_t kLeastRankOfAnOrder = 3;
    const bool has_orders = claim.max_rank >= kLeastRankOfAnOrder;
    if (has_orders && (claim.layouts & ETB_LAYOUT_CHANNELS_LAST) != 0)
      note(kChannelsLast, name, count_in(row.by_layout, kChannelsLast));
    if (has_orders && (claim.layouts & ETB_LAYOUT_ANY) != 0)
      note(kOtherOrder, name, count_in(row.by_layout, kOtherOrder));
    if (claim.is_dynamic) note(kDynamic, name, count_in(row.by_layout, kDynamic));
  }

  std::vector<Gap> take() {
    std::vector<Gap> out;
    for (auto& [what, gap] : gaps_)
      if (!gap.rows.empty()) out.push_back(std::move(gap));
    std::stable_sort(out.begin(), out.end(),
                     [](const Gap& a, const Gap& b) { return a.rows.size() > b.rows.size(); });
    return out;
  }

 private:
  static CoverageCount count_in(const std::map<std::string, CoverageCount>& counts, const std::string& what) {
    const auto found = counts.find(what);
    return found != counts.end() ? found->second : CoverageCount{};
  }

  void note(const std::string& what, const std::string& name, const CoverageCount& count) {
    Gap& gap = gaps_[what];
    gap.what = what;
    ++gap.claiming;
    if (count.executed != 0) return;
    gap.cases += count.cases;
    gap.rows.push_back(name);
  }

  std::map<std::string, Gap> gaps_;
};

nlohmann::ordered_json to_json(const std::map<std::string, CoverageCount>& counts) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [name, count] : counts)
    out[name] = {{"cases", count.cases},
                 {"claimed", count.claimed},
                 {"executed", count.executed},
                 {"failed", count.failed}};
  return out;
}

}  // namespace

Coverage cover(const Results& results) {
  Coverage out;
  for (const Outcome& outcome : results.outcomes) {
    for (const ClaimRow& claim : outcome.claims) out[{claim.op, claim.dtype}].claim = claim;
    for (const ClaimRow& node : outcome.nodes) {
      CoverageRow& row = out[{node.op, node.dtype}];
      add(outcome, row.all);
      add(outcome, row.by_rank[std::to_string(node.min_rank)]);
      add(outcome, row.by_layout[layout_of(node)]);
    }
    if (outcome.op.empty() || outcome.state == State::kNotRun) continue;
    CoverageRow& row = out[{outcome.op, outcome.dtype}];
    const NameFacts facts = read_name(outcome.name);
    add(outcome, row.all);
    if (!facts.rank.empty()) add(outcome, row.by_rank[facts.rank]);
    if (!facts.layout.empty()) add(outcome, row.by_layout[facts.layout]);
    for (const std::string& attribute : facts.attributes) add(outcome, row.by_attribute[attribute]);
  }
  return out;
}

std::vector<Gap> find_gaps(const Coverage& coverage) {
  GapFinder finder;
  for (const auto& [key, row] : coverage)
    if (row.claim) finder.look_at(key.first + " " + key.second, row);
  return finder.take();
}

std::string to_text(const Gap& gap) {
  constexpr size_t kMostNames = 3;
  std::string names;
  for (size_t i = 0; i < gap.rows.size() && i < kMostNames; ++i) names += (i == 0 ? "" : ", ") + gap.rows[i];
  return fmt::format("{}: 0 cases ran for {} of {} rows that claim it ({}): {}{}", gap.what, gap.rows.size(),
                     gap.claiming,
                     gap.cases == 0 ? "the run had none" : fmt::format("the plugin rejected {}", gap.cases),
                     names, gap.rows.size() > kMostNames ? ", ..." : "");
}

std::string to_text(const ClaimRow& row) {
  std::string out = fmt::format("ranks {} to {}", row.min_rank, row.max_rank);
  if ((row.layouts & ETB_LAYOUT_CONTIGUOUS) != 0) out += std::string(", ") + kContiguous;
  if ((row.layouts & ETB_LAYOUT_CHANNELS_LAST) != 0) out += std::string(", ") + kChannelsLast;
  if ((row.layouts & ETB_LAYOUT_ANY) != 0) out += ", any dim order";
  return row.is_dynamic ? out + ", " + kDynamic : out;
}

std::string coverage_json(const Results& results) {
  const Coverage coverage = cover(results);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array(), gaps = nlohmann::ordered_json::array();
  for (const Gap& gap : find_gaps(coverage))
    gaps.push_back({{"what", gap.what},
                    {"claiming_rows", gap.claiming},
                    {"rejected_cases", gap.cases},
                    {"untested_rows", gap.rows}});
  for (const auto& [key, row] : coverage)
    rows.push_back({{"op", key.first},
                    {"dtype", key.second},
                    {"claims", row.claim ? to_text(*row.claim) : ""},
                    {"cases", row.all.cases},
                    {"executed", row.all.executed},
                    {"by_rank", to_json(row.by_rank)},
                    {"by_layout", to_json(row.by_layout)},
                    {"by_attribute", to_json(row.by_attribute)}});
  const nlohmann::ordered_json out = {{"untested", gaps}, {"rows", rows}};
  return out.dump(1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace etb::conformance
