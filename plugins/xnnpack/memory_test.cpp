// SPDX-License-Identifier: Apache-2.0
// Tests the memory that delegates share: workspaces, packed weights, the checksum of their file.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <string>

#include "plugins/xnnpack/checksum.hpp"
#include "plugins/xnnpack/packed_weights.hpp"
#include "plugins/xnnpack/weight_memory.hpp"
#include "plugins/xnnpack/workspace.hpp"

namespace etb::xnnpack {
namespace {

constexpr uint32_t kSeed = 20261121;

TEST(XnnpackWorkspaces, RunsAtTheSameTimeHaveMemoryOfTheirOwn) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  WorkspacePool pool;
  const auto first = pool.first();
  ASSERT_TRUE(first);
  {
    const auto one = pool.lock_free(), two = pool.lock_free();
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->workspace, *first);
    EXPECT_NE(two->workspace, *first);
  }
  const auto later = pool.lock_free();
  ASSERT_TRUE(later);
  EXPECT_EQ(later->workspace, *first) << "there is a second memory without a run";
}

TEST(XnnpackWorkspaces, GoWithTheLastWhoUsesThem) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  WorkspacePool pool;
  std::weak_ptr<Workspace> gone;
  {
    const auto first = pool.first();
    ASSERT_TRUE(first);
    gone = *first;
  }
  EXPECT_TRUE(gone.expired());
  EXPECT_TRUE(pool.first());
}

// Delegates with workspace_sharing_mode "global" ask for the first memory at any time, and must get the same one.
TEST(XnnpackWorkspaces, TheFirstStaysTheFirstWhenAnEarlierOneEnds) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  WorkspacePool pool;
  std::shared_ptr<Workspace> kept;
  {
    const auto one = pool.lock_free(), two = pool.lock_free();
    ASSERT_TRUE(one && two);
    kept = two->workspace;
  }
  const auto first = pool.first();
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, kept) << "a memory that lives is not used";
  const std::lock_guard running(kept->running);
  const auto other = pool.lock_free();  // in the place of the one that ended, before `kept`
  ASSERT_TRUE(other);
  const auto again = pool.first();
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, kept) << "there are two first memories";
}

TEST(XnnpackWeightMemory, PiecesAreAlignedZeroAndApart) {
  WeightMemory memory;
  std::mt19937 random(kSeed);
  std::vector<std::pair<std::shared_ptr<void>, size_t>> pieces;
  for (int i = 0; i < 200; ++i) {
    const size_t nbytes = std::uniform_int_distribution<size_t>(1, i % 20 == 0 ? 3u << 20 : 20000u)(random);
    pieces.emplace_back(memory.allocate(nbytes), nbytes);
    auto* const bytes = static_cast<uint8_t*>(pieces.back().first.get());
    ASSERT_NE(bytes, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(bytes) % 128, 0u);
    for (size_t b = 0; b < nbytes + XNN_EXTRA_BYTES; ++b) ASSERT_EQ(bytes[b], 0) << "seed " << kSeed;
    std::memset(bytes, i + 1, nbytes + XNN_EXTRA_BYTES);
    if (i % 3 == 0) pieces[pieces.size() / 2] = {nullptr, 0};
    if (i % 7 == 0) memory.trim();
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto* const bytes = static_cast<const uint8_t*>(pieces[i].first.get());
    for (size_t b = 0; b < pieces[i].second; ++b) ASSERT_EQ(bytes[b], static_cast<uint8_t>(i + 1));
  }
}

// Returns the kernel's flags of the mapping that holds an address ("hg": huge pages wanted, "nh": none).
std::string flags_of(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char dash = 0;
    if (std::sscanf(line.c_str(), "%lx%c%lx ", &begin, &dash, &end) == 3 && dash == '-')
      is_inside = reinterpret_cast<uintptr_t>(address) >= begin && reinterpret_cast<uintptr_t>(address) < end;
    if (is_inside && line.starts_with("VmFlags:")) return line;
  }
  return {};
}

