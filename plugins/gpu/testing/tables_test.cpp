// SPDX-License-Identifier: Apache-2.0
// Rows of tables by index, on the device that the plugin chooses.
#include <gtest/gtest.h>

#include <cmath>

#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

uint32_t add_table(GpuGraph& graph, uint32_t rows, float first) {
  GpuValue table;
  table.role = ValueRole::kInline;
  table.shape = shape_of({rows, 2});
  for (uint32_t i = 0; i < rows * 2; ++i) table.floats.push_back(first + static_cast<float>(i));
  graph.values.push_back(std::move(table));
  return static_cast<uint32_t>(graph.values.size() - 1);
}

// As a large table is lowered: a piece is NaN for the rows of the other.
TEST(Tables, PiecesGiveTheRowsOfTheWhole) {
  GpuGraph graph;
  const uint32_t index = add_input(graph, shape_of({7}));
  const uint32_t first = add_node(graph, Operator::kEmbedding, {add_table(graph, 3, 0), index}, {0});
  const uint32_t second = add_node(graph, Operator::kEmbedding, {add_table(graph, 2, 6), index}, {3});
  const uint32_t is_known = add_binary(graph, BinaryFunction::kEqual, first, first);
  graph.outputs = {add_node(graph, Operator::kWhere, {is_known, first, second}, {})};
  FloatRun run(graph, shape_of({7, 2}), "auto");
  if (!run.is_ready()) GTEST_SKIP() << run.error();
  run.set_input(0, {7}, {4, 0, 2, 3, -1, 5, 1});
  ASSERT_TRUE(run.run()) << run.error();
  const std::vector<float> expected = {8, 9, 0, 1, 4, 5, 6, 7, NAN, NAN, NAN, NAN, 2, 3};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(run.output()[i] == expected[i] || (std::isnan(run.output()[i]) && std::isnan(expected[i])))
        << i << ": " << run.output()[i] << ", expected " << expected[i];
}

}  // namespace
}  // namespace etb::gpu
