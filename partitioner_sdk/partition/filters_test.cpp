// SPDX-License-Identifier: Apache-2.0
// Tests patterns and filters for nodes.
#include "partitioner_sdk/partition/filters.hpp"

#include <gtest/gtest.h>

namespace etb::partition {
namespace {

TEST(Filters, StarsStandForAnyText) {
  EXPECT_TRUE(matches("aten.add.Tensor", "aten.add.Tensor"));
  EXPECT_TRUE(matches("aten.add*", "aten.add.Tensor"));
  EXPECT_TRUE(matches("*add*", "aten.add.Tensor"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(matches("aten.add", "aten.add.Tensor"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_FALSE(matches("a*b", "aXbY"));
  // Exponential if each star were tried at each position.
  EXPECT_FALSE(matches(std::string(40, '*') + "a" + std::string(40, '*') + "b", std::string(4000, 'a')));
}

TEST(Filters, SkipWinsOverOnlyAndSaysWhichOption) {
  Filters filters;
  const FilteredNode node{"aten.add.Tensor", "layers.1.ffn", {"add_3"}};
  EXPECT_TRUE(filters.is_empty());
  EXPECT_FALSE(find_objection(filters, node));
  filters.only_ops = {"aten.add*"};
  EXPECT_FALSE(find_objection(filters, node));
  filters.skip_nodes = {"add_3"};
  EXPECT_EQ(find_objection(filters, node), "--skip-node 'add_3'");
  filters = {};
  filters.only_ops = {"aten.mul*"};
  EXPECT_EQ(find_objection(filters, node), "op 'aten.add.Tensor' is not among --only-op");
}

TEST(Filters, AModuleHoldsWhatIsInside) {
  Filters filters;
  filters.skip_modules = {"layers.1"};
  EXPECT_TRUE(find_objection(filters, {"op", "layers.1.ffn", {}}));
  EXPECT_TRUE(find_objection(filters, {"op", "layers.1", {}}));
  EXPECT_FALSE(find_objection(filters, {"op", "layers.10", {}}));
  EXPECT_FALSE(find_objection(filters, {"op", "", {}}));
}

}  // namespace
}  // namespace etb::partition
