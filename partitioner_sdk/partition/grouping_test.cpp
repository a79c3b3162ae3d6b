// SPDX-License-Identifier: Apache-2.0
// Tests grouping into regions: small graphs, random graphs against the definition, and linear time.
#include "partitioner_sdk/partition/grouping.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace etb::partition {
namespace {

using testing::ElementsAre;

constexpr uint32_t kNot = ClaimSet::kNot, kFree = ClaimSet::kFree;

struct Example {
  Dag dag{0};
  ClaimSet claims;
  std::vector<uint32_t> fixed;

  explicit Example(std::vector<uint32_t> units) : dag(static_cast<uint32_t>(units.size())) {
    fixed.assign(units.size(), kNoRegion);
    for (const uint32_t unit : units)
      if (unit < kFree)
        claims.is_own_region.resize(std::max<size_t>(claims.is_own_region.size(), unit + 1), false);
    claims.unit = std::move(units);
  }
  Example& edges(std::vector<std::pair<uint32_t, uint32_t>> list) {
    for (const auto& [from, to] : list) dag.add_edge(from, to);
    return *this;
  }
  Grouping group() const { return partition::group(dag, fixed, claims); }
};

TEST(Grouping, AChainIsOneRegion) {
  const Grouping got = Example({kFree, kFree, kFree}).edges({{0, 1}, {1, 2}}).group();
  EXPECT_THAT(got.region, ElementsAre(0, 0, 0));
  EXPECT_EQ(got.region_count, 1u);
}

TEST(Grouping, ADiamondAroundAForeignNodeIsTwoRegions) {
  // 0 -> 1 (foreign) -> 3 and 0 -> 2 -> 3: 0 and 3 in one region would need 1 in the middle of it.
  const Grouping got = Example({kFree, kNot, kFree, kFree}).edges({{0, 1}, {0, 2}, {1, 3}, {2, 3}}).group();
  EXPECT_THAT(got.region, ElementsAre(0, kNoRegion, 0, 1));
}

TEST(Grouping, WhatMayWaitForAForeignNodeDoesNotSplitARegion) {
  // 1 (foreign) goes first, so that 0 and 2 are one region though 0 comes first in the list.
  const Grouping got = Example({kFree, kNot, kFree}).edges({{1, 2}, {0, 2}}).group();
  EXPECT_THAT(got.region, ElementsAre(0, kNoRegion, 0));
}

TEST(Grouping, InterleavedChainsAreAsFewRegionsAsTheyCanBe) {
  // Two chains with foreign nodes at different positions: a0 f a1 and b0 b1 f b2.
  const Grouping got = Example({kFree, kNot, kFree, kFree, kFree, kNot, kFree})
                           .edges({{0, 1}, {1, 2}, {3, 4}, {4, 5}, {5, 6}})
                           .group();
  EXPECT_EQ(got.region_count, 2u);
  EXPECT_THAT(got.region, ElementsAre(0, kNoRegion, 1, 0, 0, kNoRegion, 1));
}

TEST(Grouping, OwnRegionsMergeWithNothing) {
  Example example({0, kFree, 1, kFree});
  example.edges({{0, 1}, {1, 2}, {2, 3}});
  example.claims.is_own_region = {true, true};
  const Grouping got = example.group();
  EXPECT_EQ(got.region_count, 4u);
  EXPECT_EQ(std::set<uint32_t>(got.region.begin(), got.region.end()).size(), 4u);
}

TEST(Grouping, UnitsStayWhole) {
  // Unit 0 holds both ends of independent branches; the foreign node is on one of them.
  const Grouping got = Example({kFree, kNot, 0, kFree, 0}).edges({{0, 1}, {1, 2}, {0, 3}, {3, 4}}).group();
  EXPECT_FALSE(got.cyclic_unit);
  EXPECT_EQ(got.region[2], got.region[4]);
  EXPECT_EQ(got.region_count, 2u);
}

TEST(Grouping, AUnitAroundAForeignNodeIsNamed) {
  const Grouping got = Example({kFree, 0, kNot, 0, 1}).edges({{0, 1}, {1, 2}, {2, 3}, {3, 4}}).group();
  EXPECT_EQ(got.cyclic_unit, 0u);
}

TEST(Grouping, TwoUnitsThatWaitForEachOtherAreNamed) {
  const Grouping got = Example({0, 1, 1, 0}).edges({{0, 1}, {2, 3}}).group();
  EXPECT_TRUE(got.cyclic_unit == 0u || got.cyclic_unit == 1u);
}

TEST(Grouping, RegionsOfAnEarlierPluginAreOneThing) {
  // Nodes 1 and 4 are one region already, so 0 -> {1,4} -> 2 and 3 -> {1,4} -> 5.
  Example example({kFree, kNot, kFree, kFree, kNot, kFree});
  example.edges({{0, 1}, {1, 2}, {3, 4}, {4, 5}});
  example.fixed = {kNoRegion, 0, kNoRegion, kNoRegion, 0, kNoRegion};
  EXPECT_THAT(example.group().region, ElementsAre(0, kNoRegion, 1, 0, kNoRegion, 1));
}

// ---- Against the definition, on random graphs

struct Reach {
  explicit Reach(const Dag& dag) : from(dag.node_count(), std::vector<bool>(dag.node_count(), false)) {
    for (uint32_t i = dag.node_count(); i-- > 0;) {
      for (const Dag::Edge& edge : dag.edges()) {
        if (edge.from != i) continue;
        from[i][edge.to] = true;
        for (uint32_t k = 0; k < dag.node_count(); ++k) from[i][k] = from[i][k] || from[edge.to][k];
      }
    }
  }
  std::vector<std::vector<bool>> from;
};

bool is_convex(const Reach& reach, const std::vector<uint32_t>& nodes) {
  const std::set<uint32_t> inside(nodes.begin(), nodes.end());
  for (uint32_t middle = 0; middle < reach.from.size(); ++middle) {
    if (inside.count(middle) != 0) continue;
    const bool is_after =
        std::any_of(nodes.begin(), nodes.end(), [&](uint32_t node) { return reach.from[node][middle]; });
    const bool is_before =
        std::any_of(nodes.begin(), nodes.end(), [&](uint32_t node) { return reach.from[middle][node]; });
    if (is_after && is_before) return false;
  }
  return true;
}

TEST(Grouping, RandomGraphsGiveConvexRegionsThatCannotBeMerged) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const uint32_t count = 2 + random() % 24;
    std::vector<uint32_t> units(count);
    for (uint32_t& unit : units) unit = random() % 3 == 0 ? kNot : kFree;
    Example example(units);
    for (uint32_t to = 1; to < count; ++to)
      for (uint32_t n = random() % 3; n-- > 0;) example.dag.add_edge(random() % to, to);
    const Grouping got = example.group();
    const Reach reach(example.dag);
    std::vector<std::vector<uint32_t>> regions(got.region_count);
    for (uint32_t node = 0; node < count; ++node) {
      ASSERT_EQ(got.region[node] == kNoRegion, units[node] == kNot);
      if (got.region[node] != kNoRegion) regions[got.region[node]].push_back(node);
    }
    for (size_t a = 0; a < regions.size(); ++a) {
      ASSERT_FALSE(regions[a].empty());
      EXPECT_TRUE(is_convex(reach, regions[a]));
      for (size_t b = a + 1; b < regions.size(); ++b) {
        std::vector<uint32_t> both = regions[a];
        both.insert(both.end(), regions[b].begin(), regions[b].end());
        EXPECT_FALSE(is_convex(reach, both)) << "regions " << a << " and " << b;
      }
    }
  }
}

