// SPDX-License-Identifier: Apache-2.0
// A pairwise design with typed levels, and the words of attributes in case names:
//
//   Design design;
//   const auto stride = design.add<std::vector<int64_t>>({{1, 1}, {2, 1}});
//   const auto has_bias = design.add<bool>({true, false});
//   for (const Levels& row : design.rows("convolution")) add(stride(row), has_bias(row));
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "conformance/cases/covering.hpp"

namespace etb::conformance {

// The levels of one attribute. A level may occur twice, so that more rows have it.
template <class T>
class Factor {
 public:
  Factor(uint32_t index, std::vector<T> levels) : index_(index), levels_(std::move(levels)) {}
  // By value for bool, which std::vector packs.
  typename std::vector<T>::const_reference operator()(const Levels& row) const {
    return levels_[row[index_]];
  }
  // The number of the level, from 0.
  uint32_t level(const Levels& row) const { return row[index_]; }

 private:
  uint32_t index_;
  std::vector<T> levels_;
};

class Design {
 public:
  template <class T, size_t kCount>
  Factor<T> add_all(const T (&levels)[kCount]) {
    return add(std::vector<T>(std::begin(levels), std::end(levels)));
  }
  template <class T>
  Factor<T> add(std::vector<T> levels) {
    counts_.push_back(static_cast<uint32_t>(levels.size()));
    return {static_cast<uint32_t>(counts_.size() - 1), std::move(levels)};
  }
  std::vector<Levels> rows(std::string_view seed,
                           const std::function<bool(const Levels&)>& is_allowed = {}) const {
    return pairwise_rows(counts_, seed, is_allowed);
  }

 private:
  std::vector<uint32_t> counts_;
};

using Numbers = std::vector<int64_t>;

// Returns "3" or, for a negative number, "m1".
std::string number_text(int64_t number);
// Returns the numbers of a list with "x" between them, or "none".
std::string number_text(const Numbers& numbers);
// Returns "0p001" for 0.001 and "1em05" for 1e-5: case names have neither dots nor signs.
std::string real_text(double number);

}  // namespace etb::conformance
