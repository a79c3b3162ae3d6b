// SPDX-License-Identifier: Apache-2.0
// aot: rows of the op table hold at the ends of what they describe: ranks, dtypes, layouts and dynamic sizes, also of rows that
// have a constraint for something else.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "conformance/cases/elementwise.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/op_table.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

enum class End : uint8_t { kRank, kDynamic, kLayout, kDtype };

// True if a constraint speaks of such an end, so that the row may hold for some of it only.
bool speaks_of(const std::string& constraint, End end) {
  static const std::map<End, std::vector<std::string_view>> kWords = {
      {End::kRank, {"rank", "dimension", "dims", "axes"}},
      {End::kDynamic, {"dynamic", "static", "size", "symbol", "bound"}},
      {End::kLayout, {"layout", "order", "contiguous", "last", "nchw", "nhwc", "packed", "strid"}},
      {End::kDtype, {"type", "float", "int", "bool", "half", "bit", "code", "quant", "number"}}};
  std::string lower = constraint;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const std::vector<std::string_view>& words = kWords.at(end);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

// ---- ops whose node is known for each rank

struct ElementwiseOp {
  bool has_two = false;
  Gives gives = Gives::kSame;
  unsigned taken = 0;
};

const std::map<std::string, ElementwiseOp>& elementwise_ops() {
  static const std::map<std::string, ElementwiseOp> ops = [] {
    std::map<std::string, ElementwiseOp> out;
    for (const UnaryRow& row : unary_rows()) out[row.op] = {false, row.gives, row.takes};
    for (const BinaryRow& row : binary_rows()) out[row.op] = {true, row.gives, row.takes};
    return out;
  }();
  return ops;
}

Result<graph::ImageBytes> with_one_node(const std::string& op, const ElementwiseOp& known,
                                        const graph::SpecDesc& desc) {
  graph::Builder builder("forward");
  graph::SpecDesc result = desc;
  result.dtype = result_dtype(known.gives, static_cast<etb_dtype>(desc.dtype));
  const uint32_t spec = builder.add_spec(desc);
  graph::GraphBuilder& method = builder.add_graph("forward");
  std::vector<graph::ArgumentDesc> args = {
      graph::value_arg(method.add_input(graph::tensor("x", spec)), "self")};
  if (known.has_two) args.push_back(graph::value_arg(method.add_input(graph::tensor("y", spec)), "other"));
  method.add_output(method.add_node(
      {.op = op, .args = std::move(args), .outputs = {graph::tensor("out", builder.add_spec(result))}}));
  return builder.finish();
}

struct Probe {
  std::string text;
  End end = End::kRank;
  graph::SpecDesc desc;
};

std::vector<Probe> probes_of(const OpFacts& row, etb_dtype dtype) {
  constexpr std::array<uint32_t, 9> kRanks = {0, 1, 2, 3, 4, 5, 6, 8, ETB_MAX_RANK};
  std::set<uint32_t> ranks = {row.min_rank, row.max_rank};
  for (const uint32_t rank : kRanks)
    if (rank > row.min_rank && rank < row.max_rank) ranks.insert(rank);
  std::vector<Probe> out;
  for (const uint32_t rank : ranks) {
    const graph::SpecDesc desc{.dtype = dtype, .sizes = std::vector<int64_t>(rank, 2)};
    if ((row.layouts & (ETB_LAYOUT_CONTIGUOUS | ETB_LAYOUT_ANY)) != 0) {
      out.push_back({fmt::format("rank {}", rank), End::kRank, desc});
      if (rank != 0 && (row.flags & ETB_OP_DYNAMIC_SIZES) != 0) {
        out.push_back({fmt::format("rank {} and a dynamic dimension", rank), End::kDynamic, desc});
        out.back().desc.dynamic_dims = {{.dim = 0, .min = 1}};
      }
    }
    if (rank == 4 && (row.layouts & (ETB_LAYOUT_CHANNELS_LAST | ETB_LAYOUT_ANY)) != 0) {
      out.push_back({"channels last", End::kLayout, desc});
      out.back().desc.dim_order = {0, 2, 3, 1};
    }
  }
  return out;
}

// Nodes that differ in rank, layout or dynamic sizes only. Where one is claimed, the row holds for the others.
void ask_elementwise(CheckContext& context, Subject& subject, const OpFacts& row,
                     const ElementwiseOp& known) {
  for (const etb_dtype dtype : row.dtypes) {
    if (!takes(known.taken, dtype)) continue;
    std::string claimed;
    std::set<uint32_t> claimed_ranks;
    std::vector<std::pair<Probe, std::string>> rejected;
    for (const Probe& probe : probes_of(row, dtype)) {
      const Result<graph::ImageBytes> image = with_one_node(row.op, known, probe.desc);
      if (!image) continue;
      const Answers answers = partition(subject, *image);
      if (!answers.is_whole_claim()) {
        rejected.emplace_back(probe,
                              answers.reasons.empty() ? answers.error : answers.reasons.begin()->second);
        continue;
      }
      if (probe.end != End::kRank) continue;
      claimed_ranks.insert(static_cast<uint32_t>(probe.desc.sizes.size()));
      if (claimed.empty()) claimed = probe.text;
    }
    for (const auto& [probe, reason] : rejected) {
      const bool is_alone =
          probe.end == End::kRank || claimed_ranks.contains(static_cast<uint32_t>(probe.desc.sizes.size()));
      if (claimed.empty() || !is_alone || speaks_of(row.constraint, probe.end)) continue;
      return context.fail(fmt::format(
          "a row of {} lists {} with {}, which is rejected ({}) while {} is claimed, and its constraint '{}' "
          "does not speak of it",
          row.op, short_name(dtype), probe.text, reason, claimed, row.constraint));
    }
  }
}

// ---- cases of the suite

struct Counts {
  int claimed = 0, of_it = 0, of_others = 0;  // rejections for this property, and for others
  std::string example;
};

// A property of the first operand, as a row lists it: a rank, a dtype or a layout.
struct Property {
  End end = End::kRank;
  std::string text;
  auto operator<=>(const Property&) const = default;
};

const char* reason_of(End end) {
  return end == End::kRank     ? "rank"
         : end == End::kDtype  ? "dtype"
         : end == End::kLayout ? "layout"
                               : "dynamic";
}

std::vector<Property> properties_of(const etb_graph_spec& spec) {
  bool is_packed = true;
  for (uint32_t i = 0; i < spec.rank; ++i) is_packed = is_packed && spec.dim_order[i] == i;
  std::vector<Property> out = {{End::kRank, fmt::format("rank {}", spec.rank)},
                               {End::kDtype, short_name(static_cast<etb_dtype>(spec.dtype))}};
  if (spec.rank > 1)
    out.push_back({End::kLayout, is_packed ? "row-major tensors" : "tensors in another dim order"});
  return out;
}

// Cases of a row by properties of their first operand.
std::map<Property, Counts> count_cases(Subject& subject, const std::vector<OpFacts>& rows, const OpFacts& row,
                                       const std::vector<const Case*>& cases) {
  constexpr size_t kMost = 120;
  std::map<Property, Counts> out;
  const size_t step = cases.size() / kMost + 1;
  for (size_t i = 0; i < cases.size(); i += step) {
    const Result<BuiltCase> built = cases[i]->build(cases[i]->name);
    bool is_asked = false;
    if (!built || find_row(rows, *built, is_asked) != &row) continue;
    const auto view = graph::View::open(built->image.span());
    if (!view || !covers_all(row, view->method().node(0))) continue;
    const Answers answers = partition(subject, built->image);
    const std::string reason = answers.reasons.empty() ? "" : answers.reasons.begin()->second;
    for (const Property& property : properties_of(view->method().node(0).operands()[0].spec())) {
      Counts& counts = out[property];
      const bool is_for_it = reason.starts_with(std::string(reason_of(property.end)) + ":");
      counts.claimed += answers.is_whole_claim() ? 1 : 0;
      counts.of_it += is_for_it ? 1 : 0;
      counts.of_others += !answers.is_whole_claim() && !is_for_it ? 1 : 0;
      if (is_for_it && counts.example.empty()) counts.example = cases[i]->name + ": " + reason;
    }
  }
  return out;
}

// Looks for a rank, dtype or layout that a row lists and that none of its nodes is claimed with, because of it.
void ask_cases(CheckContext& context, Subject& subject, const std::vector<OpFacts>& rows, const OpFacts& row,
               const std::vector<const Case*>& cases) {
  constexpr int kEnough = 2;
  const std::map<Property, Counts> found = count_cases(subject, rows, row, cases);
  const bool has_claim =
      std::any_of(found.begin(), found.end(), [](const auto& item) { return item.second.claimed != 0; });
  for (const auto& [property, counts] : found)
    if (has_claim && counts.claimed == 0 && counts.of_others == 0 && counts.of_it >= kEnough &&
        !speaks_of(row.constraint, property.end))
      return context.fail(
          fmt::format("a row of {} lists {}, all {} cases of it are rejected for it ({}), and its constraint "
                      "'{}' does not "
                      "speak of it",
                      row.op, property.text, counts.of_it, counts.example, row.constraint));
}

void rows_hold_at_their_ends(CheckContext& context) {
  constexpr size_t kMostFindings = 3;
  if (!has_own_rows(context.spec()))
    return context.skip("'" + context.spec().backend_id + "' is not the plugin's first delegate id");
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  const std::vector<OpFacts> rows = op_rows_of(context, *subject);
  std::map<std::string, std::vector<const Case*>> cases;
  for (const Case& item : all_cases())
    if (!item.name.starts_with("dyn.") && item.name.find(".large") == std::string::npos)
      cases[item.op].push_back(&item);
  for (const OpFacts& row : rows) {
    if (!row.defect.empty() || !row.quant_schemes.empty()) continue;
    context.progress().restart();
    context.progress().at("partition of a node at the end of a row");
    if (const auto known = elementwise_ops().find(row.op); known != elementwise_ops().end())
      ask_elementwise(context, *subject, row, known->second);
    ask_cases(context, *subject, rows, row, cases[row.op]);
    if (context.outcome().findings.size() >= kMostFindings) return;
  }
}

constexpr Check kChecks[] = {
    {"aot.rows-hold-at-their-ends",
     "Nodes of a row that differ in rank, layout or dynamic sizes only are all claimed, unless its "
     "constraint "
     "speaks of these.",
     "", rows_hold_at_their_ends},
};

}  // namespace

std::span<const Check> row_end_checks() { return kChecks; }

}  // namespace etb::conformance
