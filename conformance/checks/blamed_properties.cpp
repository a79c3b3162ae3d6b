// SPDX-License-Identifier: Apache-2.0
// aot: the reason of a rejection names the property that decides. A rejected node is asked about again with one property
// changed: its types, layouts, dynamic sizes, or one argument.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "conformance/checks/changed_node.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/op_table.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kStep = 5;            // every fifth case is asked about
constexpr int kMostOfText = 3;         // rejections of an op with one text
constexpr int kMostOfReason = 40;      // rejections of an op for one reason
constexpr int kMostQuestions = 12000;  // about changed nodes
constexpr size_t kMostFindings = 3;

void change_dtype(MutableGraph& graph, etb_dtype from, etb_dtype to) {
  for (uint32_t value = 0; value < graph.value_count(); ++value)
    if (auto& spec = graph.spec_of(value); spec.dtype == from) spec.dtype = to;
}

// Returns the graph with other types: all tensors of the type `from`, or all but those of bools.
std::optional<MutableGraph> with_dtype(const MutableGraph& graph, std::optional<etb_dtype> from,
                                       etb_dtype to) {
  MutableGraph out = graph;
  for (MutableGraph::Input& input : out.inputs) {
    const auto dtype = static_cast<etb_dtype>(input.spec.dtype);
    const bool is_changed = from ? dtype == *from : dtype != ETB_DTYPE_BOOL;
    if (!input.constant || !is_changed || dtype == to) continue;
    const size_t size = element_nbytes(dtype), count = size != 0 ? input.constant->size() / size : 0;
    std::vector<uint8_t> bytes(count * element_nbytes(to));
    for (size_t i = 0; i < count; ++i)
      store_element(to, bytes.data(), static_cast<int64_t>(i),
                    load_element(dtype, input.constant->data(), static_cast<int64_t>(i)));
    input.constant = std::move(bytes);
  }
  if (from) {
    change_dtype(out, *from, to);
    return out;
  }
  for (uint32_t value = 0; value < out.value_count(); ++value)
    if (auto& spec = out.spec_of(value); spec.dtype != ETB_DTYPE_BOOL) spec.dtype = to;
  return out;
}

bool is_packed(const MutableGraph& graph) {
  for (uint32_t value = 0; value < graph.value_count(); ++value)
    if (!graph.spec_of(value).dim_order.empty()) return false;
  return true;
}

bool is_static(const MutableGraph& graph) {
  for (uint32_t value = 0; value < graph.value_count(); ++value)
    if (!graph.spec_of(value).dynamic_dims.empty()) return false;
  return true;
}

// True if the node has numbers, flags or texts beside tensors.
bool has_attributes(const MutableGraph& graph) {
  const std::vector<graph::ArgumentDesc>& args = graph.nodes[0].args;
  return std::any_of(args.begin(), args.end(), [](const graph::ArgumentDesc& arg) {
    return arg.kind != ETB_GRAPH_ARGUMENT_VALUE && arg.kind != ETB_GRAPH_ARGUMENT_VALUES &&
           arg.kind != ETB_GRAPH_ARGUMENT_NONE;
  });
}

// A node with one property changed.
struct Alternative {
  std::string reason;  // the id of the property
  std::string text;
  MutableGraph graph;
};

class Blame {
 public:
  Blame(CheckContext& context, Subject& subject) : context_(context), subject_(subject) {
    for (const OpFacts& row : op_rows_of(context, subject))
      dtypes_[row.op].insert(row.dtypes.begin(), row.dtypes.end());
  }

  bool is_over() const {
    return question_count_ >= kMostQuestions || context_.outcome().findings.size() >= kMostFindings;
  }

