// SPDX-License-Identifier: Apache-2.0
// Rounding to float16 on the machine's device, compared with that of the host's memory.
#include <gtest/gtest.h>

#include <cmath>

#include "plugins/gpu/run/host_numbers.hpp"
#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

constexpr uint32_t kCount = 6000;

// Powers of two from below the least number of float16 to beyond its largest, and numbers with special results.
std::vector<float> factors() {
  std::vector<float> made(kCount);
  for (uint32_t i = 0; i < kCount; ++i) made[i] = std::ldexp(1.0f, static_cast<int>(i % 46) - 27);
  made[0] = INFINITY;
  made[1] = -INFINITY;
  made[2] = NAN;
  made[3] = 0;
  return made;
}

GpuGraph rounding_graph(bool is_rounded) {
  GpuGraph graph;
  GpuValue value;
  value.role = ValueRole::kInline;
  value.shape = shape_of({kCount});
  value.floats = factors();
  const uint32_t x = add_input(graph, shape_of({kCount})), by = static_cast<uint32_t>(graph.values.size());
  graph.values.push_back(std::move(value));
  uint32_t result = add_binary(graph, BinaryFunction::kMul, x, by);
  if (is_rounded) result = add_unary(graph, UnaryFunction::kRoundHalf, result);
  graph.outputs.push_back(result);
  return graph;
}

std::vector<float> rounded_by_host(const std::vector<float>& numbers) {
  std::vector<std::byte> halves(numbers.size() * 2);
  write_numbers(numbers, ETB_DTYPE_FLOAT16, halves.data());
  std::vector<float> out(numbers.size());
  read_numbers(halves.data(), ETB_DTYPE_FLOAT16, out);
  return out;
}

TEST(RoundingToHalf, IsThatOfTheHost) {
  FloatRun plain(rounding_graph(false), shape_of({kCount}), "auto"),
      rounded(rounding_graph(true), shape_of({kCount}), "auto");
  if (!plain.run()) GTEST_SKIP() << plain.error();
  ASSERT_TRUE(rounded.run()) << rounded.error();
  const std::vector<float> expected = rounded_by_host(plain.output());
  size_t changed = 0;
  for (size_t i = 0; i < kCount; ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(rounded.output()[i])) << i;
      continue;
    }
    EXPECT_EQ(rounded.output()[i], expected[i]) << i << ": " << plain.output()[i];
    EXPECT_EQ(std::signbit(rounded.output()[i]), std::signbit(expected[i])) << i;
    changed += plain.output()[i] != expected[i] ? 1 : 0;
  }
  EXPECT_GT(changed, kCount / 2);
}

// Ties: numbers halfway between two of float16, made of whole numbers.
TEST(RoundingToHalf, TiesGoToTheEvenNumber) {
  const std::vector<float> ties = {2049, 2051, -2049, -2051, 4098, 4102, 65519, 65520, 0x1p-25f, 0x3p-25f};
  GpuGraph graph;
  GpuValue value;
  value.role = ValueRole::kInline;
  value.shape = shape_of({static_cast<uint32_t>(ties.size())});
  value.floats = ties;
  graph.values.push_back(value);
  graph.outputs.push_back(add_unary(graph, UnaryFunction::kRoundHalf, 0));
  FloatRun run(graph, value.shape, "auto");
  if (!run.run()) GTEST_SKIP() << run.error();
  EXPECT_EQ(run.output(),
            (std::vector<float>{2048, 2052, -2048, -2052, 4096, 4104, 65504, INFINITY, 0, 0x1p-23f}));
}

}  // namespace
}  // namespace etb::gpu
