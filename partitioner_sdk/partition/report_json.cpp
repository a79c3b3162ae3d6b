// SPDX-License-Identifier: Apache-2.0
// The report as JSON (docs/compiling.md).
#include <nlohmann/json.hpp>

#include "partitioner_sdk/partition/delegation_info.hpp"
#include "partitioner_sdk/partition/report.hpp"

namespace etb::partition {

namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Report& report, const ReportNode& node) {
  ordered_json row = {{"name", node.name}, {"op", node.op}, {"spec", node.spec}};
  if (!node.source.empty()) row["source"] = node.source;
  if (node.debug_handle != 0) row["debug_handle"] = node.debug_handle;
  row["needs"] = node.needs;
  row["region"] = node.region == kNoRegion ? ordered_json(nullptr) : ordered_json(node.region);
  ordered_json rejections = ordered_json::array();
  for (const Rejection& rejection : node.rejections)
    rejections.push_back({{"plugin", report.plugins[rejection.compiler]},
                          {"reason", rejection.reason},
                          {"text", rejection.text}});
  row["refusals"] = std::move(rejections);
  return row;
}

ordered_json to_json(const Report& report, const ReportRegion& region) {
  ordered_json debug_map = ordered_json::array();
  for (const DebugEntry& entry : region.debug_map)
    debug_map.push_back(
        {{"debug_id", entry.debug_id}, {"name", entry.name}, {"debug_handles", entry.handles}});
  return {{"plugin", report.plugins[region.plugin]},
          {"backend_id", report.backend_ids[region.plugin]},
          {"method", region.method},
          {"graph", region.graph},
          {"node_count", region.node_count},
          {"operand_count", region.operand_count},
          {"result_count", region.result_count},
          {"payload_nbytes", region.payload_nbytes},
          {"constant_nbytes", region.constant_nbytes},
          {"cost_ns", region.cost_ns},
          {"estimate",
           {{"latency_ns", region.estimate.latency_ns},
            {"confidence", region.estimate.confidence},
            {"moved_bytes", region.estimate.moved_bytes},
            {"peak_bytes", region.estimate.peak_bytes},
            {"energy_nj", region.estimate.energy_nj}}},
          {"debug_map", std::move(debug_map)}};
}

// With the names of ExecuTorch's DelegationInfo.
ordered_json to_json(const Report& report, uint32_t graph) {
  const DelegationInfo info = get_delegation_info(report, graph);
  ordered_json operators = ordered_json::object();
  for (const auto& [type, counts] : info.delegation_by_operator)
    operators[type] = {{"delegated", counts.delegated}, {"non_delegated", counts.non_delegated}};
  return {{"method", report.graphs[graph].method},
          {"graph", report.graphs[graph].name},
          {"num_delegated_subgraphs", info.num_delegated_subgraphs},
          {"num_delegated_nodes", info.num_delegated_nodes},
          {"num_non_delegated_nodes", info.num_non_delegated_nodes},
          {"delegation_by_operator", std::move(operators)}};
}

}  // namespace

std::string to_json(const Report& report) {
  ordered_json ops = ordered_json::array(), graphs = ordered_json::array(), regions = ordered_json::array(),
               plugin_errors = ordered_json::array(), failed_claims = ordered_json::array();
  for (const auto& [op, counts] : report.ops)
    ops.push_back({{"op", op}, {"delegated", counts.delegated}, {"not_delegated", counts.other}});
  for (const ReportGraph& graph : report.graphs) {
    ordered_json nodes = ordered_json::array();
    for (const ReportNode& node : graph.nodes) nodes.push_back(to_json(report, node));
    graphs.push_back({{"method", graph.method}, {"name", graph.name}, {"nodes", std::move(nodes)}});
  }
  for (const ReportRegion& region : report.regions) regions.push_back(to_json(report, region));
  for (const PluginError& error : report.plugin_errors)
    plugin_errors.push_back({{"plugin", error.plugin}, {"text", error.text}});
  for (const FailedClaim& claim : report.failed_claims)
    failed_claims.push_back({{"plugin", claim.plugin}, {"nodes", claim.nodes}, {"text", claim.text}});
  ordered_json infos = ordered_json::array();
  for (uint32_t i = 0; i < report.graphs.size(); ++i) infos.push_back(to_json(report, i));
  const ordered_json all = {{"report_version", 1},
                            {"delegated_subgraphs", report.regions.size()},
                            {"delegated_nodes", report.delegated_count},
                            {"non_delegated_nodes", report.other_count},
                            {"delegation_info", std::move(infos)},
                            {"plugins", report.plugins},
                            {"ops", std::move(ops)},
                            {"regions", std::move(regions)},
                            {"graphs", std::move(graphs)},
                            {"faults", std::move(plugin_errors)},
                            {"failed_claims", std::move(failed_claims)}};
  // Names and reasons come from files and plugins: for any bytes the text is valid JSON.
  return all.dump(1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace etb::partition
