// SPDX-License-Identifier: Apache-2.0
// Tests plans over several memories: validity, choice by accesses, and results near those of an exhaustive search.
#include "partitioner_sdk/memory_plan/memories.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace etb::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Placement good_placement(const std::vector<Block>& blocks, const std::vector<uint32_t>& accesses,
                         const std::vector<Memory>& memories) {
  Placement placement = place_blocks(blocks, accesses, memories);
  EXPECT_TRUE(placement.unplaced.empty());
  const Status status = verify_placement(blocks, placement, memories);
  EXPECT_TRUE(status) << status.error().message;
  return placement;
}

const std::vector<Memory> kSramAndDram{{"sram", 256, 16, 1}, {"dram", kUnlimited, 16, 10}};

TEST(Memories, EverythingStaysInTheCheapestThatHasRoom) {
  const Placement placement =
      good_placement({{128, 0, 1}, {128, 1, 2}, {128, 2, 3}}, {1, 2, 1}, kSramAndDram);
  EXPECT_THAT(placement.memory, ElementsAre(0, 0, 0));
  EXPECT_EQ(placement.uses[0].arena_nbytes, 256u);
  EXPECT_EQ(placement.uses[1].arena_nbytes, 0u);
  EXPECT_EQ(placement.cost(kSramAndDram), 4u * 128);
}

TEST(Memories, KeepsTheBlockWithMoreAccesses) {
  const std::vector<Block> blocks{{200, 0, 3}, {200, 0, 3}};
  EXPECT_THAT(good_placement(blocks, {2, 9}, kSramAndDram).memory, ElementsAre(1, 0));
  EXPECT_THAT(good_placement(blocks, {9, 2}, kSramAndDram).memory, ElementsAre(0, 1));
}

TEST(Memories, ALongUnusedBlockGivesWayToShortOnes) {
  std::vector<Block> blocks{{256, 0, 9}};
  std::vector<uint32_t> accesses{2};
  for (uint32_t i = 0; i < 9; ++i) {
    blocks.push_back({128, i, i + 1});
    accesses.push_back(2);
  }
  const Placement placement = good_placement(blocks, accesses, kSramAndDram);
  EXPECT_EQ(placement.memory[0], 1u);
  for (size_t i = 1; i < blocks.size(); ++i) EXPECT_EQ(placement.memory[i], 0u) << i;
}

TEST(Memories, OrderByCostNotByPosition) {
  const std::vector<Memory> memories{{"dram", kUnlimited, 16, 10}, {"sram", 256, 16, 1}};
  EXPECT_THAT(good_placement({{200, 0, 1}, {200, 0, 1}}, {1, 2}, memories).memory, ElementsAre(0, 1));
}

