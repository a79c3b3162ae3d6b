// SPDX-License-Identifier: Apache-2.0
// aot: constraints of the op table name conditions that are proven. Two nodes differ in one argument; the plugin
// rejects the one and claims the other.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "conformance/checks/changed_node.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/op_table.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMostCases = 120;    // number of cases of one op
constexpr int kMostOfChange = 6;      // questions about one change of an op's argument
constexpr int kMostQuestions = 2000;  // about changed nodes

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Other words for arguments.
struct OtherWord {
  std::string_view argument, word;
};
constexpr OtherWord kOtherWords[] = {{"alpha", "factor"},
                                     {"beta", "factor"},
                                     {"scale", "factor"},
                                     {"input_scale", "factor"},
                                     {"value", "zero"},
                                     {"value", "fill"},
                                     {"approximate", "tanh"},
                                     {"approximate", "erf"},
                                     {"approximate", "exact"},
                                     {"exponent", "power"},
                                     {"exponent", "square"},
                                     {"correction", "bias"},
                                     {"correction", "sample"},
                                     {"unbiased", "correct"},
                                     {"unbiased", "sample"},
                                     {"unbiased", "bias"},
                                     {"largest", "small"},
                                     {"descending", "order"},
                                     {"descending", "ascend"},
                                     {"dim", "axis"},
                                     {"dim", "axes"},
                                     {"dim", "last"},
                                     {"dim", "inner"},
                                     {"dim", "channel"},
                                     {"dim", "row"},
                                     {"reduce", "sum"},
                                     {"self", "input"},
                                     {"self", "first"},
                                     {"self", "left"},
                                     {"self", "bias"},
                                     {"self", "addend"},
                                     {"other", "second"},
                                     {"other", "right"},
                                     {"weight", "filter"},
                                     {"weight", "kernel"},
                                     {"weight", "gamma"},
                                     {"weight", "slope"},
                                     {"bias", "weights"},
                                     {"running_mean", "statist"},
                                     {"running_var", "statist"},
                                     {"mat1", "left"},
                                     {"mat2", "right"},
                                     {"mat1", "first"},
                                     {"mat2", "second"},
                                     {"mat2", "weight"},
                                     {"batch2", "second"},
                                     {"batch2", "right"},
                                     {"indices", "index"}};

// True if a sentence has the beginning of a word of an argument's name, or another word for it.
bool has_name(const std::string& sentence, std::string_view argument) {
  constexpr size_t kStem = 5, kShortest = 3;
  const auto has = [&](std::string_view word) { return sentence.find(word) != std::string::npos; };
  if (has(argument)) return true;
  for (size_t begin = 0; begin < argument.size();) {
    const size_t end = std::min(argument.find('_', begin), argument.size());
    if (end - begin >= kShortest && has(argument.substr(begin, std::min(end - begin, kStem)))) return true;
    begin = end + 1;
  }
  return std::any_of(std::begin(kOtherWords), std::end(kOtherWords),
                     [&](const OtherWord& other) { return other.argument == argument && has(other.word); });
}

template <size_t N>
bool has_any(const std::string& sentence, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return sentence.find(word) != std::string::npos; });
}

// True if a sentence says which operand is a constant, or that operands in general are or are not.
bool names_operand(const std::string& sentence, std::string_view argument, const MutableGraph& graph) {
  constexpr std::array<std::string_view, 8> kPlaces = {"constant",     "comput", "run time",  "runtime",
                                                       "compile time", "known",  "parameter", "fixed"};
  constexpr std::array<std::string_view, 5> kAll = {"operands", "tensors", "inputs", "arguments", "default"};
  if (!has_any(sentence, kPlaces)) return false;
  if (has_any(sentence, kAll) || has_name(sentence, argument)) return true;
  const std::vector<graph::ArgumentDesc>& args = graph.nodes[0].args;
  return std::none_of(args.begin(), args.end(), [&](const graph::ArgumentDesc& arg) {
    return arg.kind == ETB_GRAPH_ARGUMENT_VALUE && has_name(sentence, arg.name);
  });
}

// True if a sentence speaks of what a change changes.
bool names(const std::string& sentence, const Change& change) {
  if (change.kind == ChangeKind::kPlace) return names_operand(sentence, change.argument, change.graph);
  return sentence.find("default") != std::string::npos || has_name(sentence, change.argument);
}

