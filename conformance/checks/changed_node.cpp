// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/changed_node.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/window.hpp"

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;

// Values of an argument that are valid beside any other arguments, and change neither sizes nor types of results.
struct KnownValues {
  std::string_view argument;
  std::vector<double> numbers = {};
  std::vector<int64_t> flags = {};
  std::vector<std::string> texts = {};
  bool may_be_none = false;
};

const std::vector<KnownValues>& known_values() {
  static const std::vector<KnownValues> kAll = {
      {.argument = "alpha", .numbers = {1}},
      {.argument = "beta", .numbers = {1}},
      {.argument = "input_scale", .numbers = {1}},
      {.argument = "eps", .numbers = {1e-5}},
      {.argument = "negative_slope", .numbers = {0.01}},
      {.argument = "exponent", .numbers = {2}},
      {.argument = "value", .numbers = {0}},
      {.argument = "decimals", .numbers = {0}},
      {.argument = "diagonal", .numbers = {0}},
      {.argument = "dropout_p", .numbers = {0}},
      {.argument = "correction", .numbers = {0, 1}},
      {.argument = "unbiased", .flags = {0, 1}},
      {.argument = "count_include_pad", .flags = {0, 1}},
      {.argument = "divisor_override", .may_be_none = true},
      {.argument = "align_corners", .flags = {0, 1}},
      {.argument = "is_causal", .flags = {0}},
      {.argument = "descending", .flags = {0, 1}},
      {.argument = "stable", .flags = {0, 1}},
      {.argument = "sorted", .flags = {0, 1}},
      {.argument = "largest", .flags = {0, 1}},
      {.argument = "right", .flags = {0, 1}},
      {.argument = "include_self", .flags = {0, 1}},
      {.argument = "accumulate", .flags = {0}},
      {.argument = "scale_grad_by_freq", .flags = {0}},
      {.argument = "sparse", .flags = {0}},
      {.argument = "approximate", .texts = {"none", "tanh"}},
      {.argument = "rounding_mode", .texts = {"floor", "trunc"}},
      {.argument = "reduce", .texts = {"sum", "prod", "mean", "amax", "amin"}},
      {.argument = "bias", .may_be_none = true},
      {.argument = "attn_mask", .may_be_none = true},
  };
  return kAll;
}

std::string text_of(const ArgumentDesc& arg) {
  switch (arg.kind) {
    case ETB_GRAPH_ARGUMENT_NONE:
      return "left out";
    case ETB_GRAPH_ARGUMENT_FLOAT:
      return fmt::format("{}", arg.as_float);
    case ETB_GRAPH_ARGUMENT_STRING:
      return "'" + arg.text + "'";
    case ETB_GRAPH_ARGUMENT_BOOL:
      return arg.as_int != 0 ? "true" : "false";
    default:
      return fmt::format("{}", arg.as_int);
  }
}

// The known values of the same kind as the argument has.
std::vector<ArgumentDesc> values_for(const ArgumentDesc& arg) {
  std::vector<ArgumentDesc> out;
  for (const KnownValues& known : known_values()) {
    if (known.argument != arg.name) continue;
    for (const double number : known.numbers) {
      if (arg.kind == ETB_GRAPH_ARGUMENT_FLOAT) out.push_back(graph::float_arg(number, arg.name));
      if (arg.kind == ETB_GRAPH_ARGUMENT_INT)
        out.push_back(graph::int_arg(static_cast<int64_t>(number), arg.name));
    }
    if (arg.kind == ETB_GRAPH_ARGUMENT_BOOL)
      for (const int64_t flag : known.flags) out.push_back(graph::bool_arg(flag != 0, arg.name));
    if (arg.kind == ETB_GRAPH_ARGUMENT_STRING)
      for (const std::string& text : known.texts) out.push_back(graph::string_arg(text, arg.name));
    if (known.may_be_none && arg.kind != ETB_GRAPH_ARGUMENT_NONE) out.push_back(graph::none_arg(arg.name));
  }
  return out;
}

bool is_equal(const ArgumentDesc& a, const ArgumentDesc& b) {
  return a.kind == b.kind && a.as_int == b.as_int && a.as_float == b.as_float && a.text == b.text;
}

const ArgumentDesc* find_argument(const MutableGraph::Node& node, std::string_view name) {
  const auto found = std::find_if(node.args.begin(), node.args.end(),
                                  [&](const ArgumentDesc& arg) { return arg.name == name; });
  return found != node.args.end() ? &*found : nullptr;
}

