// SPDX-License-Identifier: Apache-2.0
// Reports the placement of nodes and its reasons: as text and as JSON.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "partitioner_sdk/partition/partition.hpp"

namespace etb::partition {

struct ReportNode {
  std::string name;  // name of its first result
  std::string op;
  std::string spec;    // spec of its first result: "float32[2, 3]"
  std::string source;  // "model.py:12 in forward, module layer1"
  uint32_t debug_handle = 0;
  uint32_t region = kNoRegion;
  uint32_t getitem_count = 0;  // of a node with several results: those that are used
  std::vector<Rejection> rejections;
  std::vector<uint32_t> needs;  // nodes of the same graph, ascending, each once
};

struct ReportGraph {
  std::string method;
  std::string name;
  std::vector<ReportNode> nodes;
};

struct ReportRegion {
  uint32_t plugin = 0;  // index into Report::plugins
  std::string method;
  uint32_t graph = 0;  // index into Report::graphs
  uint32_t node_count = 0;
  uint32_t operand_count = 0;
  uint32_t result_count = 0;
  uint64_t payload_nbytes = 0;
  uint64_t constant_nbytes = 0;  // size of its constants
  double cost_ns = 0;
  Estimate estimate;
  std::vector<DebugEntry> debug_map;
};

struct Report {
  std::vector<std::string> plugins;
  std::vector<std::string> backend_ids;
  std::vector<ReportGraph> graphs;
  std::vector<ReportRegion> regions;
  std::vector<PluginError> plugin_errors;
  std::vector<FailedClaim> failed_claims;
  uint64_t delegated_count = 0;
  uint64_t other_count = 0;

  struct OpCounts {
    uint64_t delegated = 0;
    uint64_t other = 0;
  };
  std::map<std::string, OpCounts> ops;
};

// Call it before the regions are lowered.
Report make_report(std::span<const ir::Module> methods, const Partition& partition, const ConstantKeys& keys);

// Returns one line.
std::string to_text(const FailedClaim& claim);
// Returns for each graph the text of ExecuTorch's print_delegation_info (delegation_info.hpp), then every node outside
// plugins, with reasons.
std::string to_text(const Report& report);
// docs/compiling.md describes the members.
std::string to_json(const Report& report);

}  // namespace etb::partition