uint64_t fast_clock() {
  static std::atomic<uint64_t> now{0};
  return now += 200000;
}
uint64_t slow_clock() {
  static std::atomic<uint64_t> now{0};
  return now += 5000000;
}

// A huge page that the system has to assemble first takes milliseconds. The allocator stops after one such
// page.
TEST(XnnpackWeightMemory, StopsAskingForHugePagesWhenTheyAreSlow) {
  constexpr size_t kPiece = size_t{3} << 20;
  for (const bool is_slow : {false, true}) {
    WeightMemory memory(is_slow ? &slow_clock : &fast_clock);
    std::vector<std::shared_ptr<void>> pieces;
    for (int i = 0; i < 5; ++i) {
      pieces.push_back(memory.allocate(kPiece));
      ASSERT_NE(pieces.back(), nullptr);
      std::memset(pieces.back().get(), i + 1, kPiece);
    }
    const std::string before = flags_of(pieces[4].get());
    if (before.find(" hg") == std::string::npos && before.find(" nh") == std::string::npos)
      GTEST_SKIP() << "this kernel has no huge pages: " << before;
    EXPECT_NE(before.find(is_slow ? " nh" : " hg"), std::string::npos) << before;
    for (int i = 0; i < 5; ++i) {
      const auto* bytes = static_cast<const uint8_t*>(pieces[static_cast<size_t>(i)].get());
      EXPECT_TRUE(std::all_of(bytes, bytes + kPiece, [i](uint8_t byte) { return byte == i + 1; }));
    }
    // After the last allocation the kernel may build huge pages from the existing ones.
    memory.trim();
    EXPECT_NE(flags_of(pieces[3].get()).find(" hg"), std::string::npos);
  }
}

TEST(XnnpackWeightMemory, HasNoMoreThanThereIs) {
  EXPECT_EQ(WeightMemory().allocate(SIZE_MAX - 5), nullptr);
  EXPECT_EQ(WeightMemory().allocate(size_t{1} << 60), nullptr);
}

