// SPDX-License-Identifier: Apache-2.0
// aot: reasons of rejections.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/mutable_graph.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/op_table.hpp"
#include "etb/cpp/graph_view.hpp"
#include "etb/cpp/tensor.hpp"

namespace etb::conformance {
namespace {

// The only node of a graph, as far as the reasons speak of it.
struct NodeFacts {
  std::string dtypes, ranks;  // the op's name, then one for each tensor
  bool is_dynamic = false, is_packed = true, is_float = true;
};

// Returns nothing for images of several nodes.
std::optional<NodeFacts> facts_of(const graph::ImageBytes& image) {
  const auto view = graph::View::open(image.span());
  if (!view || view->graph_count() != 1 || view->method().nodes().size() != 1) return std::nullopt;
  const graph::Node node = view->method().node(0);
  NodeFacts out;
  out.dtypes = out.ranks = node.op_name();
  std::vector<graph::Value> values = node.operands();
  for (const graph::Value& result : node.results()) values.push_back(result);
  for (const graph::Value& value : values) {
    if (!value.is_tensor()) return std::nullopt;  // a size that is known only at run time, or a list
    const etb_graph_spec spec = value.spec();
    out.dtypes += fmt::format(" {}", spec.dtype);
    out.ranks += fmt::format(" {}x{}", spec.dtype, spec.rank);
    out.is_dynamic = out.is_dynamic || spec.dynamic_dims != 0;
    for (uint32_t i = 0; i < spec.rank; ++i) out.is_packed = out.is_packed && spec.dim_order[i] == i;
    const auto dtype = static_cast<etb_dtype>(spec.dtype);
    out.is_float =
        out.is_float && !value.is_quantized() && (dtype == ETB_DTYPE_FLOAT32 || dtype == ETB_DTYPE_FLOAT16);
  }
  out.is_float = out.is_float && node.op_name().find("quant") == std::string_view::npos;
  return out;
}

constexpr int kMostStatic = 200;  // nodes that are asked about again
// The ids that the contract names. Others are the vendor's.
const std::set<std::string> kKnown = {"op", "dtype", "rank", "layout", "dynamic", "quant", "attribute"};

// Returns the ops whose rows have a constraint: a dtype or rank may then depend on an attribute.
std::set<std::string> restricted_ops(const std::vector<OpFacts>& rows) {
  std::set<std::string> out;
  for (const OpFacts& row : rows)
    if (!row.constraint.empty()) out.insert(row.op);
  return out;
}

struct Rejection {
  std::string name, reason, text;
  NodeFacts facts;
  bool is_listed = false;  // a row without a constraint has the node
};

// Reasons that a row without a constraint excludes.
const std::set<std::string> kOfRows = {"attribute", "rank", "layout", "dynamic"};

// True if a row without a constraint describes all operands of the only node of this image.
bool is_listed(const std::vector<OpFacts>& rows, const BuiltCase& built) {
  bool is_asked = false;
  const OpFacts* const row = find_row(rows, built, is_asked);
  const auto view = graph::View::open(built.image.span());
  return row != nullptr && view && row->constraint.empty() && covers_all(*row, view->method().node(0));
}

// Claimed nodes: the names of cases by op, by op and dtypes, and by op, dtypes and ranks.
using Claimed = std::map<std::string, std::string>;

std::string op_of(const NodeFacts& facts) { return facts.dtypes.substr(0, facts.dtypes.find(' ')); }

// Returns the image with static sizes, the largest ones.
Result<graph::ImageBytes> with_static_sizes(const graph::ImageBytes& image) {
  ETB_ASSIGN(MutableGraph graph, read_mutable_graph(image));
  for (uint32_t i = 0; i < graph.value_count(); ++i) graph.spec_of(i).dynamic_dims.clear();
  return write_image(graph);
}

// A node that is rejected only because its sizes are dynamic is rejected for that reason, or for one of the vendor's.
bool is_only_dynamic(Subject& subject, const Rejection& item) {
  const Case* const found = find_case(item.name);
  const Result<BuiltCase> built =
      found != nullptr ? found->build(item.name) : make_error(Code::NOT_FOUND, "");
  if (!built) return false;
  const Result<graph::ImageBytes> image = with_static_sizes(built->image);
  return image && partition(subject, *image).is_whole_claim();
}

// Returns the fact that contradicts the reason, "" if there is none.
std::string contradiction(const Rejection& item, const Claimed& claimed, bool is_restricted) {
  const auto find = [&](const std::string& key, const char* what) {
    const auto found = claimed.find(key);
    return found != claimed.end() ? fmt::format("{} is claimed with {}", found->second, what) : std::string();
  };
  if (item.reason == "op") return find(op_of(item.facts), "this op");
  if (item.reason == "dtype" && !is_restricted) return find(item.facts.dtypes, "the same dtypes");
  if (item.reason == "rank" && !is_restricted) return find(item.facts.ranks, "the same ranks and dtypes");
  if (item.reason == "dynamic" && !item.facts.is_dynamic) return "all sizes are static";
  if (item.reason == "layout" && item.facts.is_packed)
    return "all tensors have the order of their dimensions";
  if (item.reason == "quant" && item.facts.is_float) return "all tensors are floats without a quantisation";
  return "";
}

// True if some case of the op with dynamic sizes is claimed.
bool has_dynamic_claim(Subject& subject, const std::string& op) {
  for (const Case& item : all_cases()) {
    if (item.op != op || !item.name.starts_with("dyn.")) continue;
    const Result<BuiltCase> built = item.build(item.name);
    if (built && partition(subject, built->image).is_whole_claim()) return true;
  }
  return false;
}

// A row says that an op takes dynamic sizes, and its nodes are rejected because they have some.
void expect_dynamic_claims(CheckContext& context, Subject& subject, const std::vector<OpFacts>& rows,
                           const Claimed& claimed, const std::vector<Rejection>& rejections) {
  constexpr size_t kEnough = 3;
  std::map<std::string, std::vector<const Rejection*>> dynamic;
  for (const Rejection& item : rejections)
    if (item.reason == "dynamic") dynamic[op_of(item.facts)].push_back(&item);
  for (const auto& [op, items] : dynamic) {
    const bool has_row = std::any_of(rows.begin(), rows.end(), [&](const OpFacts& row) {
      return row.op == op && (row.flags & ETB_OP_DYNAMIC_SIZES) != 0;
    });
    if (has_row && items.size() >= kEnough && claimed.contains(op) && !has_dynamic_claim(subject, op))
      context.fail(
          fmt::format("a row of {} has ETB_OP_DYNAMIC_SIZES, and all {} nodes with dynamic sizes are "
                      "rejected for them, such as {}",
                      op, items.size(), items.front()->name));
  }
}

void reasons_are_true(CheckContext& context) {
  constexpr size_t kStep = 13;
  const auto subject = context.open(bare());
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  const std::vector<OpFacts> rows = op_rows_of(context, *subject),
                             own_rows = has_own_rows(context.spec()) ? rows : std::vector<OpFacts>{};
  const std::set<std::string> restricted = restricted_ops(rows);
  Claimed claimed;
  std::vector<Rejection> rejections;
  const auto& cases = all_cases();
  for (size_t i = 0; i < cases.size(); i += kStep) {
    const Result<BuiltCase> built = cases[i].build(cases[i].name);
    const auto facts = built ? facts_of(built->image) : std::nullopt;
    if (!facts) continue;
    const Answers answers = partition(*subject, built->image);
    if (answers.is_whole_claim()) {
      claimed.try_emplace(op_of(*facts), cases[i].name);
      claimed.try_emplace(facts->dtypes, cases[i].name);
      claimed.try_emplace(facts->ranks, cases[i].name);
    } else if (answers.reasons.size() == 1) {
      const std::string& text = answers.reasons.begin()->second;
      rejections.push_back(
          {cases[i].name, text.substr(0, text.find(':')), text, *facts, is_listed(own_rows, *built)});
    }
  }
  expect_dynamic_claims(context, *subject, own_rows, claimed, rejections);
  int asked_count = 0;
  std::set<std::string> failed;  // ops, one finding for each
  for (const Rejection& item : rejections) {
    if (item.is_listed && kOfRows.contains(item.reason) && failed.insert(op_of(item.facts)).second)
      context.fail(fmt::format("{} is rejected ({}), but a row of the op table without a constraint has it",
                               item.name, item.text));
    if (item.facts.is_dynamic && item.reason != "dynamic" && item.reason != "op" &&
        kKnown.contains(item.reason) && ++asked_count <= kMostStatic && is_only_dynamic(*subject, item))
      context.fail(
          fmt::format("{} is rejected with the reason '{}', but the same node is claimed with static sizes, "
                      "expected 'dynamic'",
                      item.name, item.text));
    if (!kKnown.contains(item.reason) && item.reason.find('.') == std::string::npos)
      context.fail(fmt::format("{} is rejected with the reason '{}', expected {} or reverse DNS", item.name,
                               item.reason, fmt::join(kKnown, ", ")));
    else if (const std::string why = contradiction(item, claimed, restricted.contains(op_of(item.facts)));
             !why.empty())
      context.fail(fmt::format("{} is rejected with the reason '{}', but {}", item.name, item.text, why));
    if (context.outcome().findings.size() > 3) return;
  }
}

constexpr Check kChecks[] = {
    {"aot.reasons-are-true", "Reasons of rejections are known ones, and other claims do not contradict them.",
     "ABI-AOT-01", reasons_are_true},
};

}  // namespace

std::span<const Check> reason_checks() { return kChecks; }

}  // namespace etb::conformance
