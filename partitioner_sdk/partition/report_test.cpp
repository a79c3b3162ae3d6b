// SPDX-License-Identifier: Apache-2.0
// Reports about a partition, as text.
#include "partitioner_sdk/partition/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioner_sdk/testing/partition_fixture.hpp"

namespace etb::partition {
namespace {

TEST(Report, TextHasTheSummaryTheTableAndTheReasons) {
  TestFixture fixture;
  fixture.method(kDiamond).plugin("npu", {kAdd});
  fixture.run();
  EXPECT_EQ(to_text(make_report(fixture.modules, fixture.done, fixture.keys)),
            R"(Total delegated subgraphs: 1
Number of delegated nodes: 2
Number of non-delegated nodes: 4

╒════╤═══════════════════╤═══════════════════════════════════╤═══════════════════════════════════════╕
│    │ op_type           │   occurrences_in_delegated_graphs │   occurrences_in_non_delegated_graphs │
╞════╪═══════════════════╪═══════════════════════════════════╪═══════════════════════════════════════╡
│  0 │ aten_add_Tensor   │                                 2 │                                     0 │
├────┼───────────────────┼───────────────────────────────────┼───────────────────────────────────────┤
│  1 │ aten_mul_Tensor   │                                 0 │                                     1 │
├────┼───────────────────┼───────────────────────────────────┼───────────────────────────────────────┤
│  2 │ aten_relu_default │                                 0 │                                     1 │
├────┼───────────────────┼───────────────────────────────────┼───────────────────────────────────────┤
│  3 │ getitem           │                                 0 │                                     2 │
├────┼───────────────────┼───────────────────────────────────┼───────────────────────────────────────┤
│  4 │ Total             │                                 2 │                                     4 │
╘════╧═══════════════════╧═══════════════════════════════════╧═══════════════════════════════════════╛

region 0: npu (npuBackend), method forward, 2 nodes, 1 operands, 2 results, payload 50 bytes

Not delegated, and why:
forward %r = aten.relu.default
    npu: op: aten.relu.default
forward %c = aten.mul.Tensor
    npu: op: aten.mul.Tensor
)");
}

}  // namespace
}  // namespace etb::partition
