// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/report.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "partitioner_sdk/partition/delegation_info.hpp"
#include "partitioner_sdk/partition/dependencies.hpp"

namespace etb::partition {

namespace {

std::string spec_text(const ir::Module& module, const ir::Value& value) {
  if (value.kind != ir::ValueKind::kTensor) return "number";
  std::string text = std::string(ops::to_text(value.spec.dtype)) + "[";
  for (size_t i = 0; i < value.spec.rank(); ++i)
    text += (i > 0 ? ", " : "") + module.symbols.format(value.spec.sizes[i]);
  return text + "]";
}

// Counts the results that something reads, if there are several.
uint32_t used_results(const ir::Node& node, const std::vector<bool>& is_used) {
  if (node.outputs.size() < 2) return 0;
  return static_cast<uint32_t>(
      std::count_if(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) { return is_used[id]; }));
}

ReportGraph make_graph(const ir::Module& module, uint32_t index,
                       const std::vector<NodeAssignment>& assignments) {
  const ir::Graph& graph = module.graphs[index];
  const GraphFacts facts(module, index);
  ReportGraph out;
  out.method = module.name;
  out.name = graph.name;
  std::vector<bool> is_used(graph.values.size());
  const auto use = [&is_used](const ir::Argument& argument) {
    ir::for_each_value(argument, [&is_used](ir::ValueId id) { is_used[id] = true; });
  };
  for (const ir::Node& node : graph.nodes)
    for (const ir::Argument& argument : node.args) use(argument);
  for (const ir::Output& output : graph.outputs) use(output.value);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const ir::Node& node = graph.nodes[i];
    ReportNode row;
    row.getitem_count = used_results(node, is_used);
    row.op = module.op(node).name;
    if (!node.outputs.empty()) {
      row.name = facts.names[node.outputs[0]];
      row.spec = spec_text(module, graph.values[node.outputs[0]]);
    }
    row.source = ir::format_source(module, node.source);
    row.debug_handle = node.debug_handle;
    row.region = assignments[i].is_replaced ? assignments[i].copies[0] : assignments[i].region;
    row.rejections = assignments[i].rejections;
    out.nodes.push_back(std::move(row));
  }
  for_each_dependency(module, graph,
                      [&](uint32_t from, uint32_t to) { out.nodes[to].needs.push_back(from); });
  for (ReportNode& node : out.nodes) {
    std::sort(node.needs.begin(), node.needs.end());
    node.needs.erase(std::unique(node.needs.begin(), node.needs.end()), node.needs.end());
  }
  return out;
}

ReportRegion make_region(const Region& region, const ir::Module& module, uint32_t graph,
                         const ConstantKeys& keys) {
  ReportRegion out;
  out.plugin = region.compiler;
  out.method = module.name;
  out.graph = graph;
  out.node_count = static_cast<uint32_t>(region.nodes.size());
  out.operand_count = static_cast<uint32_t>(region.image.operands.size());
  out.result_count = static_cast<uint32_t>(region.image.results.size());
  out.payload_nbytes = region.artifact.payload.size();
  for (const std::string& key : region.image.constant_keys)
    out.constant_nbytes += keys.find(key)->bytes.size();
  out.cost_ns = region.cost_ns;
  out.estimate = region.artifact.estimate;
  out.debug_map = region.artifact.debug_map;
  return out;
}

// The text of the official tool for each graph. Most methods have one.
std::string delegation_text(const Report& report) {
  std::string out;
  for (uint32_t i = 0; i < report.graphs.size(); ++i) {
    const ReportGraph& graph = report.graphs[i];
    if (report.graphs.size() > 1)
      out += (i == 0 ? "" : "\n") + ("method " + graph.method) +
             (graph.name == graph.method ? "" : ", graph " + graph.name) + "\n";
    out += format_delegation_info(get_delegation_info(report, i));
  }
  return out;
}

