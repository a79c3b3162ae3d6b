// SPDX-License-Identifier: Apache-2.0
// Pairwise designs with typed levels, and the words of attributes in case names. A factor of a design is a member of
// a struct, or a variable:
//
//   DesignOf<Convolution> design;
//   design.add(&Convolution::stride, {{1, 1}, {2, 1}});
//   design.add(&Convolution::is_last, {true, false});
//   for (const Convolution& row : design.rows("convolution")) add(row);
//
//   Design design;
//   const auto stride = design.add<std::vector<int64_t>>({{1, 1}, {2, 1}});
//   const auto has_bias = design.add<bool>({true, false});
//   for (const Levels& row : design.rows("convolution")) add(stride(row), has_bias(row));
#pragma once

#include <functional>
#include <string>
#include <type_traits>
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

// A design whose rows are structs. A factor is a part of the struct: a pointer to a member, or a function from a row to
// a reference. Parts without a factor keep the values of `base`. The order of the factors decides about the rows.
template <class Row>
class DesignOf {
 public:
  template <class Part>
  using Level = std::remove_cvref_t<std::invoke_result_t<Part, Row&>>;

  explicit DesignOf(Row base = {}) : base_(std::move(base)) {}

  template <class Part>
  void add(Part part, std::vector<Level<Part>> levels) {
    setters_.push_back([part, factor = design_.add(std::move(levels))](Row& row, const Levels& chosen) {
      std::invoke(part, row) = factor(chosen);
    });
  }
  template <class Part, size_t kCount>
  void add_all(Part part, const Level<Part> (&levels)[kCount]) {
    add(part, {std::begin(levels), std::end(levels)});
  }

  std::vector<Row> rows(std::string_view seed, const std::function<bool(const Row&)>& is_allowed = {}) const {
    std::function<bool(const Levels&)> are_allowed;
    if (is_allowed) are_allowed = [&](const Levels& chosen) { return is_allowed(row_of(chosen)); };
    std::vector<Row> out;
    for (const Levels& chosen : design_.rows(seed, are_allowed)) out.push_back(row_of(chosen));
    return out;
  }

 private:
  Row row_of(const Levels& chosen) const {
    Row row = base_;
    for (const auto& set : setters_) set(row, chosen);
    return row;
  }

  Row base_;
  Design design_;
  std::vector<std::function<void(Row&, const Levels&)>> setters_;
};

using Numbers = std::vector<int64_t>;

// Returns "3" or, for a negative number, "m1".
std::string number_text(int64_t number);
// Returns the numbers of a list with "x" between them, or "none".
std::string number_text(const Numbers& numbers);
// Returns "0p001" for 0.001 and "1em05" for 1e-5: case names have neither dots nor signs.
std::string real_text(double number);

}  // namespace etb::conformance
