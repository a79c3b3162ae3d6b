// SPDX-License-Identifier: Apache-2.0
// Tests the distributions of random ops, compiled and run on portable kernels. The seed is that of a module without
// options, so results do not vary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"
#include "tools/evaluate_constants.hpp"

namespace etb::tools {
namespace {

constexpr int64_t kCount = 20000;

// The elements of %y, a result of the last node, for an input %x of equal numbers.
std::vector<double> sample(const std::string& node, const std::string& dtype, const std::string& fill,
                           const std::string& before = "") {
  const std::string count = std::to_string(kCount);
  std::string ones;
  for (int64_t i = 0; i < kCount; ++i) ones += (i > 0 ? ", " : "") + fill;
  auto module =
      ir::parse("etg 1\nmodule \"forward\"\nconstant \"x\": float32[" + count + "] = [" + ones +
                "]\nconstant \"w\": float32[3] = [1, 0, 3]\ngraph @forward {\n  constant %x: float32[" +
                count + "] = \"x\" as \"x\"\n  constant %w: float32[3] = \"w\" as \"w\"\n" + before +
                "  %y: " + dtype + "[" + count + "] = " + node + "\n  return %y\n}\n");
  EXPECT_TRUE(module) << module.error().message;
  if (!module) return {};
  const Status edge = passes::to_edge(*module);
  EXPECT_TRUE(edge) << edge.error().message;
  const Status portable = edge ? passes::to_portable(*module) : edge;
  EXPECT_TRUE(portable) << portable.error().message;
  if (!portable) return {};
  const auto results = evaluate_constants(*module);
  EXPECT_TRUE(results) << results.error().message;
  std::vector<double> out;
  for (int64_t i = 0; results && i < kCount; ++i) {
    float number = 0;
    int64_t integer = 0;
    const std::byte* at = results->at(0).bytes.data();
    if (dtype == "float32")
      std::memcpy(&number, at + static_cast<size_t>(i) * sizeof(number), sizeof(number));
    if (dtype == "int64")
      std::memcpy(&integer, at + static_cast<size_t>(i) * sizeof(integer), sizeof(integer));
    out.push_back(dtype == "int64" ? static_cast<double>(integer) : static_cast<double>(number));
  }
  return out;
}

struct Row {
  std::string name, node;
  double mean, deviation, least, most;
  std::string dtype = "float32", fill = "1";
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class RandomOps : public testing::TestWithParam<Row> {};

TEST_P(RandomOps, HaveTheirDistribution) {
  const Row& row = GetParam();
  const std::vector<double> values = sample(row.node, row.dtype, row.fill);
  ASSERT_EQ(values.size(), static_cast<size_t>(kCount));
  double sum = 0, squares = 0;
  for (const double value : values) {
    ASSERT_GE(value, row.least);
    ASSERT_LE(value, row.most);
    sum += value;
  }
  const double mean = sum / kCount;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / kCount);
  // The mean of n numbers varies by 1 / sqrt(n) of their deviation. Five times that is exceeded once in 10^6.
  EXPECT_NEAR(mean, row.mean, 5 * row.deviation / std::sqrt(double{kCount}));
  EXPECT_NEAR(deviation, row.deviation, 0.05 * row.deviation);
}

constexpr double kAll = INFINITY;

INSTANTIATE_TEST_SUITE_P(
    Ops, RandomOps,
    testing::Values(
        Row{"Dropout", "aten.dropout.default(%x, 0.25, true)", 1, std::sqrt(1 / 3.0), 0, 4 / 3.0 + 1e-6},
        // An input of ones becomes a + b and a * limit + b.
        Row{"AlphaDropout", "aten.alpha_dropout.default(%x, 0.5, true)", 0.4432, 1.2225, -0.78, 1.666},
        Row{"Bernoulli", "aten.bernoulli.default(%x)", 0.3, std::sqrt(0.21), 0, 1, "float32", "0.3"},
        Row{"BernoulliOfNumber", "aten.bernoulli.p(%x, 0.9)", 0.9, 0.3, 0, 1},
        Row{"Rand", "aten.rand_like.default(%x)", 0.5, std::sqrt(1 / 12.0), 0, 1 - 1e-9},
        Row{"Randn", "aten.randn_like.default(%x)", 0, 1, -kAll, kAll},
        Row{"Randint", "aten.randint.low(-2, 4, [20000])", 0.5, std::sqrt(35 / 12.0), -2, 3, "int64"},
        Row{"Normal", "aten.normal_functional.default(%x, 3.0, 0.5)", 3, 0.5, -kAll, kAll},
        Row{"NormalOfMean", "aten.normal.Tensor_float(%x, 2.0)", 1, 2, -kAll, kAll},
        Row{"LogNormal", "aten.log_normal.default(%x, 0.0, 0.25)", 1.03174, 0.26198, 0, kAll},
        Row{"Uniform", "aten.uniform.default(%x, -1.0, 3.0)", 1, std::sqrt(16 / 12.0), -1, 3},
        Row{"Exponential", "aten.exponential.default(%x, 2.0)", 0.5, 0.5, 0, kAll},
        Row{"Geometric", "aten.geometric.default(%x, 0.25)", 4, std::sqrt(12.0), 1, kAll},
        Row{"Multinomial", "aten.multinomial.default(%w, 20000, true)", 1.5, std::sqrt(0.75), 0, 2, "int64"},
        Row{"LeakyRelu", "aten.rrelu.default(%x, 0.1, 0.3, true)", -0.2, 0.2 / std::sqrt(12.0), -0.3, -0.1,
            "float32", "-1"}),
    [](const auto& each) { return each.param.name; });

TEST(RandomOps, TwoCallsHaveDifferentNumbers) {
  const std::vector<double> values = sample("aten.sub.Tensor(%a, %b)", "float32", "1",
                                            "  %a: float32[20000] = aten.rand_like.default(%x)\n"
                                            "  %b: float32[20000] = aten.rand_like.default(%x)\n");
  EXPECT_FALSE(std::all_of(values.begin(), values.end(), [](double value) { return value == 0; }));
}

// Without replacement a class occurs once, and one of weight 0 last.
TEST(RandomOps, MultinomialWithoutReplacementIsAnOrder) {
  auto module = ir::parse(R"(etg 1
module "forward"
constant "w": float32[4] = [1, 0, 3, 0.5]
graph @forward {
  constant %w: float32[4] = "w" as "w"
  %y: int64[4] = aten.multinomial.default(%w, 4)
  return %y
}
)");
  ASSERT_TRUE(module) << module.error().message;
  ASSERT_TRUE(passes::to_edge(*module));
  ASSERT_TRUE(passes::to_portable(*module));
  const auto results = evaluate_constants(*module);
  ASSERT_TRUE(results) << results.error().message;
  std::vector<int64_t> order(4);
  std::memcpy(order.data(), results->at(0).bytes.data(), sizeof(int64_t) * 4);
  EXPECT_EQ(order[3], 1);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace etb::tools
