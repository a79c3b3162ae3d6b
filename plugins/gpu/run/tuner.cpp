// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/run/tuner.hpp"

namespace etb::gpu {

namespace {

// Rounds are counted in turn for one of these groups. A kernel is faster if it is in each of them: one quiet or busy moment of the
// machine decides nothing.
constexpr size_t kGroups = 3;
constexpr size_t kRounds = 2 * kGroups, kRoundsOfShort = 8 * kGroups;
constexpr uint64_t kShortNs =
    500'000;  // shorter dispatches are measured in copies: submission takes 15 to 90 us
constexpr uint64_t kMuchLonger = 2;

// The least times of a candidate.
struct Times {
  std::array<uint64_t, kGroups> of_group;

  Times() { of_group.fill(UINT64_MAX); }
  uint64_t least() const { return *std::min_element(of_group.begin(), of_group.end()); }
  bool is_faster_than(const Times& other) const {  // by a tenth
    for (size_t i = 0; i < kGroups; ++i)
      if (of_group[i] >= other.of_group[i] - other.of_group[i] / 10) return false;
    return true;
  }
};

size_t fastest_of(std::span<const Times> times) {
  size_t fastest = 0;
  for (size_t i = 1; i < times.size(); ++i)
    if (times[i].is_faster_than(times[0]) && times[i].least() < times[fastest].least()) fastest = i;
  return fastest;
}

}  // namespace

Result<size_t> find_fastest(GpuContext& context, const Trial& trial) {
  ETB_TRY(context.clear_arguments());
  ETB_TRY(context.time_dispatches(0, trial.fill_count));
  const auto time = [&](size_t candidate, uint32_t copies) {
    const size_t first = trial.first_of(candidate);
    return context.time_dispatches(first, first + copies);
  };
  // Some drivers compile at the first dispatch.
  for (size_t i = 0; i < trial.candidate_count; ++i) ETB_TRY(time(i, 1));
  ETB_ASSIGN(const uint64_t once, time(0, 1));
  const bool is_short = once < kShortNs;
  std::vector<Times> times(trial.candidate_count);
  for (size_t round = 0; round < (is_short ? kRoundsOfShort : kRounds); ++round) {
    for (size_t i = 0; i < times.size(); ++i) {
      if (round >= kGroups && times[i].least() / kMuchLonger > times[0].least()) continue;
      ETB_ASSIGN(const uint64_t spent, time(i, is_short ? Trial::kCopies : 1));
      uint64_t& least = times[i].of_group[round % kGroups];
      least = std::min(least, spent);
    }
  }
  return fastest_of(times);
}

}  // namespace etb::gpu
