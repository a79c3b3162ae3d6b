// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/format/printable_text.hpp"
#include "tools/bench/table.hpp"
#include "tools/quantity.hpp"

namespace etb::diff {
namespace {

using Json = nlohmann::ordered_json;
using format::made_printable;
using tools::count_of;

struct NamedMetric {
  const char* name;
  double Metrics::*member;
};
constexpr NamedMetric kMetrics[] = {{"mse", &Metrics::mse},         {"l1", &Metrics::l1},
                                    {"snr", &Metrics::snr},         {"cosine", &Metrics::cosine},
                                    {"max_abs", &Metrics::max_abs}, {"max_rel", &Metrics::max_rel}};

std::string number(double value) { return fmt::format("{:.4g}", value); }

// Every comparison of a block's result, in order of execution.
struct Row {
  const NodesComparison* block;
  const ResultComparison* result;
  size_t block_index;
  double margin() const { return std::max(result->a.margin, result->b.margin); }
};
std::vector<Row> rows_of(const SearchResult& result) {
  std::vector<Row> out;
  for (size_t i = 0; i < result.blocks.size(); ++i)
    for (const ResultComparison& one : result.blocks[i].results) out.push_back({&result.blocks[i], &one, i});
  return out;
}

const ir::Node& node_of(const Model& model, uint32_t node) { return model.module().main().nodes[node]; }

std::string source_of(const Model& model, uint32_t node) {
  return ir::format_source(model.module(), node_of(model, node).source);
}

std::string first_values(const TensorData& tensor) {
  constexpr int64_t kShown = 6;
  const int64_t count = tensor.bytes.empty() ? 0 : tensor.shape.numel();
  std::string out = describe_shape(tensor) + (count == 0 ? "" : ":");
  for (int64_t i = 0; i < std::min(count, kShown); ++i)
    out += fmt::format("{} {:.6g}", i == 0 ? "" : ",",
                       conformance::load_element(tensor.shape.dtype, tensor.bytes.data(), i));
  return out + (count > kShown ? ", ..." : "");
}

// ---- Text.

// "conv, relu and 3 more"
std::string ops_of(const Model& model, const std::vector<uint32_t>& nodes) {
  constexpr size_t kShown = 2;
  std::string out;
  for (size_t i = 0; i < std::min(nodes.size(), kShown); ++i) {
    std::string op = model.op_of(nodes[i]);
    if (op.starts_with("aten.")) op = op.substr(5);
    out += (i == 0 ? "" : ", ") + op.substr(0, op.find('.'));
  }
  return made_printable(out +
                        (nodes.size() > kShown ? fmt::format(" and {} more", nodes.size() - kShown) : ""));
}

std::string verdict_text(const Side& side, const SideResult& result) {
  switch (result.verdict) {
    case Verdict::kWrong:
      if (result.value.bytes.empty() && result.margin == HUGE_VAL)
        return fmt::format("{} has no result: {}", side.name(), result.text);
      if (side.kind() == SideKind::kArchive)
        return fmt::format("{} has other numbers than quantisation explains: {} ({} times the bound)",
                           side.name(), result.text, number(result.margin));
      return fmt::format("{} is wrong: {} ({} times the bound)", side.name(), result.text,
                         number(result.margin));
    case Verdict::kRight:
      return fmt::format("{} is right: its largest error is {} of the bound", side.name(),
                         number(result.margin));
    case Verdict::kUnjudged:
      return side.name() + " has no reference here";
  }
  return "";
}

std::string describe_location(const ReportContext& context, const Comparison& comparison,
                              const Location& location, size_t index) {
  const Model& model = comparison.model();
  const ResultComparison* const wrong = location.comparison.find_wrong();
  if (wrong == nullptr) return "";
  std::string out;
  if (location.nodes.size() == 1) {
    out = fmt::format("{}, {}\n", model.node_name(location.nodes[0]), model.op_of(location.nodes[0]));
  } else {
    out = fmt::format("{}, {}:\n", count_of(location.nodes.size(), "node"),
                      comparison.has_recorded_side() ? "between tensors that both sides know"
                                                     : "which are wrong only together");
    for (const uint32_t node : location.nodes)
      out += fmt::format("            {}, {}\n", model.node_name(node), model.op_of(node));
  }
  const std::string source = source_of(model, wrong->node);
  out += fmt::format("  source    {}\n", source.empty() ? "unknown: the archive names none" : source);
  for (const Side* side : {&comparison.a(), &comparison.b()})
    if (const std::string text = side->instruction_of(wrong->value); !text.empty())
      out += fmt::format("  computed  by {} of {}\n", text, side->name());
  out += fmt::format("  result    {}, {}\n", model.name_of(wrong->value),
                     describe_shape(wrong->b.value.bytes.empty() ? wrong->a.value : wrong->b.value));
  out += fmt::format("  verdict   {}\n            {}\n", verdict_text(comparison.b(), wrong->b),
                     verdict_text(comparison.a(), wrong->a));
  if (wrong->metrics) {
    out += "  gap      ";
    for (const NamedMetric& one : kMetrics)
      out += fmt::format(" {} {}", one.name, number((*wrong->metrics).*one.member));
    for (size_t i = 0; i < wrong->distances.size(); ++i)
      out += fmt::format(" {} {}", context.comparators[i], number(wrong->distances[i]));
    out += '\n';
  }
  if (!context.repros[index].empty()) out += fmt::format("  inputs    {}\n", context.repros[index]);
  if (!context.commands[index].empty()) out += fmt::format("  repeat    {}\n", context.commands[index]);
  return out;
}

// Escapes control characters of names from files, line by line.
std::string printable_lines(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out += made_printable(std::string_view(text).substr(begin, end - begin), SIZE_MAX) + '\n';
    begin = end + 1;
  }
  return out;
}

std::string margin_text(const SideResult& side) {
  return side.verdict == Verdict::kUnjudged && side.margin == 0 ? "-" : number(side.margin);
}

std::string table_text(const ReportContext& context, const SearchResult& result, size_t max_rows) {
  std::vector<Row> rows = rows_of(result);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& x, const Row& y) { return x.margin() > y.margin(); });
  const size_t shown = max_rows == 0 ? rows.size() : std::min(rows.size(), max_rows);
  std::vector<std::string> columns{"<RESULT", "<OPERATORS", "ERROR/BOUND A", "B"};
  for (const NamedMetric& one : kMetrics) {
    std::string name = one.name;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c == '_' ? ' ' : std::toupper(c); });
    columns.push_back(name);
  }
  for (const std::string& name : context.comparators) columns.push_back(made_printable(name));
  bench::Table table(columns);
  const Model& model = context.comparison.model();
  for (size_t i = 0; i < shown; ++i) {
    const ResultComparison& one = *rows[i].result;
    std::vector<std::string> cells{made_printable(model.name_of(one.value)),
                                   ops_of(model, rows[i].block->nodes), margin_text(one.a),
                                   margin_text(one.b)};
    for (const NamedMetric& metric : kMetrics)
      cells.push_back(one.metrics ? number((*one.metrics).*metric.member) : "-");
    for (const double distance : one.distances) cells.push_back(number(distance));
    table.add(cells);
  }
  std::string out = table.is_empty() ? "" : "\n" + table.to_text();
  if (shown < rows.size())
    out += fmt::format("{} more with smaller errors; --top 0 prints all\n",
                       count_of(rows.size() - shown, "row"));
  return out;
}

