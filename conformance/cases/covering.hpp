// SPDX-License-Identifier: Apache-2.0
// Pairwise covering designs: rows of levels, one level a factor, so that every allowed pair of levels of two
// factors is in at least one row. Most faults need one or two attributes to show, and a design has few rows:
// ten factors of four levels have 1,048,576 combinations and some 30 rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace etb::conformance {

using Levels = std::vector<uint32_t>;  // index of a level, by factor

// Returns the rows of a design. `level_counts` has the number of levels of each factor, at least one. `seed`
// is any text: an equal text gives equal rows on every machine. `is_allowed`, if any, rejects rows that make
// no sense; a pair that no allowed row contains is left out.
std::vector<Levels> pairwise_rows(std::span<const uint32_t> level_counts, std::string_view seed,
                                  const std::function<bool(const Levels&)>& is_allowed = {});

}  // namespace etb::conformance
