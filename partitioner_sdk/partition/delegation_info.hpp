// SPDX-License-Identifier: Apache-2.0
// Delegation of one graph as ExecuTorch's get_delegation_info counts it, with its text and its table.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "partitioner_sdk/partition/report.hpp"

namespace etb::partition {

// Operators have the names of nodes in ExecuTorch's edge graph: "aten_linear_default". There, a node with several
// results has one node `getitem` for each result that is used, and so has each result of a delegate.
struct DelegationInfo {
  struct Breakdown {
    uint64_t delegated = 0;
    uint64_t non_delegated = 0;
  };
  uint64_t num_delegated_subgraphs = 0;
  uint64_t num_delegated_nodes = 0;
  uint64_t num_non_delegated_nodes = 0;
  std::map<std::string, Breakdown> delegation_by_operator;
};

// `graph` is an index into Report::graphs.
DelegationInfo get_delegation_info(const Report& report, uint32_t graph);

// The text that print_delegation_info prints: three lines, an empty one, and the table by operator.
std::string format_delegation_info(const DelegationInfo& info);

}  // namespace etb::partition