// ---- JSON.

Json source_json(const Model& model, uint32_t node) {
  const uint32_t source = node_of(model, node).source;
  if (source == ir::kNone) return nullptr;
  const ir::Source& at = model.module().sources[source];
  return {{"file", at.file},
          {"line", at.line},
          {"function", at.function},
          {"module", at.module_path},
          {"module_type", at.module_type}};
}

Json node_json(const Model& model, uint32_t node) {
  return {{"index", node},
          {"name", model.node_name(node)},
          {"op", model.op_of(node)},
          {"debug_handle", node_of(model, node).debug_handle},
          {"source", source_json(model, node)}};
}

Json side_json(const SideResult& side) {
  return {{"verdict", to_text(side.verdict)},
          {"error_per_bound", side.margin},
          {"text", side.text},
          {"values", first_values(side.value)}};
}

// Name of the event of the instruction that computed a recorded value; "" for other sides.
std::string event_of(const Comparison& comparison, ir::ValueId value) {
  const std::string of_b = comparison.b().instruction_of(value);
  const std::string text = of_b.empty() ? comparison.a().instruction_of(value) : of_b;
  const size_t comma = text.find(", ");
  return comma == std::string::npos ? "" : text.substr(comma + 2);
}

// `by` compared the result: its sides know the instructions.
Json result_json(const ReportContext& context, const Comparison& by, const ResultComparison& one) {
  const Model& model = context.comparison.model();
  Json out{{"name", model.name_of(one.value)},
           {"node", node_json(model, one.node)},
           {"shape", describe_shape(one.a.value)},
           {"event", event_of(by, one.value)},
           {"a", side_json(one.a)},
           {"b", side_json(one.b)}};
  Json& metrics = out["metrics"] = Json::object();
  for (const NamedMetric& metric : kMetrics)
    if (one.metrics) metrics[metric.name] = (*one.metrics).*metric.member;
  for (size_t i = 0; i < one.distances.size(); ++i) metrics[context.comparators[i]] = one.distances[i];
  return out;
}

