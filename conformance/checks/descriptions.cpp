// SPDX-License-Identifier: Apache-2.0
// aot: one graph, described in ways that a compiler may choose: names, handles, constants outside of the image, symbols and
// constants without a reader.
#include <fmt/format.h>

#include <map>
#include <set>

#include "conformance/cases/mutable_graph.hpp"
#include "conformance/checks/all_runs.hpp"
#include "conformance/checks/default_arguments.hpp"
#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

using Change = void (*)(MutableGraph& graph);

void long_names(MutableGraph& graph) {
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    graph.inputs[i].name = std::string(300, 'w') + fmt::format("/état.{}:0 \"x\"", i);
  graph.result_names = std::string(300, 'r') + "/résultat%s";
}

void names_of_one_letter(MutableGraph& graph) {
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    graph.inputs[i].name = std::string(1 + i / 26, static_cast<char>('a' + i % 26));
  graph.result_names = "";
}

void large_handles(MutableGraph& graph) {
  uint32_t handle = UINT32_MAX - 7;
  for (MutableGraph::Node& node : graph.nodes) node.debug_handle = handle, handle -= 1000003;
}

void no_handles(MutableGraph& graph) {
  for (MutableGraph::Node& node : graph.nodes) node.debug_handle = 0;
}

void outside_constants(MutableGraph& graph) { graph.has_outside_constants = true; }

void unread_symbol(MutableGraph& graph) { graph.symbols.push_back({"unread", 2, 9, std::nullopt}); }

constexpr struct {
  const char* text;
  Change change;
  bool is_about_constants = false;
} kDescriptions[] = {
    {"long names with other characters", long_names},
    {"names of one letter", names_of_one_letter},
    {"large debug handles", large_handles},
    {"nodes without debug handles", no_handles},
    {"constants outside of the image", outside_constants, true},
    {"a symbol that nothing reads", unread_symbol},
};

std::map<std::string, std::vector<std::byte>> constants_of(const MutableGraph& graph) {
  std::map<std::string, std::vector<std::byte>> out;
  for (const MutableGraph::Input& input : graph.inputs)
    if (input.constant) {
      const auto* const data = reinterpret_cast<const std::byte*>(input.constant->data());
      out[input.name].assign(data, data + input.constant->size());
    }
  return out;
}

// Compiles and runs the graph. Returns a text if something differs from the case.
std::string try_graph(CheckContext& context, Subject& subject, const ClaimedCase& item,
                      const MutableGraph& graph) {
  Result<graph::ImageBytes> image = write_image(graph);
  if (!image) return "the suite cannot write it: " + image.error().message;
  if (!partition(subject, *image).is_whole_claim()) return "the nodes are not claimed";
  const auto constants = constants_of(graph);
  const Compiled compiled = compile(subject, *image, {.outside_constants = &constants});
  if (compiled.status != ETB_OK) return "compile fails: " + compiled.error;
  BuiltCase built = item.built;
  built.image = std::move(*image);
  const auto session = CaseSession::make(subject, built, compiled.payload);
  if (!session) return "create fails: " + session.error().message;
  return make_all_runs(context, **session, item);
}

void other_descriptions(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  std::vector<ClaimedCase> items = context.claimed(*subject, context.cases(24, std::size(kDescriptions)));
  for (const char* pattern : {"op.*_w*", "quant.*_w*", "dyn.*", "model.*"})
    for (ClaimedCase& item :
         context.find_claimed_of_ops(*subject, pattern, context.cases(12, std::size(kDescriptions))))
      items.push_back(std::move(item));
  for (const ClaimedCase& item : items) {
    const Result<MutableGraph> graph = read_mutable_graph(item.built.image);
    // A form that loses what the plugin needs, such as the order of names, is not tried.
    if (!graph || !try_graph(context, *subject, item, *graph).empty()) continue;
    const bool has_constants = !constants_of(*graph).empty();
    for (const auto& [text, change, is_about_constants] : kDescriptions) {
      if (is_about_constants && !has_constants) continue;
      context.progress().restart();
      context.progress().at(fmt::format("{} with {}", item.item->name, text).c_str());
      MutableGraph changed = *graph;
      change(changed);
      if (const std::string found = try_graph(context, *subject, item, changed); !found.empty())
        return context.fail(fmt::format("{}: described with {}, {}", item.item->name, text, found));
    }
  }
}

// ---- arguments that equal their defaults

constexpr struct {
  const char* text;
  bool (*change)(MutableGraph& graph);
} kDefaultChanges[] = {{"arguments left out that equal their defaults", leave_out_defaults},
                       {"the defaults of missing arguments spelled out", spell_out_defaults}};

std::string argument_names(const MutableGraph& graph) {
  std::string out;
  for (const MutableGraph::Node& node : graph.nodes)
    for (const graph::ArgumentDesc& arg : node.args) out += arg.name + " ";
  return out;
}

// Cases of ops that the plugin lists, one for each list of arguments that a change takes away or adds.
std::vector<ClaimedCase> with_default_arguments(CheckContext& context, Subject& subject) {
  constexpr size_t kOfOp = 40;
  std::map<std::string, std::vector<const Case*>> by_op;
  for (const Case& item : all_cases())
    if (!item.name.starts_with("dyn.") && item.name.find(".large") == std::string::npos &&
        subject.lists(item))
      by_op[item.op].push_back(&item);
  std::vector<ClaimedCase> out;
  for (const auto& [op, cases] : by_op) {
    std::set<std::string> seen;
    context.progress().restart();
    for (size_t i = 0; i < cases.size(); i += cases.size() / kOfOp + 1) {
      Result<BuiltCase> built = cases[i]->build(cases[i]->name);
      const Result<MutableGraph> graph =
          built ? read_mutable_graph(built->image) : Result<MutableGraph>(tl::make_unexpected(built.error()));
      if (!graph) continue;
      std::string names = argument_names(*graph);
      bool is_changed = false;
      for (const auto& [text, change] : kDefaultChanges) {
        MutableGraph changed = *graph;
        is_changed = change(changed) || is_changed;
        names += "> " + argument_names(changed);
      }
      if (is_changed && !seen.contains(names) && partition(subject, built->image).is_whole_claim()) {
        seen.insert(names);
        out.push_back({cases[i], std::move(*built), {}});
      }
    }
  }
  return out;
}

// Arguments that equal their defaults may be missing, in the middle, too: they are found by name.
void default_arguments(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  for (const ClaimedCase& item : with_default_arguments(context, *subject)) {
    const Result<MutableGraph> graph = read_mutable_graph(item.built.image);
    // A form that loses what the plugin needs, such as the order of names, is not tried.
    if (!graph || !try_graph(context, *subject, item, *graph).empty()) continue;
    for (const auto& [text, change] : kDefaultChanges) {
      MutableGraph changed = *graph;
      if (!change(changed)) continue;
      context.progress().restart();
      context.progress().at(fmt::format("{} with {}", item.item->name, text).c_str());
      if (const std::string found = try_graph(context, *subject, item, changed); !found.empty())
        return context.fail(fmt::format("{} ({}): with {}, {}", item.item->name, item.item->op, text, found));
    }
  }
}

constexpr Check kChecks[] = {
    {"aot.default-arguments",
     "A graph is claimed and computed alike whether arguments that equal their defaults are missing or not.",
     "", default_arguments},
    {"aot.other-descriptions",
     "A graph is claimed and computed alike with other names, debug handles and places of constants.",
     "ABI-AOT-02", other_descriptions},
};

}  // namespace

std::span<const Check> description_checks() { return kChecks; }

}  // namespace etb::conformance