// "", or what the plugin estimates for one run.
std::string estimate_text(const Estimate& estimate) {
  std::string out;
  const auto add = [&](double value, double unit, const char* text) {
    if (!(value > 0)) return;
    char number[32];
    std::snprintf(number, sizeof number, "%.3g", value / unit);
    out += std::string(out.empty() ? ", estimated " : ", ") + number + text;
  };
  add(estimate.latency_ns, 1e3, " us");
  add(static_cast<double>(estimate.moved_bytes), 1024, " KiB moved");
  add(static_cast<double>(estimate.peak_bytes), 1024, " KiB of memory");
  add(estimate.energy_nj, 1e3, " uJ");
  return out;
}

std::string region_lines(const Report& report) {
  std::string out;
  for (size_t i = 0; i < report.regions.size(); ++i) {
    const ReportRegion& region = report.regions[i];
    out += "region " + std::to_string(i) + ": " + report.plugins[region.plugin] + " (" +
           report.backend_ids[region.plugin] + "), method " + region.method + ", " +
           std::to_string(region.node_count) + " nodes, " + std::to_string(region.operand_count) +
           " operands, " + std::to_string(region.result_count) + " results, payload " +
           std::to_string(region.payload_nbytes) + " bytes" + estimate_text(region.estimate) + "\n";
  }
  return out;
}

std::string refusal_lines(const Report& report) {
  std::string out;
  for (const ReportGraph& graph : report.graphs) {
    for (const ReportNode& node : graph.nodes) {
      if (node.region != kNoRegion) continue;
      out += graph.method + (graph.name == graph.method ? "" : " @" + graph.name) + " %" + node.name + " = " +
             node.op + (node.source.empty() ? "" : "  # " + node.source) + "\n";
      for (const Rejection& rejection : node.rejections)
        out += "    " + report.plugins[rejection.compiler] + ": " + rejection.reason +
               (rejection.text.empty() ? "" : ": " + rejection.text) + "\n";
    }
  }
  return out;
}

}  // namespace

Report make_report(std::span<const ir::Module> methods, const Partition& partition,
                   const ConstantKeys& keys) {
  Report out;
  out.plugins = partition.compilers;
  out.backend_ids = partition.backend_ids;
  out.plugin_errors = partition.plugin_errors;
  out.failed_claims = partition.failed_claims;
  std::vector<uint32_t> first_graph;
  for (size_t m = 0; m < methods.size(); ++m) {
    first_graph.push_back(static_cast<uint32_t>(out.graphs.size()));
    for (uint32_t g = 0; g < methods[m].graphs.size(); ++g)
      out.graphs.push_back(make_graph(methods[m], g, partition.assignments[m][g]));
  }
  for (const Region& region : partition.regions)
    out.regions.push_back(
        make_region(region, methods[region.method], first_graph[region.method] + region.graph, keys));
  for (const ReportGraph& graph : out.graphs) {
    for (const ReportNode& node : graph.nodes) {
      Report::OpCounts& counts = out.ops[node.op];
      const bool is_delegated = node.region != kNoRegion;
      ++(is_delegated ? counts.delegated : counts.other);
      ++(is_delegated ? out.delegated_count : out.other_count);
    }
  }
  return out;
}

std::string to_text(const FailedClaim& claim) {
  return "plugin '" + claim.plugin + "' claims " + claim.nodes + " and cannot compile it: " + claim.text +
         "; the host runs it";
}

std::string to_text(const Report& report) {
  std::string out = delegation_text(report);
  if (!report.regions.empty()) out += "\n" + region_lines(report);
  if (report.other_count != 0) out += "\nNot delegated, and why:\n" + refusal_lines(report);
  for (const PluginError& error : report.plugin_errors)
    out += "\nskipped plugin '" + error.plugin + "': " + error.text + "\n";
  for (const FailedClaim& claim : report.failed_claims) out += "\n" + to_text(claim) + "\n";
  return out;
}

}  // namespace etb::partition