Json nodes_json(const Model& model, const std::vector<uint32_t>& nodes) {
  Json out = Json::array();
  for (const uint32_t node : nodes) out.push_back(node_json(model, node));
  return out;
}

// ---- TSV.

std::string python_list(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "'" : ", '") + item + "'";
  return "[" + out + "]";
}

std::string handles_text(const Model& model, const std::vector<uint32_t>& nodes) {
  std::vector<uint32_t> handles;
  for (const uint32_t node : nodes) handles.push_back(node_of(model, node).debug_handle);
  std::sort(handles.begin(), handles.end());
  handles.erase(std::unique(handles.begin(), handles.end()), handles.end());
  return fmt::format("({}{})", fmt::join(handles, ", "), handles.size() == 1 ? "," : "");
}

std::string stacks_text(const Model& model, const std::vector<uint32_t>& nodes) {
  std::string out;
  for (const uint32_t node : nodes)
    out +=
        fmt::format("{}'{}': '{}'", out.empty() ? "" : ", ", model.node_name(node), source_of(model, node));
  return "{" + out + "}";
}

}  // namespace

std::vector<std::string> metric_names() {
  std::vector<std::string> out;
  for (const NamedMetric& one : kMetrics) out.emplace_back(one.name);
  return out;
}

double metric(const Metrics& metrics, const std::string& name) {
  for (const NamedMetric& one : kMetrics)
    if (name == one.name) return metrics.*one.member;
  return 0;
}

std::string to_text(const ReportContext& context, const SearchResult& result, size_t max_rows) {
  size_t regions = 0, wrong = 0, uncompared = 0;
  for (size_t i = 0; i < result.blocks.size(); ++i) {
    regions += result.is_region[i] ? 1 : 0;
    wrong += result.blocks[i].find_wrong() != nullptr ? 1 : 0;
    uncompared += result.blocks[i].results.empty() ? 1 : 0;
  }
  const Comparison& comparison = context.comparison;
  std::string out = fmt::format("{} (A) against {} (B): {}, {}\n", comparison.a().name(),
                                comparison.b().name(), context.model, context.inputs);
  out +=
      fmt::format("{} in {}, {} of plugins: {} within the error model, {} outside",
                  count_of(comparison.model().node_count(), "node"), count_of(result.blocks.size(), "block"),
                  count_of(regions, "region"), result.blocks.size() - wrong - uncompared, wrong);
  out += uncompared != 0 ? fmt::format(", {} not compared\n", uncompared) : "\n";
  for (size_t i = 0; i < result.locations.size(); ++i)
    out += (i == 0 ? "\nfirst divergence: " : "\nfurther divergence: ") +
           describe_location(context, result.located_by(comparison), result.locations[i], i);
  if (result.node_count != 0)
    out +=
        fmt::format("{} compared alone, because all blocks are right\n", count_of(result.node_count, "node"));
  if (!result.has_divergence()) out += "no divergence\n";
  if (result.has_divergence() && result.locations.empty())
    out += "the outputs diverge; only their values are known, so no node is named\n";
  if (result.substituted) out += result.reason_of_substitute + '\n';
  for (const std::string& note : result.notes) out += "note: " + note + '\n';
  for (const NodesComparison& block : result.blocks)
    if (!block.obstacle.empty())
      out += fmt::format("note: {}: {}\n", ops_of(comparison.model(), block.nodes), block.obstacle);
  return printable_lines(out) + table_text(context, result, max_rows);
}

