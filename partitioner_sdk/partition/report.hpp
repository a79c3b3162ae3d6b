// What went where and why: for people as text or as a page, for programs as JSON.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "partitioner_sdk/partition/partition.hpp"

namespace etb::partition {

struct ReportNode {
  std::string name;  // of its first result
  std::string op;
  std::string spec;    // of its first result: "float32[2, 3]"
  std::string source;  // "model.py:12 in forward, module layer1"
  uint32_t debug_handle = 0;
  uint32_t region = kNoRegion;
  std::vector<Refusal> refusals;
  std::vector<uint32_t> needs;  // nodes of the same graph, ascending, each once
};

struct ReportGraph {
  std::string method;
  std::string name;
  std::vector<ReportNode> nodes;
};

struct ReportRegion {
  uint32_t plugin = 0;  // Report::plugins
  std::string method;
  uint32_t graph = 0;  // Report::graphs
  uint32_t node_count = 0;
  uint32_t operand_count = 0;
  uint32_t result_count = 0;
  uint64_t payload_nbytes = 0;
  uint64_t constant_nbytes = 0;  // of what it reads ahead of time
  double cost_ns = 0;
  std::vector<DebugEntry> debug_map;
};

struct Report {
  std::vector<std::string> plugins;
  std::vector<std::string> backend_ids;
  std::vector<ReportGraph> graphs;
  std::vector<ReportRegion> regions;
  std::vector<PluginFault> faults;
  uint64_t delegated_count = 0;
  uint64_t other_count = 0;

  struct OpCounts {
    uint64_t delegated = 0;
    uint64_t other = 0;
  };
  std::map<std::string, OpCounts> ops;
};

// Before the regions are lowered.
Report make_report(std::span<const ir::Module> methods, const Partition& partition, const ConstantKeys& keys);

// The summary and the table per op that the official tools print, then every node that no plugin took, with reasons.
std::string to_text(const Report& report);
// docs/compiling.md says what the members mean.
std::string to_json(const Report& report);
// One page that needs nothing else: the graph drawn, regions coloured, reasons as tooltips.
std::string to_html(const Report& report);

}  // namespace etb::partition
