// SPDX-License-Identifier: Apache-2.0
// Text about the remaining time of long work, for lines of progress.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

namespace etb::format {

// Returns "12 s", "3 min", "2 h 5 min": at most two units, because an estimate is not more exact.
inline std::string duration_text(double seconds) {
  const auto whole = static_cast<uint64_t>(std::lround(seconds < 0 ? 0 : seconds));
  if (whole < 90) return std::to_string(whole) + " s";
  const uint64_t minutes = (whole + 30) / 60;
  if (minutes < 60) return std::to_string(minutes) + " min";
  const uint64_t rest = minutes % 60;
  return std::to_string(minutes / 60) + " h" + (rest == 0 ? "" : " " + std::to_string(rest) + " min");
}

// Returns ", about 12 s left" after `elapsed_seconds` for `done` of `total` equal parts. Returns "" as long as an
// estimate would be a guess: in the first two seconds, or before one part of fifty is done.
inline std::string time_left_text(double elapsed_seconds, uint64_t done, uint64_t total) {
  if (done == 0 || done >= total || elapsed_seconds < 2 || done * 50 < total) return "";
  const double left = elapsed_seconds / static_cast<double>(done) * static_cast<double>(total - done);
  return ", about " + duration_text(left) + " left";
}

}  // namespace etb::format
