// SPDX-License-Identifier: Apache-2.0
// Tests memory plans: validity, and sizes near the lower bound.
#include "partitioner_sdk/memory_plan/memory_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace etb::plan {
namespace {

constexpr uint64_t kAlignment = 16;

Plan good_plan(const std::vector<Block>& blocks) {
  const Plan plan = make_plan(blocks, kAlignment);
  const Status status = verify_plan(blocks, plan, kAlignment);
  EXPECT_TRUE(status) << status.error().message;
  EXPECT_GE(plan.arena_nbytes, plan.lower_bound_nbytes);
  return plan;
}

TEST(MemoryPlan, ChainsReuseMemory) {
  std::vector<Block> blocks;
  for (uint32_t i = 0; i < 50; ++i) blocks.push_back({1000, i, i + 1});
  const Plan plan = good_plan(blocks);
  EXPECT_EQ(plan.arena_nbytes, 2u * 1008);
  EXPECT_EQ(plan.lower_bound_nbytes, 2u * 1008);
}

TEST(MemoryPlan, EmptyBlocksAndNoBlocks) {
  EXPECT_EQ(good_plan({}).arena_nbytes, 0u);
  EXPECT_EQ(good_plan({{0, 0, 3}, {5, 1, 2}, {0, 2, 2}}).arena_nbytes, 16u);
}

TEST(MemoryPlan, FillsAGapThatFits) {
  // A long small block beside short large ones: the gap after the small one is used.
  const Plan plan = good_plan({{16, 0, 9}, {160, 0, 1}, {160, 2, 3}, {80, 4, 5}, {80, 4, 5}});
  EXPECT_EQ(plan.arena_nbytes, plan.lower_bound_nbytes);
}

TEST(MemoryPlan, RandomBlocksNeverOverlapAndStayNearTheBound) {
  const unsigned seed = 20261121;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<Block> blocks(1 + random() % 60);
    for (Block& block : blocks) {
      block.nbytes = random() % 3000;
      block.first = static_cast<uint32_t>(random() % 40);
      block.last = block.first + static_cast<uint32_t>(random() % 6);
    }
    const Plan plan = good_plan(blocks);
    EXPECT_LE(plan.arena_nbytes, plan.lower_bound_nbytes * 2);
  }
}

TEST(MemoryPlan, BlocksThatAreKeptApartDoNotOverlap) {
  // Three steps, one after another: only the first and the last may share.
  const std::vector<Block> blocks = {{32, 0, 0}, {32, 1, 1}, {32, 2, 2}};
  const std::vector<Apart> apart = {{0, 1}, {2, 1}};
  const Plan plan = make_plan(blocks, kAlignment, apart);
  EXPECT_TRUE(verify_plan(blocks, plan, kAlignment, apart));
  EXPECT_EQ(plan.arena_nbytes, 64u);
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
  EXPECT_EQ(make_plan(blocks, kAlignment).arena_nbytes, 32u);
  const Status shared = verify_plan(blocks, {{0, 0, 32}, 64, 0}, kAlignment, apart);
  ASSERT_FALSE(shared);
  EXPECT_THAT(shared.error().message, ::testing::HasSubstr("blocks 0 and 1 overlap, which are kept apart"));
  const unsigned seed = 20261126;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    std::vector<Block> many(2 + random() % 40);
    for (Block& block : many) {
      block.nbytes = random() % 3000;
      block.first = static_cast<uint32_t>(random() % 20);
      block.last = block.first + static_cast<uint32_t>(random() % 4);
    }
    std::vector<Apart> pairs(random() % 60);
    for (Apart& pair : pairs) {
      pair.first = static_cast<uint32_t>(random() % many.size());
      pair.second = (pair.first + 1 + static_cast<uint32_t>(random() % (many.size() - 1))) %
                    static_cast<uint32_t>(many.size());
    }
    const Status status = verify_plan(many, make_plan(many, kAlignment, pairs), kAlignment, pairs);
    EXPECT_TRUE(status) << status.error().message;
  }
}

TEST(MemoryPlan, AHundredThousandBlocksTakeLittleTime) {
  std::vector<Block> blocks;
  for (uint32_t i = 0; i < 100000; ++i) blocks.push_back({64 + i % 7 * 100, i, i + 1 + i % 5});
  good_plan(blocks);
}

// Many blocks live at the same time, as activations of a network in training do until their gradients. Each placement
// looks at hundreds of others, so few orders are tried.
TEST(MemoryPlan, ManyBlocksThatLiveAtOnceTakeLittleTime) {
  const unsigned seed = 20261123;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<Block> blocks(4000);
  for (Block& block : blocks) {
    block.nbytes = random() % 30000;
    block.first = static_cast<uint32_t>(random() % 2000);
    block.last = block.first + static_cast<uint32_t>(random() % 1000);
  }
  const auto start = std::chrono::steady_clock::now();
  const Plan plan = good_plan(blocks);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_LE(plan.arena_nbytes, plan.lower_bound_nbytes / 100 * 120);
}

TEST(MemoryPlan, TheVerifierFindsWhatIsWrong) {
  const std::vector<Block> blocks = {{32, 0, 2}, {32, 1, 3}, {32, 3, 4}};
  const auto message = [&](std::vector<uint64_t> offsets, uint64_t arena) {
    const Status status = verify_plan(blocks, {std::move(offsets), arena, 0}, kAlignment);
    return status ? "" : status.error().message;
  };
  using ::testing::HasSubstr;
  EXPECT_EQ(message({0, 32, 0}, 64), "");
  EXPECT_THAT(message({0, 16, 0}, 64), HasSubstr("blocks 0 and 1 overlap in step 1"));
  EXPECT_THAT(message({0, 0, 32}, 64), HasSubstr("blocks 0 and 1 overlap"));
  EXPECT_THAT(message({32, 16, 64}, 96), HasSubstr("blocks 0 and 1 overlap"));
  EXPECT_THAT(message({0, 32, 8}, 64), HasSubstr("not aligned"));
  EXPECT_THAT(message({0, 32, 0}, 48), HasSubstr("outside"));
  EXPECT_THAT(message({0, 32}, 64), HasSubstr("not one offset"));
}

}  // namespace
}  // namespace etb::plan
