// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/input_bounds.hpp"

#include <gmock/gmock.h>

namespace etb::pt2 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One input of sizes [s0, s1, 3]; s0 has no upper bound, s1 has 64.
ir::Module module_of_two_symbols() {
  ir::Module module;
  module.graphs.emplace_back();
  ir::Value value;
  value.name = "x";
  value.spec.sizes = {module.symbols.add_symbol({"s0", 1, ir::kUnbounded, 50}),
                      module.symbols.add_symbol({"s1", 1, 64, 5}), 3};
  const ir::ValueId id = module.main().add_value(std::move(value));
  module.main().inputs.push_back({id, ir::InputKind::kUser, {}, ir::kNone});
  return module;
}

TEST(InputBounds, AssumesFourTimesTheExampleAndSaysSo) {
  ir::Module module = module_of_two_symbols();
  const auto assumptions = bound_inputs(module, {});
  ASSERT_TRUE(assumptions) << assumptions.error().message;
  EXPECT_THAT(*assumptions,
              ElementsAre(HasSubstr("dimension 0 of input 'x' has no upper bound; 256 is assumed")));
  EXPECT_EQ(module.symbols.symbol(0).max, 256);
  EXPECT_EQ(module.symbols.symbol(1).max, 64);
}

TEST(InputBounds, TakesGivenBoundsWithoutAWord) {
  ir::Module module = module_of_two_symbols();
  const auto assumptions = bound_inputs(module, {{"s0", 512}, {"s1", 8}});
  ASSERT_TRUE(assumptions) << assumptions.error().message;
  EXPECT_THAT(*assumptions, ElementsAre());
  EXPECT_EQ(module.symbols.symbol(0).max, 512);
  EXPECT_EQ(module.symbols.symbol(1).max, 8);
}

TEST(InputBounds, TakesBoundsOfSizesThatDependOnData) {
  ir::Module module = module_of_two_symbols();
  module.symbols.add_symbol({"u0", 0, ir::kUnbounded, {}});
  const auto assumptions = bound_inputs(module, {{"u0", 40}});
  ASSERT_TRUE(assumptions) << assumptions.error().message;
  EXPECT_EQ(module.symbols.symbol(2).max, 40);
}

TEST(InputBounds, RejectsUnknownNamesAndBoundsOutsideTheRange) {
  ir::Module module = module_of_two_symbols();
  const auto unknown = bound_inputs(module, {{"s9", 4}});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message,
              HasSubstr("'s9'\nhint: the sizes of inputs are s0 (dimension 0 of input 'x')"));
  const auto large = bound_inputs(module, {{"s1", 65}});
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message, HasSubstr("bound 65 for s1, expected 1 to 64"));
}

TEST(InputBounds, AssumesABoundOfSizesThatDependOnData) {
  ir::Module module;
  module.graphs.emplace_back();
  ir::Value value;
  value.name = "counts";
  value.spec.sizes = {module.symbols.add_symbol({"u0", 0, ir::kUnbounded, {}}),
                      module.symbols.add_symbol({"u1", 0, 9, {}})};
  module.main().add_value(std::move(value));
  EXPECT_THAT(
      bound_data_sizes(module),
      ElementsAre("size u0 of 'counts' depends on data and has no upper bound; 1024 is assumed (--bound "
                  "u0=N sets another)"));
  EXPECT_EQ(module.symbols.symbol(0).max, 1024);
  EXPECT_EQ(module.symbols.symbol(1).max, 9);
}

}  // namespace
}  // namespace etb::pt2
