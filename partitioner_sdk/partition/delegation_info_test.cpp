// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/delegation_info.hpp"

#include <gtest/gtest.h>

namespace etb::partition {
namespace {

ReportNode node(const char* op, uint32_t region, uint32_t getitem_count = 0) {
  ReportNode out;
  out.op = op;
  out.region = region;
  out.getitem_count = getitem_count;
  return out;
}

// The text is that of print_delegation_info of executorch 1.5.1 for this model: two linear layers and relu
// delegated, cumsum and the values of topk not.
TEST(DelegationInfo, HasTheTextOfTheOfficialTool) {
  Report report;
  report.graphs.push_back(
      {"forward",
       "forward",
       {node("aten.linear.default", 0), node("aten.relu.default", 0), node("aten.topk.default", kNoRegion, 1),
        node("aten.linear.default", 0), node("aten.cumsum.default", kNoRegion)}});
  report.regions.resize(1);
  report.regions[0].result_count = 2;
  EXPECT_EQ(format_delegation_info(get_delegation_info(report, 0)), R"(Total delegated subgraphs: 1
Number of delegated nodes: 3
Number of non-delegated nodes: 5

╒════╤═════════════════════╤═══════════════════════════════════╤═══════════════════════════════════════╕
│    │ op_type             │   occurrences_in_delegated_graphs │   occurrences_in_non_delegated_graphs │
╞════╪═════════════════════╪═══════════════════════════════════╪═══════════════════════════════════════╡
│  0 │ aten_cumsum_default │                                 0 │                                     1 │
├────┼─────────────────────┼───────────────────────────────────┼───────────────────────────────────────┤
│  1 │ aten_linear_default │                                 2 │                                     0 │
├────┼─────────────────────┼───────────────────────────────────┼───────────────────────────────────────┤
│  2 │ aten_relu_default   │                                 1 │                                     0 │
├────┼─────────────────────┼───────────────────────────────────┼───────────────────────────────────────┤
│  3 │ aten_topk_default   │                                 0 │                                     1 │
├────┼─────────────────────┼───────────────────────────────────┼───────────────────────────────────────┤
│  4 │ getitem             │                                 0 │                                     3 │
├────┼─────────────────────┼───────────────────────────────────┼───────────────────────────────────────┤
│  5 │ Total               │                                 3 │                                     5 │
╘════╧═════════════════════╧═══════════════════════════════════╧═══════════════════════════════════════╛
)");
}

TEST(DelegationInfo, CountsOneGraph) {
  Report report;
  report.graphs.push_back({"a", "a", {node("aten.add.Tensor", 0)}});
  report.graphs.push_back({"b", "b", {node("aten.add.Tensor", kNoRegion), node("aten.foo.1", kNoRegion)}});
  report.regions.resize(1);
  const DelegationInfo a = get_delegation_info(report, 0), b = get_delegation_info(report, 1);
  EXPECT_EQ(a.num_delegated_nodes, 1u);
  EXPECT_EQ(a.num_non_delegated_nodes, 0u);
  EXPECT_EQ(b.num_delegated_subgraphs, 0u);
  EXPECT_EQ(b.num_non_delegated_nodes, 2u);
  EXPECT_EQ(b.delegation_by_operator.count("aten_foo"), 1u);  // as re.sub(r"_[\d]+$", "") there
}

}  // namespace
}  // namespace etb::partition