// Returns a list argument, or `otherwise` if it is missing or empty.
std::vector<int64_t> list_of(const MutableGraph::Node& node, std::string_view name,
                             const std::vector<int64_t>& otherwise) {
  const ArgumentDesc* const arg = find_argument(node, name);
  return arg != nullptr && !arg->ints.empty() ? arg->ints : otherwise;
}

// True if a pool has as many windows with ceil_mode as without.
bool has_whole_windows(const MutableGraph::Node& node, const graph::SpecDesc& image) {
  const std::vector<int64_t> kernel = list_of(node, "kernel_size", {}),
                             stride = list_of(node, "stride", kernel),
                             padding = list_of(node, "padding", {0}),
                             dilation = list_of(node, "dilation", {1});
  const size_t rank = node.results[0].sizes.size();
  if (kernel.size() < 2 || rank < kernel.size() || image.sizes.size() != rank) return false;
  for (size_t i = 0; i < kernel.size(); ++i) {
    ops::Numbers numbers;
    const auto item = [&](const std::vector<int64_t>& list) { return ops::item_of(list, i).value_or(1); };
    const ops::Window window{.kernel = kernel[i],
                             .stride = item(stride),
                             .dilation = item(dilation),
                             .padding_before = item(padding),
                             .padding_after = item(padding)};
    const int64_t size = image.sizes[rank - kernel.size() + i];
    int64_t down = 0, up = 0;
    if (ops::count_positions(numbers, size, window, ops::WindowRounding::kDown, &down) !=
            ops::WindowError::kNone ||
        ops::count_positions(numbers, size, window, ops::WindowRounding::kUp, &up) !=
            ops::WindowError::kNone ||
        down != up)
      return false;
  }
  return true;
}

void add_values(const MutableGraph& graph, std::vector<Change>& out) {
  const MutableGraph::Node& node = graph.nodes[0];
  for (size_t i = 0; i < node.args.size(); ++i) {
    const ArgumentDesc& arg = node.args[i];
    std::vector<ArgumentDesc> values = values_for(arg);
    const ArgumentDesc* const self = find_argument(node, "self");
    if (arg.name == "ceil_mode" && arg.kind == ETB_GRAPH_ARGUMENT_BOOL && self != nullptr &&
        self->kind == ETB_GRAPH_ARGUMENT_VALUE && has_whole_windows(node, graph.spec_of(self->value)))
      values.push_back(graph::bool_arg(arg.as_int == 0, arg.name));
    for (const ArgumentDesc& value : values) {
      if (is_equal(value, arg)) continue;
      MutableGraph changed = graph;
      changed.nodes[0].args[i] = value;
      std::vector<uint32_t> taken;
      out.push_back({ChangeKind::kValue, arg.name, fmt::format("{} is {}", arg.name, text_of(value)),
                     slice(changed, 0, 1, taken)});
    }
  }
}

// A tensor becomes a constant with the bytes that a run passes, or an input.
void add_places(const MutableGraph& graph, const BuiltCase& built, std::vector<Change>& out) {
  std::vector<const TensorData*> passed(graph.inputs.size(), nullptr);
  size_t user = 0, constant_count = 0;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].constant)
      ++constant_count;
    else if (user < built.runs[0].size())
      passed[i] = &built.runs[0][user++];
  }
  for (const ArgumentDesc& arg : graph.nodes[0].args) {
    if (arg.kind != ETB_GRAPH_ARGUMENT_VALUE || arg.value >= graph.inputs.size()) continue;
    MutableGraph changed = graph;
    auto& constant = changed.inputs[arg.value].constant;
    const bool was_constant = constant.has_value();
    if (was_constant) {
      constant.reset();
    } else if (passed[arg.value] != nullptr && constant_count + 1 < graph.inputs.size()) {
      const std::vector<std::byte>& bytes = passed[arg.value]->bytes;
      const auto* const data = reinterpret_cast<const uint8_t*>(bytes.data());
      constant.emplace(data, data + bytes.size());
    } else {
      continue;  // all operands would be constants, which a compiler computes
    }
    out.push_back({ChangeKind::kPlace, arg.name,
                   fmt::format("{} is {}", arg.name, was_constant ? "no constant" : "a constant"),
                   std::move(changed)});
  }
}

}  // namespace

std::vector<Change> changes_of(const BuiltCase& built) {
  std::vector<Change> out;
  const Result<MutableGraph> graph = read_mutable_graph(built.image);
  if (!graph || graph->nodes.size() != 1 || built.runs.empty()) return out;
  const bool has_input = std::any_of(graph->inputs.begin(), graph->inputs.end(),
                                     [](const MutableGraph::Input& input) { return !input.constant; });
  if (!has_input) return out;
  add_values(*graph, out);
  add_places(*graph, built, out);
  return out;
}

}  // namespace etb::conformance