TEST(Memories, OffsetsHaveTheAlignmentOfTheirMemory) {
  const std::vector<Memory> memories{{"sram", 300, 128, 1}, {"dram", kUnlimited, 64, 2}};
  const Placement placement =
      good_placement({{10, 0, 1}, {10, 0, 1}, {40, 0, 1}, {50, 0, 1}, {60, 0, 1}}, {9, 8, 7, 1, 1}, memories);
  EXPECT_THAT(placement.memory, ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(std::vector<uint64_t>(placement.offsets.begin(), placement.offsets.begin() + 3),
              testing::UnorderedElementsAre(0, 128, 256));
}

// Its last 20 bytes are no multiple of the alignment.
TEST(Memories, UsesTheLastBytesOfAMemory) {
  const std::vector<Memory> memories{{"sram", 276, 16, 1}};
  EXPECT_EQ(good_placement({{256, 0, 1}, {20, 0, 1}}, {1, 1}, memories).uses[0].arena_nbytes, 276u);
}

TEST(Memories, ABlockThatFitsNowhereElseHasPrecedence) {
  const std::vector<Memory> memories{{"sram", 1024, 16, 1}, {"tiny", 512, 16, 10}};
  EXPECT_THAT(good_placement({{800, 0, 1}, {400, 0, 1}}, {1, 50}, memories).memory, ElementsAre(0, 1));
}

TEST(Memories, FitsByPackingWhereTheBestByAccessesDoesNotFit) {
  // 96 and 144 have the most accesses, but only 96 and 160 leave room for the others.
  const std::vector<Memory> memories{{"sram", 256, 16, 1}, {"dram", 256, 16, 10}};
  const std::vector<Block> blocks{{96, 0, 1}, {144, 0, 1}, {160, 0, 1}, {112, 0, 1}};
  EXPECT_THAT(good_placement(blocks, {90, 3, 1, 1}, memories).memory, ElementsAre(0, 1, 0, 1));
}

TEST(Memories, NamesBlocksWithoutRoomAndThePeak) {
  const std::vector<Block> blocks{{100, 0, 1}, {300, 1, 3}, {200, 2, 2}, {0, 2, 2}, {16, 3, 3}};
  const std::vector<Memory> memories{{"sram", 256, 16, 1}, {"dram", 256, 16, 2}};
  EXPECT_THAT(place_blocks(blocks, std::vector<uint32_t>(5, 1), memories).unplaced, ElementsAre(1));
  const PeakStep peak = find_peak_step(blocks, 16);
  EXPECT_EQ(peak.step, 2u);
  EXPECT_EQ(peak.nbytes, 304u + 208u);
  EXPECT_THAT(peak.blocks, ElementsAre(1, 2));
}

TEST(Memories, VerifyFindsEachBreach) {
  const std::vector<Block> blocks{{200, 0, 1}, {200, 0, 1}};
  const std::vector<uint32_t> accesses{1, 1};
  const Placement good = place_blocks(blocks, accesses, kSramAndDram);
  Placement bad = good;
  bad.memory[0] = bad.memory[1];
  EXPECT_FALSE(verify_placement(blocks, bad, kSramAndDram));
  bad = good;
  bad.uses[0].arena_nbytes = 272;
  EXPECT_THAT(verify_placement(blocks, bad, kSramAndDram).error().message, HasSubstr("'sram' is too large"));
  bad = good;
  bad.unplaced = {1};
  EXPECT_FALSE(verify_placement(blocks, bad, kSramAndDram));
}

// Returns the least cost of all assignments of blocks to two memories, with the plans of make_plan.
uint64_t least_cost(const std::vector<Block>& blocks, const std::vector<uint32_t>& accesses,
                    const std::vector<Memory>& memories) {
  uint64_t least = UINT64_MAX;
  for (uint32_t mask = 0; mask < 1u << blocks.size(); ++mask) {
    std::vector<Block> own;
    uint64_t cost = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const bool is_fast = (mask >> i & 1) != 0;
      if (is_fast) own.push_back(blocks[i]);
      cost += blocks[i].nbytes * accesses[i] * memories[is_fast ? 0 : 1].cost;
    }
    if (cost < least && make_plan(own, 16).arena_nbytes <= memories[0].nbytes) least = cost;
  }
  return least;
}

TEST(Memories, CostsAreNearTheLeastOfAllAssignments) {
  const unsigned seed = 20261126;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  double sum = 0;
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Block> blocks(9);
    std::vector<uint32_t> accesses;
    for (Block& block : blocks) {
      block.nbytes = 16 * (1 + random() % 10);
      block.first = static_cast<uint32_t>(random() % 6);
      block.last = block.first + static_cast<uint32_t>(random() % 4);
      accesses.push_back(2 + static_cast<uint32_t>(random() % 4));
    }
    const std::vector<Memory> memories{{"sram", 192, 16, 1}, {"dram", kUnlimited, 16, 10}};
    const uint64_t cost = good_placement(blocks, accesses, memories).cost(memories);
    const uint64_t least = least_cost(blocks, accesses, memories);
    EXPECT_LE(cost, least * 110 / 100) << round;
    sum += static_cast<double>(cost) / static_cast<double>(least);
  }
  EXPECT_LE(sum / kRounds, 1.01);
}

TEST(Memories, RandomBlocksFitAndLargePlansTakeLittleTime) {
  const unsigned seed = 20261127;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<Memory> memories{
      {"tcm", 4000, 16, 1}, {"sram", 20000, 32, 3}, {"dram", kUnlimited, 64, 20}};
  for (const size_t count : {1u, 7u, 60u, 3000u}) {
    std::vector<Block> blocks(count);
    std::vector<uint32_t> accesses;
    for (Block& block : blocks) {
      block.nbytes = random() % 3000;
      block.first = static_cast<uint32_t>(random() % (count + 1));
      block.last = block.first + static_cast<uint32_t>(random() % 9);
      accesses.push_back(static_cast<uint32_t>(random() % 5));
    }
    const auto start = std::chrono::steady_clock::now();
    good_placement(blocks, accesses, memories);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  }
}

}  // namespace
}  // namespace etb::plan
