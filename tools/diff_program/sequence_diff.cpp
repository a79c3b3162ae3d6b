// SPDX-License-Identifier: Apache-2.0
#include "tools/diff_program/sequence_diff.hpp"

#include <algorithm>

namespace etb::tools {
namespace {

using Texts = std::span<const std::string>;

// Furthest positions in `a` by diagonal (x - y), after each number of changes.
class Paths {
 public:
  Paths(Texts a, Texts b, size_t max_changes) : a_(a), b_(b), most_(max_changes) {}

  // Returns false if more than the allowed changes are needed.
  bool search() {
    std::vector<ptrdiff_t> ends(2 * most_ + 3, 0);
    for (size_t changes = 0; changes <= most_; ++changes) {
      const auto d = static_cast<ptrdiff_t>(changes);
      for (ptrdiff_t k = -d; k <= d; k += 2) {
        const bool is_down = k == -d || (k != d && at(ends, k - 1) < at(ends, k + 1));
        ptrdiff_t x = is_down ? at(ends, k + 1) : at(ends, k - 1) + 1;
        ptrdiff_t y = x - k;
        while (x < size(a_) && y < size(b_) && y >= 0 && a_[index(x)] == b_[index(y)]) ++x, ++y;
        at(ends, k) = x;
        if (x >= size(a_) && y >= size(b_)) {
          steps_.push_back(slice(ends, d));
          return true;
        }
      }
      steps_.push_back(slice(ends, d));
    }
    return false;
  }

  // Walks back from the end and calls visit(x, y, kind): 0 both, -1 only in a, 1 only in b.
  template <class Visit>
  void walk(Visit visit) const {
    ptrdiff_t x = size(a_), y = size(b_);
    for (auto d = static_cast<ptrdiff_t>(steps_.size()) - 1; d > 0; --d) {
      const std::vector<ptrdiff_t>& before = steps_[index(d - 1)];
      const ptrdiff_t k = x - y;
      const auto end_of = [&](ptrdiff_t diagonal) {
        return diagonal < -(d - 1) || diagonal > d - 1 ? -1 : before[index(diagonal + d - 1)];
      };
      const bool is_down = k == -d || (k != d && end_of(k - 1) < end_of(k + 1));
      const ptrdiff_t from_x = end_of(is_down ? k + 1 : k - 1), from_y = from_x - (is_down ? k + 1 : k - 1);
      const ptrdiff_t start_x = is_down ? from_x : from_x + 1;
      while (x > start_x) visit(--x, --y, 0);
      if (is_down)
        visit(x, --y, 1);
      else
        visit(--x, y, -1);
      x = from_x, y = from_y;
    }
    while (x > 0 && y > 0) visit(--x, --y, 0);
  }

 private:
  static ptrdiff_t size(Texts texts) { return static_cast<ptrdiff_t>(texts.size()); }
  static size_t index(ptrdiff_t i) { return static_cast<size_t>(i); }
  ptrdiff_t& at(std::vector<ptrdiff_t>& ends, ptrdiff_t k) const {
    return ends[index(k + static_cast<ptrdiff_t>(most_) + 1)];
  }
  std::vector<ptrdiff_t> slice(const std::vector<ptrdiff_t>& ends, ptrdiff_t d) const {
    const auto middle = ends.begin() + static_cast<ptrdiff_t>(most_) + 1;
    return {middle - d, middle + d + 1};
  }

  Texts a_, b_;
  size_t most_;
  std::vector<std::vector<ptrdiff_t>> steps_;
};

}  // namespace

SequenceDiff diff_sequences(Texts a, Texts b, size_t max_changes) {
  size_t start = 0, end = 0;
  const size_t shorter = std::min(a.size(), b.size());
  while (start < shorter && a[start] == b[start]) ++start;
  while (end < shorter - start && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
  SequenceDiff out;
  for (size_t i = 0; i < start; ++i) out.equal.emplace_back(i, i);
  const Texts middle_a = a.subspan(start, a.size() - start - end),
              middle_b = b.subspan(start, b.size() - start - end);
  Paths paths(middle_a, middle_b, std::min(max_changes, middle_a.size() + middle_b.size()));
  if (paths.search()) {
    paths.walk([&](ptrdiff_t x, ptrdiff_t y, int kind) {
      const size_t at_a = start + static_cast<size_t>(x), at_b = start + static_cast<size_t>(y);
      if (kind == 0) out.equal.emplace_back(at_a, at_b);
      if (kind < 0) out.only_in_a.push_back(at_a);
      if (kind > 0) out.only_in_b.push_back(at_b);
    });
  } else {
    for (size_t i = 0; i < middle_a.size(); ++i) out.only_in_a.push_back(start + i);
    for (size_t i = 0; i < middle_b.size(); ++i) out.only_in_b.push_back(start + i);
  }
  for (size_t i = 0; i < end; ++i) out.equal.emplace_back(a.size() - 1 - i, b.size() - 1 - i);
  std::sort(out.equal.begin(), out.equal.end());
  std::sort(out.only_in_a.begin(), out.only_in_a.end());
  std::sort(out.only_in_b.begin(), out.only_in_b.end());
  return out;
}

}  // namespace etb::tools