// ---- Cost: counts nodes and edges, for any graph

void expect_linear(const Example& example) {
  const Grouping got = example.group();
  EXPECT_EQ(got.step_count, example.dag.node_count() + example.dag.edges().size());
}

TEST(Grouping, StepsAreNodesAndEdgesOnAdversarialGraphs) {
  constexpr uint32_t kCount = 100000;
  // A row of diamonds, every fourth node foreign.
  std::vector<uint32_t> units(kCount, kFree);
  for (uint32_t i = 1; i < kCount; i += 4) units[i] = kNot;
  Example diamonds(units);
  for (uint32_t i = 0; i + 3 < kCount; i += 3)
    diamonds.edges({{i, i + 1}, {i, i + 2}, {i + 1, i + 3}, {i + 2, i + 3}});
  expect_linear(diamonds);
  // A chain, every second node foreign: the maximum number of regions.
  for (uint32_t i = 0; i < kCount; ++i) units[i] = i % 2 == 0 ? kFree : kNot;
  Example chain(units);
  for (uint32_t i = 0; i + 1 < kCount; ++i) chain.dag.add_edge(i, i + 1);
  expect_linear(chain);
  EXPECT_EQ(chain.group().region_count, kCount / 2);
  // The same with a way around every node, and one node that all others need.
  for (uint32_t i = 0; i + 2 < kCount; ++i) chain.dag.add_edge(i, i + 2);
  for (uint32_t i = 1; i < kCount; ++i) chain.dag.add_edge(0, i);
  expect_linear(chain);
}

}  // namespace
}  // namespace etb::partition
