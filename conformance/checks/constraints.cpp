// SPDX-License-Identifier: Apache-2.0
// aot: constraints of the op table name the attributes for which nodes are rejected.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/op_table.hpp"
#include "conformance/subject/node_rows.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMostCases = 160;              // of an op
constexpr size_t kFewest = 3;                   // rejected cases that show a condition
constexpr size_t kMostValues = 6;               // an attribute with more values depends on the sizes
constexpr std::string_view kOfNode = "node: ";  // key of facts that are no arguments

// Arguments and other facts of a node as texts, by name.
using NodeValues = std::map<std::string, std::string>;

// Returns what a list of numbers looks like. The numbers themselves depend on the rank.
std::string to_class(const graph::arg::Ints& ints) {
  std::vector<int64_t> all;
  for (uint32_t i = 0; i < ints.size(); ++i) all.push_back(ints[i]);
  if (all.empty()) return "no number";
  const bool are_equal = std::all_of(all.begin(), all.end(), [&](int64_t item) { return item == all[0]; });
  return are_equal ? fmt::format("only {}", all[0]) : "different numbers";
}

// Returns "" for kinds that no condition depends on.
std::string text_of(const graph::Argument& argument, const std::vector<graph::Value>& operands) {
  if (argument.is_none()) return "none";
  if (const auto id = argument.value()) {
    const auto found = std::find_if(operands.begin(), operands.end(),
                                    [&](const graph::Value& value) { return value.id() == *id; });
    return found != operands.end() && found->is_constant_or_state() ? "a constant" : "a computed tensor";
  }
  if (const auto number = argument.as_int()) return fmt::format("{}", *number);
  if (const auto number = argument.as_float()) return fmt::format("{}", *number);
  if (const auto flag = argument.as_bool()) return fmt::format("{}", *flag);
  if (argument.kind() == ETB_GRAPH_ARGUMENT_STRING) return fmt::format("'{}'", argument.as_string());
  if (argument.kind() == ETB_GRAPH_ARGUMENT_INTS) return to_class(argument.ints());
  return "";
}

NodeValues values_of(const graph::Node& node) {
  NodeValues out;
  const std::vector<graph::Value> operands = node.operands();
  for (const graph::Argument& argument : node.args())
    if (std::string text = text_of(argument, operands); !text.empty())
      out[std::string(argument.name())] = std::move(text);
  for (size_t i = 0; i < operands.size(); ++i) {
    const etb_graph_spec spec = operands[i].spec();
    out[fmt::format("{}operand {}", kOfNode, i)] =
        fmt::format("dtype {}, rank {}, layout {}", spec.dtype, spec.rank, layouts_of(spec));
  }
  return out;
}

struct AskedNode {
  std::string name, reason;
  const OpFacts* row;
  NodeValues values;
  bool is_claimed = false;
};

// Asks for the cases of an op that a row with a constraint lists.
std::vector<AskedNode> ask(Subject& subject, const std::vector<OpFacts>& rows,
                           const std::vector<const Case*>& cases) {
  std::vector<AskedNode> out;
  const size_t step = cases.size() / kMostCases + 1;
  for (size_t i = 0; i < cases.size(); i += step) {
    const Result<BuiltCase> built = cases[i]->build(cases[i]->name);
    if (!built) continue;
    bool is_asked = false;
    const OpFacts* const row = find_row(rows, *built, is_asked);
    if (row == nullptr || row->constraint.empty()) continue;
    const auto view = graph::View::open(built->image.span());
    if (!view || !covers_all(*row, view->method().node(0))) continue;
    const Answers answers = partition(subject, built->image);
    out.push_back({cases[i]->name, answers.reasons.empty() ? answers.error : answers.reasons.begin()->second,
                   row, values_of(view->method().node(0)), answers.is_whole_claim()});
  }
  return out;
}