// True if a rejection needs no other condition than those that the row has: it is about types, ranks, layouts or sizes,
// or its text speaks of an argument that the constraint names.
bool is_explained(const std::string& sentence, const std::string& reason, const MutableGraph& graph) {
  constexpr std::array<std::string_view, 6> kOfRows = {
      "op:", "dtype:", "rank:", "layout:", "dynamic:", "quant:"};
  if (std::any_of(kOfRows.begin(), kOfRows.end(),
                  [&](std::string_view id) { return reason.starts_with(id); }))
    return true;
  const std::string text = to_lower(reason);
  const std::vector<graph::ArgumentDesc>& args = graph.nodes[0].args;
  return std::any_of(args.begin(), args.end(), [&](const graph::ArgumentDesc& arg) {
    return has_name(text, arg.name) && has_name(sentence, arg.name);
  });
}

// Rows of an op, and its cases.
struct OpRows {
  std::string constraint;  // constraints of all rows of the op
  std::vector<const Case*> cases;
};

std::map<std::string, OpRows> rows_by_op(const std::vector<OpFacts>& rows) {
  std::map<std::string, OpRows> out;
  for (const OpFacts& row : rows) {
    std::string& text = out[row.op].constraint;
    text += (text.empty() || row.constraint.empty() ? "" : " ") + row.constraint;
  }
  for (const Case& item : all_cases())
    if (const auto found = out.find(item.op);
        found != out.end() && !item.name.starts_with("dyn.") && item.name.find(".large") == std::string::npos)
      found->second.cases.push_back(&item);
  return out;
}

// Asks for nodes of an op, and for each rejected one again with one argument changed.
class Questions {
 public:
  Questions(CheckContext& context, Subject& subject, const std::vector<OpFacts>& rows)
      : context_(context), subject_(subject), rows_(rows) {}

  // Adds a finding for a condition that the constraint of the op does not name.
  void ask(const std::string& op, const OpRows& item) {
    const std::string sentence = to_lower(item.constraint);
    std::map<std::string, int> asked;  // by change
    const size_t step = item.cases.size() / kMostCases + 1;
    for (size_t i = 0; i < item.cases.size() && question_count_ < kMostQuestions; i += step) {
      const Result<BuiltCase> built = item.cases[i]->build(item.cases[i]->name);
      if (!built || !is_listed(*built)) continue;
      std::vector<Change> changes = changes_of(*built);
      std::erase_if(changes, [&](const Change& change) {
        return names(sentence, change) || asked[change.text] >= kMostOfChange;
      });
      if (changes.empty()) continue;
      const Answers answers = partition(subject_, built->image);
      if (answers.is_whole_claim() || answers.reasons.empty()) continue;
      const std::string& reason = answers.reasons.begin()->second;
      if (is_explained(sentence, reason, changes[0].graph)) continue;
      for (const Change& change : changes) {
        ++asked[change.text];
        ++question_count_;
        const Result<graph::ImageBytes> image = write_image(change.graph);
        if (!image || !partition(subject_, *image).is_whole_claim()) continue;
        return context_.fail(fmt::format(
            "the constraint of {}, '{}', does not name {}: {} is rejected ({}), and claimed when {}", op,
            item.constraint, change.argument, item.cases[i]->name, reason, change.text));
      }
    }
  }

 private:
  // True if a row describes all operands of the only node.
  bool is_listed(const BuiltCase& built) const {
    bool is_asked = false;
    const OpFacts* const row = find_row(rows_, built, is_asked);
    const auto view = graph::View::open(built.image.span());
    return row != nullptr && view && covers_all(*row, view->method().node(0));
  }

  CheckContext& context_;
  Subject& subject_;
  const std::vector<OpFacts>& rows_;
  int question_count_ = 0;
};

void constraints_name_conditions(CheckContext& context) {
  constexpr size_t kMostFindings = 3;
  if (!has_own_rows(context.spec()))
    return context.skip("'" + context.spec().backend_id + "' is not the plugin's first delegate id");
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  const std::vector<OpFacts> rows = op_rows_of(context, *subject);
  Questions questions(context, *subject, rows);
  for (const auto& [op, item] : rows_by_op(rows)) {
    context.progress().restart();
    context.progress().at("partition of a node with one change");
    questions.ask(op, item);
    if (context.outcome().findings.size() >= kMostFindings) return;
  }
}

constexpr Check kChecks[] = {
    {"aot.constraints-name-conditions",
     "Where one argument of a node that a row lists decides between claim and rejection, the row's "
     "constraint "
     "names it.",
     "", constraints_name_conditions},
};

}  // namespace

std::span<const Check> constraint_checks() { return kChecks; }

}  // namespace etb::conformance
