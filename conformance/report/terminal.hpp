// SPDX-License-Identifier: Apache-2.0
// Terminal output: a live progress line with the time that remains, failures as they occur, and the summary.
#pragma once

#include <ostream>

#include "conformance/report/kinds.hpp"
#include "conformance/report/results.hpp"

namespace etb::conformance {

class Terminal {
 public:
  // `is_live`: the progress line is rewritten in place.
  Terminal(std::ostream& out, size_t item_count, bool is_live);
  // Outcomes of an earlier run that count as done.
  void keep(size_t count) { kept_ = count; }
  void add(const Outcome& outcome);
  void refine(const Outcome& outcome);  // a failure was examined again
  void end();                           // ends the live line

 private:
  void draw();
  std::ostream& out_;
  size_t item_count_;
  bool is_live_;
  size_t kept_ = 0, done_ = 0, failures_ = 0, printed_failures_ = 0, refined_ = 0;
  uint64_t begin_ns_;
  uint64_t drawn_ns_ = 0;
};

// Prints executed / claimed, groups (worst first), one line per distinct failure with its repro, and the
// verdict.
void print_summary(const Results& results, const Invocation& by, std::ostream& out);

// Prints changes since another run: new failures, fixed ones, other states. Returns true if any got worse.
bool print_comparison(const Results& before, const Results& now, std::ostream& out);

}  // namespace etb::conformance