// Words for arguments in sentences that do not use their names.
const std::multimap<std::string, std::string_view> kOtherWords = {
    {"dim", "last"},         {"dim", "ax"},          {"dim", "inner"},     {"dim", "channel"},
    {"dims", "last"},        {"dims", "ax"},         {"dims", "adjacent"}, {"dims", "channel"},
    {"approximate", "tanh"}, {"approximate", "erf"}, {"dtype", "type"},    {"half_to_float", "float16"},
    {"unbiased", "correct"}, {"correction", "bias"}, {"exponent", "power"}};

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// True if a constraint speaks of an argument: it has the beginning of a word of its name, or another word for it.
bool names(const std::string& constraint, const std::string& argument) {
  constexpr size_t kStem = 5, kShortest = 3;
  const std::string text = to_lower(constraint);
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  if (has("default") || has(argument)) return true;
  for (size_t begin = 0; begin < argument.size();) {
    const size_t end = std::min(argument.find('_', begin), argument.size());
    if (end - begin >= kShortest &&
        has(std::string_view(argument).substr(begin, std::min(end - begin, kStem))))
      return true;
    begin = end + 1;
  }
  const auto [first, last] = kOtherWords.equal_range(argument);
  return std::any_of(first, last, [&](const auto& item) { return has(item.second); });
}

// Values of arguments that no claimed node has, while each other fact of their nodes is one of a claimed node: the
// value is why they are rejected. Rejected nodes by argument and value.
std::map<std::pair<std::string, std::string>, std::vector<const AskedNode*>> find_conditions(
    const std::vector<AskedNode>& nodes) {
  std::map<std::string, std::set<std::string>> claimed, all;
  for (const AskedNode& node : nodes)
    for (const auto& [name, value] : node.values) {
      all[name].insert(value);
      if (node.is_claimed) claimed[name].insert(value);
    }
  std::map<std::pair<std::string, std::string>, std::vector<const AskedNode*>> out;
  for (const AskedNode& node : nodes) {
    if (node.is_claimed) continue;
    std::vector<std::pair<std::string, std::string>> unseen;
    for (const auto& item : node.values)
      if (!claimed[item.first].contains(item.second)) unseen.push_back(item);
    if (unseen.size() == 1 && !unseen[0].first.starts_with(kOfNode) &&
        all[unseen[0].first].size() <= kMostValues)
      out[unseen[0]].push_back(&node);
  }
  return out;
}

void constraints_name_attributes(CheckContext& context) {
  if (!has_own_rows(context.spec()))
    return context.skip("'" + context.spec().backend_id + "' is not the plugin's first delegate id");
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  const std::vector<OpFacts> rows = op_rows_of(context, *subject);
  std::map<std::string, std::vector<const Case*>> cases;
  for (const OpFacts& row : rows)
    if (!row.constraint.empty()) cases[row.op];
  for (const Case& item : all_cases())
    if (const auto found = cases.find(item.op); found != cases.end() && !item.name.starts_with("dyn."))
      found->second.push_back(&item);
  for (const auto& [op, items] : cases) {
    const std::vector<AskedNode> nodes = ask(*subject, rows, items);
    for (const auto& [what, rejected] : find_conditions(nodes)) {
      const AskedNode& first = *rejected.front();
      if (rejected.size() < kFewest || names(first.row->constraint, what.first)) continue;
      context.fail(fmt::format(
          "the constraint of {}, '{}', does not name {}: nodes where it is {} are rejected, such as {} ({})",
          op, first.row->constraint, what.first, what.second, first.name, first.reason));
      break;
    }
    if (context.outcome().findings.size() > 3) return;
  }
}

constexpr Check kChecks[] = {
    {"aot.constraints-name-attributes",
     "The constraint of a row names each attribute whose values decide whether a node is claimed.", "",
     constraints_name_attributes},
};

}  // namespace

std::span<const Check> constraint_checks() { return kChecks; }

}  // namespace etb::conformance
