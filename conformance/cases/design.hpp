// SPDX-License-Identifier: Apache-2.0
// A pairwise design with typed levels, and the words of attributes in case names:
//
//   Design design;
//   const auto stride = design.add<std::vector<int64_t>>({{1, 1}, {2, 1}});
//   const auto has_bias = design.add<bool>({true, false});
//   for (const Levels& row : design.rows("convolution")) add(stride(row), has_bias(row));
#pragma once

#include <set>
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

 private:
  uint32_t index_;
  std::vector<T> levels_;
};

class Design {
 public:
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

// Two rows may lead to one case, where a type has no exact sums and the case takes other values.
class Names {
 public:
  bool is_new(const std::string& name) { return names_.insert(name).second; }

 private:
  std::set<std::string> names_;
};

using Numbers = std::vector<int64_t>;

// Returns "3x2" or, for a negative number, "m1".
std::string number_text(const Numbers& numbers);
// Returns "0p001", "1e_5" is "1em5": the digits of a real number without characters that names lack.
std::string real_text(double number);

}  // namespace etb::conformance
