// SPDX-License-Identifier: Apache-2.0
// WatchedTime: time that counts for a limit.
#pragma once

#include <algorithm>
#include <cstdint>

namespace etb::conformance {

// Adds up the time between observations, at most `most_step_ns` for each distance: an observer that comes
// later was itself stopped (a suspended or overloaded machine), and so was the process that it watches. Not
// thread-safe.
class WatchedTime {
 public:
  WatchedTime(uint64_t now_ns, uint64_t most_step_ns) : last_ns_(now_ns), most_step_ns_(most_step_ns) {}

  // `share`: the part of the step that counts (processor_share.hpp).
  void observe(uint64_t now_ns, double share = 1) {
    const auto step =
        static_cast<uint64_t>(share * static_cast<double>(std::min(now_ns - last_ns_, most_step_ns_)));
    last_ns_ = now_ns;
    whole_ns_ += step;
    part_ns_ += step;
  }
  // Begins a new part.
  void restart() { part_ns_ = 0; }

  uint64_t whole_ns() const { return whole_ns_; }  // since the construction
  uint64_t part_ns() const { return part_ns_; }    // since the last restart

 private:
  uint64_t last_ns_, most_step_ns_;
  uint64_t whole_ns_ = 0, part_ns_ = 0;
};

}  // namespace etb::conformance