TEST(XnnpackChecksum, SeesEveryBitAndTheOrder) {
  std::mt19937 random(kSeed);
  for (const size_t nbytes : {0u, 1u, 15u, 64u, 65u, 127u, 300u}) {
    std::vector<std::byte> bytes(nbytes);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    const uint64_t whole = checksum(bytes.data(), nbytes);
    for (size_t bit = 0; bit < 8 * nbytes; ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(checksum(bytes.data(), nbytes), whole)
          << "bit " << bit << " of " << nbytes << " bytes, seed " << kSeed;
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    for (size_t at = 0; at + 128 <= nbytes; at += 8) {
      std::swap_ranges(bytes.begin() + static_cast<ptrdiff_t>(at),
                       bytes.begin() + static_cast<ptrdiff_t>(at + 64),
                       bytes.begin() + static_cast<ptrdiff_t>(at + 64));
      EXPECT_NE(checksum(bytes.data(), nbytes), whole)
          << "64 bytes at " << at << " exchanged, seed " << kSeed;
      std::swap_ranges(bytes.begin() + static_cast<ptrdiff_t>(at),
                       bytes.begin() + static_cast<ptrdiff_t>(at + 64),
                       bytes.begin() + static_cast<ptrdiff_t>(at + 64));
    }
    // Flips top bits of two words at an even distance: a plain sum of sums would miss it.
    for (size_t at = 0; at + 256 <= nbytes; at += 8) {
      bytes[at + 7] ^= std::byte{0x80};
      bytes[at + 128 + 7] ^= std::byte{0x80};
      EXPECT_NE(checksum(bytes.data(), nbytes), whole) << "top bits at " << at << ", seed " << kSeed;
      bytes[at + 7] ^= std::byte{0x80};
      bytes[at + 128 + 7] ^= std::byte{0x80};
    }
  }
}

// Calls the weights cache as XNNPACK does.
class XnnpackPackedWeights : public testing::Test {
 protected:
  size_t pack(const void* filter, const void* bias, bool looks_first = true) {
    xnn_weights_cache_t cache = weights_.provider();
    const xnn_weights_cache_look_up_key key = {1, filter, bias};
    if (looks_first) {
      if (const size_t known = cache->look_up(cache->context, &key); known != SIZE_MAX) return known;
    }
    void* const bytes = cache->reserve_space(cache->context, 256);
    if (bytes == nullptr) return SIZE_MAX;
    return cache->look_up_or_insert(cache->context, &key, bytes, 256);
  }

  PackedStore store_;
  PackedWeights weights_{store_, true};
  std::vector<const void*> released_;
  char first_ = 0, second_ = 0, bias_ = 0;
};

TEST_F(XnnpackPackedWeights, ReleasesWhatTheLastNodeHasPacked) {
  weights_.release_when_packed([this](const void* address) { released_.push_back(address); });
  weights_.name(&first_, "first");
  weights_.name(&bias_, "bias");
  weights_.name(&second_, "second");
  weights_.name(&bias_, "bias");
  pack(&first_, &bias_);
  EXPECT_EQ(released_, std::vector<const void*>({&first_}));
  pack(&second_, &bias_);
  EXPECT_EQ(released_, std::vector<const void*>({&first_, &second_, &bias_}));
  EXPECT_FALSE(weights_.is_missing_released());
}

TEST_F(XnnpackPackedWeights, KeepsWhatXnnpackPacksUnasked) {
  weights_.release_when_packed([this](const void* address) { released_.push_back(address); });
  weights_.name(&first_, "first");
  const size_t index = pack(&first_, nullptr, false);
  EXPECT_EQ(pack(&first_, nullptr, false), index);
  EXPECT_TRUE(released_.empty());
}

TEST_F(XnnpackPackedWeights, GivesOutZerosAlsoWhereSomethingWasPackedInVain) {
  weights_.name(&first_, "first");
  pack(&first_, nullptr);
  xnn_weights_cache_t cache = weights_.provider();
  const xnn_weights_cache_look_up_key key = {1, &first_, nullptr};
  auto* const in_vain = static_cast<char*>(cache->reserve_space(cache->context, 256));
  std::fill_n(in_vain, 256, 'x');
  cache->look_up_or_insert(cache->context, &key, in_vain, 256);
  auto* const again = static_cast<char*>(cache->reserve_space(cache->context, 128));
  EXPECT_EQ(again, in_vain);
  EXPECT_EQ(std::count(again, again + 128, '\0'), 128);
}

TEST_F(XnnpackPackedWeights, NamesGoWithTheLastUser) {
  weights_.name(&first_, "first");
  pack(&first_, nullptr);
  {
    PackedWeights other(store_, true);
    for (const auto& [address, name] : {std::pair{&first_, "first"}, {&second_, "second"}}) {
      other.name(address, name);
      xnn_weights_cache_t cache = other.provider();
      const xnn_weights_cache_look_up_key key = {1, address, nullptr};
      if (cache->look_up(cache->context, &key) == SIZE_MAX)
        cache->look_up_or_insert(cache->context, &key, cache->reserve_space(cache->context, 256), 256);
    }
    EXPECT_EQ(store_.size(), 2u);
  }
  EXPECT_EQ(store_.size(), 1u) << "the name of weights that nothing uses is kept, or one in use is gone";
}

TEST_F(XnnpackPackedWeights, NothingIsPackedFromWhatWasReleased) {
  weights_.release_when_packed([this](const void* address) { released_.push_back(address); });
  weights_.name(&first_, "first");
  pack(&first_, nullptr);
  ASSERT_EQ(released_.size(), 1u);
  EXPECT_EQ(pack(&first_, &bias_), SIZE_MAX);
  EXPECT_TRUE(weights_.is_missing_released());
  weights_.forget_names();
  weights_.name(&first_, "first");
  weights_.name(&bias_, "bias");
  EXPECT_NE(pack(&first_, &bias_), SIZE_MAX);
}

}  // namespace
}  // namespace etb::xnnpack