Json to_json(const ReportContext& context, const SearchResult& result) {
  const Comparison& comparison = context.comparison;
  const Model& model = comparison.model();
  Json blocks = Json::array(), divergences = Json::array();
  for (size_t i = 0; i < result.blocks.size(); ++i) {
    const NodesComparison& block = result.blocks[i];
    Json results = Json::array();
    for (const ResultComparison& one : block.results) results.push_back(result_json(context, result.compared_by(i, comparison), one));
    blocks.push_back({{"is_region", static_cast<bool>(result.is_region[i])},
                      {"is_wrong", block.find_wrong() != nullptr},
                      {"obstacle", block.obstacle},
                      {"delegated_nodes_a", block.delegated_a},
                      {"delegated_nodes_b", block.delegated_b},
                      {"nodes", nodes_json(model, block.nodes)},
                      {"results", std::move(results)}});
  }
  for (size_t i = 0; i < result.locations.size(); ++i) {
    const Location& location = result.locations[i];
    const Comparison& by = result.located_by(comparison);
    const ir::ValueId value = location.comparison.find_wrong()->value;
    const std::string of_a = by.a().instruction_of(value), of_b = by.b().instruction_of(value);
    divergences.push_back({{"instruction", of_b.empty() ? of_a : of_b},
                           {"nodes", nodes_json(model, location.nodes)},
                           {"result", result_json(context, by, *location.comparison.find_wrong())},
                           {"trials", location.trials},
                           {"repro", context.repros[i]},
                           {"command", context.commands[i]}});
  }
  return {{"a", comparison.a().name()},
          {"b", comparison.b().name()},
          {"model", context.model},
          {"inputs", context.inputs},
          {"nodes", model.node_count()},
          {"has_divergence", result.has_divergence()},
          {"nodes_compared_alone", result.node_count},
          {"notes", result.notes},
          {"divergences", divergences},
          {"blocks", blocks}};
}

std::string to_tsv(const ReportContext& context, const SearchResult& result, const std::string& gap) {
  const Model& model = context.comparison.model();
  std::string out =
      "aot_debug_handle\taot_ops\taot_intermediate_output\truntime_ops\truntime_debug_handle\t"
      "runtime_intermediate_output\tgap\tstacktraces\n";
  for (const Row& row : rows_of(result)) {
    std::vector<std::string> ops;
    for (const uint32_t node : row.block->nodes) ops.push_back(model.node_name(node));
    const std::string event = event_of(result.compared_by(row.block_index, context.comparison), row.result->value);
    const std::vector<std::string> runtime_ops = !event.empty() ? std::vector{event}
                                                 : result.is_region[row.block_index]
                                                     ? std::vector<std::string>{"DELEGATE_CALL"}
                                                     : ops;
    const std::string handles = handles_text(model, row.block->nodes);
    const double value = row.result->metrics ? metric(*row.result->metrics, gap) : HUGE_VAL;
    const std::string cells[] = {handles,
                                 python_list(ops),
                                 first_values(row.result->a.value),
                                 python_list(runtime_ops),
                                 handles,
                                 first_values(row.result->b.value),
                                 fmt::format("[{}]", value),
                                 stacks_text(model, row.block->nodes)};
    for (size_t i = 0; i < std::size(cells); ++i)
      out += (i == 0 ? "" : "\t") + made_printable(cells[i], SIZE_MAX);
    out += '\n';
  }
  return out;
}

}  // namespace etb::diff
