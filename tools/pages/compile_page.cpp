// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "tools/pages/graph_document.hpp"
#include "tools/pages/reports.hpp"

namespace etb::pages {
namespace {

Json region_table(const partition::Report& report) {
  Json rows = Json::array();
  for (size_t i = 0; i < report.regions.size(); ++i) {
    const partition::ReportRegion& region = report.regions[i];
    rows.push_back({std::to_string(i), report.plugins[region.plugin], region.method, region.node_count,
                    region.operand_count, region.result_count, region.payload_nbytes, region.constant_nbytes,
                    region.cost_ns == 0 ? Json(nullptr) : Json(region.cost_ns / 1e3)});
  }
  return make_table("Regions", "Each region is one delegate of the program.",
                    {{"region", "text", true},
                     {"plugin", "plugin"},
                     {"method"},
                     {"nodes", "number"},
                     {"operands", "number"},
                     {"results", "number"},
                     {"payload", "bytes"},
                     {"constants", "bytes"},
                     {"estimated time", "us"}},
                    std::move(rows));
}

Json op_table(const partition::Report& report) {
  Json rows = Json::array();
  for (const auto& [op, counts] : report.ops)
    rows.push_back(
        {op, counts.delegated, counts.other,
         static_cast<double>(counts.delegated) / static_cast<double>(counts.delegated + counts.other)});
  return make_table("Operators", "",
                    {{"operator", "text", true},
                     {"delegated", "number"},
                     {"not delegated", "number"},
                     {"delegated part", "percent"}},
                    std::move(rows));
}

Json rejection_table(const partition::Report& report) {
  Json rows = Json::array();
  for (const partition::ReportGraph& graph : report.graphs)
    for (const partition::ReportNode& node : graph.nodes) {
      if (node.region != partition::kNoRegion) continue;
      if (node.rejections.empty()) rows.push_back({node.name, node.op, node.source, "", "", ""});
      for (const partition::Rejection& rejection : node.rejections)
        rows.push_back({node.name, node.op, node.source, report.plugins[rejection.compiler], rejection.reason,
                        rejection.text});
    }
  Json part = make_table(
      "Not delegated, and why", "The portable kernels run these nodes.",
      {{"node", "text", true}, {"operator"}, {"source"}, {"plugin", "plugin", true}, {"reason"}, {"text"}},
      std::move(rows));
  part["short"] = "Rejections";
  return part;
}

// Reasons with the number of nodes, most frequent first.
Json reason_bars(const partition::Report& report) {
  std::map<std::pair<std::string, std::string>, size_t> counts;
  for (const partition::ReportGraph& graph : report.graphs)
    for (const partition::ReportNode& node : graph.nodes)
      if (node.region == partition::kNoRegion)
        for (const partition::Rejection& rejection : node.rejections)
          ++counts[{report.plugins[rejection.compiler],
                    rejection.reason + (rejection.text.empty() ? "" : ": " + rejection.text)}];
  std::vector<std::pair<std::pair<std::string, std::string>, size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Json rows = Json::array();
  for (const auto& [key, count] : sorted)
    rows.push_back(
        {{"name", key.second}, {"detail", "by " + key.first}, {"value", count}, {"plugin", key.first}});
  Json part = make_part("bars", "Commonest reasons", "Number of nodes that stay with the portable kernels.");
  part["short"] = "Reasons";
  part["unit"] = "number";
  part["rows"] = std::move(rows);
  return part;
}

Json method_table(const CompileResult& result) {
  Json rows = Json::array();
  for (const CompiledMethod& method : result.methods)
    rows.push_back({method.name, method.instruction_count, method.delegate_call_count, method.arena_nbytes,
                    method.arena_lower_bound_nbytes});
  return make_table("Methods", "No plan needs less working memory than the last column.",
                    {{"method", "text", true},
                     {"instructions", "number"},
                     {"delegate calls", "number"},
                     {"working memory", "bytes"},
                     {"least possible", "bytes"}},
                    std::move(rows));
}

Json step_bars(const CompileResult& result) {
  std::map<std::string, double> sums;  // a step runs once for each method
  std::vector<std::string> order;
  for (const auto& [step, ms] : result.steps_ms) {
    if (sums.count(step) == 0) order.push_back(step);
    sums[step] += ms;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto& a, const auto& b) { return sums[a] > sums[b]; });
  Json rows = Json::array();
  for (const std::string& step : order) rows.push_back({{"name", step}, {"value", sums[step] * 1e3}});
  Json part = make_part("bars", "Time of the compiler", "Wall time of each step.");
  part["short"] = "Time";
  part["unit"] = "us";
  part["rows"] = std::move(rows);
  return part;
}

}  // namespace

std::vector<Json> rejection_parts(const partition::Report& report) {
  if (report.other_count == 0) return {};
  return {reason_bars(report), rejection_table(report)};
}

Json compile_document(const partition::Report& report, Json graphs, const CompileResult& result,
                      const Facts& facts) {
  Json document = make_document(
      "compile", "Compilation of " + facts.model,
      "Which plugin runs which part of the model, and why the rest stays with the portable kernels.", facts);
  document["plugins"] = report.plugins;
  for (const std::string& warning : result.warnings) document["warnings"].push_back(warning);
  for (const partition::PluginError& error : report.plugin_errors)
    document["warnings"].push_back("skipped plugin '" + error.plugin + "': " + error.text);
  for (const partition::FailedClaim& claim : report.failed_claims)
    document["warnings"].push_back(partition::to_text(claim));
  const uint64_t total = report.delegated_count + report.other_count;
  const double part =
      total == 0 ? 0 : static_cast<double>(report.delegated_count) / static_cast<double>(total);
  add_card(document, "Nodes on plugins", part, "percent", part == 1 ? "good" : part == 0 ? "bad" : "");
  add_card(document, "Delegated nodes", report.delegated_count);
  add_card(document, "Other nodes", report.other_count);
  add_card(document, "Regions", report.regions.size());
  if (result.program_nbytes != 0) add_card(document, "Program", result.program_nbytes, "bytes");
  uint64_t arena = 0;
  for (const CompiledMethod& method : result.methods) arena = std::max(arena, method.arena_nbytes);
  if (!result.methods.empty()) add_card(document, "Working memory", arena, "bytes");
  Json& sections = document["sections"];
  sections.push_back(graph_part(std::move(graphs), report.plugins, "portable kernels"));
  for (Json& rejections : rejection_parts(report)) sections.push_back(std::move(rejections));
  sections.push_back(region_table(report));
  sections.push_back(op_table(report));
  if (!result.methods.empty()) sections.push_back(method_table(result));
  if (!result.steps_ms.empty()) sections.push_back(step_bars(result));
  return document;
}

}  // namespace etb::pages
