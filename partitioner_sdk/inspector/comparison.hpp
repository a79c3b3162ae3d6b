// SPDX-License-Identifier: Apache-2.0
// Compares the times of two profiles row by row, with a test of significance.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace etb::inspector {

// Times of one row in the runs of one profile.
struct TimedRow {
  std::string key;  // equal in both profiles for the same work
  std::string name;
  std::vector<double> us;
};

enum class Change : uint8_t { kFaster, kSlower, kNone, kTooFewRuns, kOnlyBefore, kOnlyNow };
const char* to_text(Change change);

struct ComparedRow {
  std::string name;
  double before_us = 0;  // medians
  double now_us = 0;
  double ratio = 0;    // now / before; 0 if one is missing
  double p_value = 1;  // of a difference by chance, after the correction for the number of rows
  Change change = Change::kNone;
};

// Runs of the two profiles are independent samples, which need no shape: the rank test of Mann and Whitney, two-sided.
// With many rows some differ by chance, so p is corrected for their number (Holm). A row is faster or slower below 0.05.
// Rows of `now` come first, in their order.
std::vector<ComparedRow> compare_rows(std::span<const TimedRow> before, std::span<const TimedRow> now);

// Returns p of the rank test: exact for up to 8 samples on a side without equal values, else from the normal distribution
// with corrections for ties and continuity. 1 if a side is empty.
double rank_test(std::span<const double> a, std::span<const double> b);

}  // namespace etb::inspector
