// SPDX-License-Identifier: Apache-2.0
// Tests that sorts, medians and remainders lowered to other ops equal their own kernels, ties and NaNs
// included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/ir/verify.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "tools/evaluate_constants.hpp"

namespace etb::tools {
namespace {

constexpr int64_t kRows = 4, kColumns = 37;

// Few distinct values, so that ties occur.
std::string elements(const std::string& dtype, uint32_t seed) {
  std::mt19937 random(seed);
  std::string out;
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    const auto value = static_cast<int>(random() % 7);
    if (!out.empty()) out += ", ";
    if (dtype == "bool") {
      out += std::to_string(value % 2);
    } else if (dtype == "float32" && value == 6) {
      out += "nan";
    } else {
      out += std::to_string(value - 2);
    }
  }
  return out;
}

std::string model(const std::string& dtype, const std::string& node, const std::string& results,
                  uint32_t seed) {
  const std::string spec = dtype + "[" + std::to_string(kRows) + ", " + std::to_string(kColumns) + "]";
  return "etg 1\nmodule \"forward\"\nconstant \"x\": " + spec + " = [" + elements(dtype, seed) +
         "]\ngraph @forward {\n  constant %x: " + spec + " = \"x\" as \"x\"\n" + node + "\n  return " +
         results + "\n}\n";
}

struct Row {
  std::string name, node, results;  // DT is replaced by the dtype of the input
  std::string reference = {};       // an equivalent with kernels; empty: the node itself
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class LowerSorts : public testing::TestWithParam<Row> {};

TEST_P(LowerSorts, GiveWhatTheirKernelsGive) {
  for (const std::string dtype : {"float32", "int64", "int32", "uint8", "bool"}) {
    const bool is_median = GetParam().name.rfind("Median", 0) == 0;
    if (is_median && dtype == "bool") continue;  // PyTorch has none
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(dtype + ", seed " + std::to_string(seed));
      const auto parse = [&](std::string node) {
        for (size_t at; (at = node.find("DT")) != std::string::npos;) node.replace(at, 2, dtype);
        return ir::parse(model(dtype, node, GetParam().results, seed));
      };
      auto lowered = parse(GetParam().node);
      auto kernels = parse(GetParam().reference.empty() ? GetParam().node : GetParam().reference);
      ASSERT_TRUE(kernels && lowered) << (kernels ? "" : kernels.error().message);
      const auto changed = passes::lower_sorts(*lowered);
      ASSERT_TRUE(changed) << changed.error().message;
      ASSERT_TRUE(*changed);
      ASSERT_TRUE(passes::use_dim_order_ops(*lowered));
      const Status verified = ir::verify(*lowered);
      ASSERT_TRUE(verified) << verified.error().message;
      const std::string after = ir::print(*lowered);
      EXPECT_THAT(after, testing::Not(testing::HasSubstr("aten.sort")));
      EXPECT_THAT(after, testing::Not(testing::HasSubstr("aten.median")));
      const auto wanted = evaluate_constants(*kernels), got = evaluate_constants(*lowered);
      ASSERT_TRUE(wanted) << wanted.error().message;
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(*got, *wanted) << after;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ops, LowerSorts,
    testing::Values(
        Row{"Sort", "  %v: DT[4, 37], %i: int64[4, 37] = aten.sort.default(%x)", "%v, %i"},
        Row{"SortDown", "  %v: DT[4, 37], %i: int64[4, 37] = aten.sort.default(%x, 0, true)", "%v, %i"},
        Row{"SortValues", "  %v: DT[4, 37], %i: int64[4, 37] = aten.sort.default(%x)", "%v"},
        Row{"SortStable",
            "  %v: DT[4, 37], %i: int64[4, 37] = aten.sort.stable(%x, stable=true, dim=-2, descending=true)",
            "%v, %i"},
        Row{"SortStableUp", "  %v: DT[4, 37], %i: int64[4, 37] = aten.sort.stable(%x, stable=true)",
            "%v, %i"},
        Row{"MedianKept", "  %v: DT[4, 1], %i: int64[4, 1] = aten.median.dim(%x, 1, true)", "%v"},
        Row{"MedianAlongRows", "  %v: DT[37], %i: int64[37] = aten.median.dim(%x, 0)", "%v"},
        Row{"MedianOfAll", "  %v: DT[] = aten.median.default(%x)", "%v",
            "  %f: DT[148] = aten.view_copy.default(%x, [148])\n"
            "  %v: DT[], %i: int64[] = aten.median.dim(%f, 0)"}),
    [](const auto& each) { return each.param.name; });

TEST(LowerRemainders, HaveTheSignOfTheDivisor) {
  for (const std::string dtype : {"int8", "int32", "int64"}) {
    for (const std::string node :
         {"aten.remainder.Scalar(%x, 3)", "aten.remainder.Scalar(%x, -3)", "aten.remainder.Tensor(%x, %d)"}) {
      SCOPED_TRACE(dtype + " " + node);
      const std::string text = model(
          dtype, "  %d: " + dtype + "[4, 37] = aten.sub.Scalar(%x, 5)\n  %y: " + dtype + "[4, 37] = " + node,
          "%y", 9);
      auto kernel = ir::parse(text), lowered = ir::parse(text);
      ASSERT_TRUE(kernel && lowered) << (kernel ? "" : kernel.error().message);
      const auto changed = passes::lower_remainders(*lowered);
      ASSERT_TRUE(changed) << changed.error().message;
      ASSERT_TRUE(*changed);
      EXPECT_THAT(ir::print(*lowered), testing::Not(testing::HasSubstr("aten.remainder")));
      const auto wanted = evaluate_constants(*kernel), got = evaluate_constants(*lowered);
      ASSERT_TRUE(wanted) << wanted.error().message;
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(*got, *wanted);
    }
  }
}

// The index of a median may be any that holds it.
TEST(LowerMedian, ItsIndexHoldsItsValue) {
  auto module = ir::parse(model("int64",
                                "  %v: int64[4, 1], %i: int64[4, 1] = aten.median.dim(%x, 1, true)\n"
                                "  %g: int64[4, 1] = aten.gather.default(%x, 1, %i)",
                                "%v, %g", 5));
  ASSERT_TRUE(module) << module.error().message;
  const auto changed = passes::lower_sorts(*module);
  ASSERT_TRUE(changed && *changed);
  const auto values = evaluate_constants(*module);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->at(0), values->at(1));
}

// Inputs that may be empty, or have rank 0, keep their op.
TEST(LowerSort, LeavesWhatMayBeEmpty) {
  auto module = ir::parse(R"(etg 1
module "forward"
symbol s0 {0..9}

graph @forward {
  user %x: float32[s0]
  user %y: float32[]
  %v: float32[s0], %i: int64[s0] = aten.sort.default(%x)
  %w: float32[], %k: int64[] = aten.sort.default(%y)
  return %v, %w
}
)");
  ASSERT_TRUE(module) << module.error().message;
  const auto changed = passes::lower_sorts(*module);
  ASSERT_TRUE(changed);
  EXPECT_FALSE(*changed);
}

}  // namespace
}  // namespace etb::tools