  // Asks about a case. Adds a finding if it is rejected for a property that does not decide, and another one does.
  void ask(const Case& item) {
    const auto listed = dtypes_.find(item.op);
    if (listed == dtypes_.end() || failed_.contains(item.op)) return;
    const Result<BuiltCase> built = item.build(item.name);
    if (!built) return;
    const Result<MutableGraph> graph = read_mutable_graph(built->image);
    if (!graph || graph->nodes.size() != 1) return;
    const Answers answers = partition(subject_, built->image);
    if (answers.is_whole_claim() || answers.reasons.size() != 1) return;
    const std::string& text = answers.reasons.begin()->second;
    const std::string reason = text.substr(0, text.find(':'));
    const bool is_asked = reason == "dtype" || reason == "layout" || reason == "dynamic" ||
                          (reason == "attribute" && !has_attributes(*graph));
    const auto first = static_cast<etb_dtype>(graph->spec_of(0).dtype);
    if (!is_asked || (reason == "dtype" && !listed->second.contains(first))) return;
    if (++asked_[item.op + text] > kMostOfText || ++asked_[item.op + reason] > kMostOfReason) return;
    const std::vector<Alternative> alternatives = alternatives_of(*built, *graph, listed->second);
    const Alternative* const decides = find_claimed(alternatives, reason, false);
    if (decides == nullptr || find_claimed(alternatives, reason, true) != nullptr) return;
    failed_.insert(item.op);
    context_.fail(fmt::format(
        "{} is rejected with the reason '{}' ({}), but is claimed when {}, and with no other {} alone",
        item.name, reason, text, decides->text, reason == "attribute" ? "argument" : reason));
  }

 private:
  std::vector<Alternative> alternatives_of(const BuiltCase& built, const MutableGraph& graph,
                                           const std::set<etb_dtype>& listed) const {
    std::vector<Alternative> out;
    if (!is_packed(graph)) {
      out.push_back({"layout", "all tensors are row-major", graph});
      for (uint32_t value = 0; value < graph.value_count(); ++value)
        out.back().graph.spec_of(value).dim_order.clear();
    }
    if (!is_static(graph)) {
      out.push_back({"dynamic", "all sizes are static", graph});
      for (uint32_t value = 0; value < graph.value_count(); ++value)
        out.back().graph.spec_of(value).dynamic_dims.clear();
    }
    for (Change& change : changes_of(built))
      if (change.text.find("left out") == std::string::npos)  // a tensor that is missing has no type
        out.push_back({"attribute", change.text, std::move(change.graph)});
    const auto first = static_cast<etb_dtype>(graph.spec_of(0).dtype);
    std::set<etb_dtype> dtypes = listed;
    dtypes.insert(ETB_DTYPE_FLOAT32);
    for (const etb_dtype dtype : dtypes)
      for (const std::optional<etb_dtype> from : {std::optional(first), std::optional<etb_dtype>()})
        if (std::optional<MutableGraph> changed = with_dtype(graph, from, dtype))
          out.push_back(
              {"dtype",
               fmt::format("{} {}", from ? "tensors of its type are" : "all numbers are", short_name(dtype)),
               std::move(*changed)});
    return out;
  }

  // Returns the first claimed alternative of the reason, or of any other one. Among the others, types and places of constants
  // are left out: other types often mean another op, and no id of the contract names the place.
  const Alternative* find_claimed(const std::vector<Alternative>& alternatives, const std::string& reason,
                                  bool is_own) {
    for (const Alternative& item : alternatives) {
      if ((item.reason == reason) != is_own) continue;
      if (!is_own && (item.reason == "dtype" || item.text.find("constant") != std::string::npos)) continue;
      ++question_count_;
      const Result<graph::ImageBytes> image = write_image(item.graph);
      if (image && partition(subject_, *image).is_whole_claim()) return &item;
    }
    return nullptr;
  }

  CheckContext& context_;
  Subject& subject_;
  std::map<std::string, std::set<etb_dtype>> dtypes_;  // that rows list, by op
  std::map<std::string, int> asked_;                   // by op, and reason or text
  std::set<std::string> failed_;                       // ops
  int question_count_ = 0;
};

void reasons_name_what_decides(CheckContext& context) {
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  Blame blame(context, *subject);
  const auto& cases = all_cases();
  for (size_t i = 0; i < cases.size() && !blame.is_over(); i += kStep) {
    if (cases[i].name.find(".large") != std::string::npos) continue;
    if (i % (64 * kStep) == 0) context.progress().restart();
    context.progress().at("partition of a node with one change");
    blame.ask(cases[i]);
  }
}

constexpr Check kChecks[] = {
    {"aot.reasons-name-what-decides",
     "A node that is rejected for its types, layouts or dynamic sizes is not claimed when only something "
     "else "
     "changes.",
     "ABI-AOT-01", reasons_name_what_decides},
};

}  // namespace

std::span<const Check> blamed_property_checks() { return kChecks; }

}  // namespace etb::conformance
