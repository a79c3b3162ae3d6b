// SPDX-License-Identifier: Apache-2.0
#include "host/services/accounted_allocator.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

namespace etb::host {
namespace {

void* take(AccountedAllocator& memory, uint64_t nbytes, uint64_t alignment = 16, const char* tag = nullptr) {
  return memory.service()->allocate(memory.service()->ctx, nbytes, alignment, tag);
}

void give(AccountedAllocator& memory, void* ptr) { memory.service()->free(memory.service()->ctx, ptr); }

TEST(AccountedAllocator, AlignsAndCounts) {
  AccountedAllocator memory;
  for (uint64_t alignment = 1; alignment <= 8192; alignment *= 2) {
    void* const ptr = take(memory, 100, alignment);
    ASSERT_NE(ptr, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(ptr) % alignment, 0u);
    std::memset(ptr, 0xab, 100);
    EXPECT_EQ(memory.usage().live_bytes, 100u);
    give(memory, ptr);
  }
  EXPECT_EQ(memory.usage().live_bytes, 0u);
  EXPECT_EQ(memory.usage().live_count, 0u);
  EXPECT_EQ(memory.usage().peak_bytes, 100u);
  EXPECT_EQ(memory.usage().allocate_count, 14u);
  give(memory, nullptr);
}

TEST(AccountedAllocator, RefusesWhatCannotBe) {
  AccountedAllocator memory(1000);
  EXPECT_EQ(take(memory, 1001), nullptr) << "above the cap";
  EXPECT_EQ(take(memory, UINT64_MAX), nullptr);
  EXPECT_EQ(take(memory, UINT64_MAX - 8), nullptr);
  EXPECT_EQ(take(memory, 8, 0), nullptr) << "alignment";
  EXPECT_EQ(take(memory, 8, 24), nullptr);
  EXPECT_EQ(take(memory, 8, uint64_t{1} << 63), nullptr);
  void* const all = take(memory, 1000);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(take(memory, 1), nullptr);
  give(memory, all);
  void* const none = take(memory, 0);
  EXPECT_NE(none, nullptr) << "no bytes are an address all the same";
  give(memory, none);
  EXPECT_GE(memory.usage().refused_count, 2u);
}

// proves: ABI-HYG-03
TEST(AccountedAllocator, CountsAndFreesWhatIsStillHeld) {
  AccountedAllocator memory;
  take(memory, 10, 16, "scratch");
  take(memory, 300, 16, "weights");
  take(memory, 5);
  EXPECT_EQ(memory.usage().live_bytes, 315u);
  EXPECT_EQ(memory.usage().live_count, 3u);
  // The destructor frees the blocks. Otherwise AddressSanitizer would report them.
}

TEST(AccountedAllocator, KeepsCountFromManyThreads) {
  AccountedAllocator memory(1 << 20);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&memory, t] {
      const uint32_t seed = 17 + t;
      std::mt19937 random(seed);
      std::vector<void*> held;
      for (int i = 0; i < 2000; ++i) {
        if (held.empty() || random() % 2 == 0) {
          if (void* const ptr = take(memory, random() % 2000, 1u << (random() % 9))) held.push_back(ptr);
        } else {
          std::swap(held[random() % held.size()], held.back());
          give(memory, held.back());
          held.pop_back();
        }
      }
      for (void* ptr : held) give(memory, ptr);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.usage().live_bytes, 0u);
  EXPECT_EQ(memory.usage().live_count, 0u);
}

}  // namespace
}  // namespace etb::host
