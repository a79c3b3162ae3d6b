// SPDX-License-Identifier: Apache-2.0
// Coverage of a run: cases by op, dtype, rank, layout and attribute, beside what the plugin's op table claims.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/report/results.hpp"

namespace etb::conformance {

struct CoverageCount {
  size_t cases = 0, claimed = 0, executed = 0, failed = 0;
};

// The cases of one op and dtype.
struct CoverageRow {
  std::optional<ClaimRow> claim;  // absent if the op table was not read, or has no such row
  CoverageCount all;
  std::map<std::string, CoverageCount> by_rank, by_layout, by_attribute;
};
using Coverage = std::map<std::pair<std::string, std::string>, CoverageRow>;  // keys: op and dtype

Coverage cover(const Results& results);

// A property that rows of the op table claim and no executed case of theirs has.
struct Gap {
  std::string what;               // "rank 6"
  size_t claiming = 0;            // rows that claim it
  size_t cases = 0;               // cases that the run had of it, in these rows: all were rejected
  std::vector<std::string> rows;  // "aten.add.Tensor f32"
};
// Returns those of most rows first.
std::vector<Gap> find_gaps(const Coverage& coverage);

// Returns "rank 6: 0 cases ran for 31 of 33 op table rows that claim it (no such case): aten.add.Tensor f32, ...".
std::string to_text(const Gap& gap);
// Returns "ranks 0 to 6, contiguous, channels last, dynamic sizes".
std::string to_text(const ClaimRow& row);

std::string coverage_json(const Results& results);

}  // namespace etb::conformance
