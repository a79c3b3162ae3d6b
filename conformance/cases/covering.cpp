// SPDX-License-Identifier: Apache-2.0
// A greedy search: each row begins with a pair that no row has yet, and takes for each other factor the level
// with the most new pairs. Several candidates, in other orders of the factors, compete for a row.
#include "conformance/cases/covering.hpp"

#include <algorithm>

#include "conformance/cases/values.hpp"

namespace etb::conformance {
namespace {

constexpr uint32_t kUnset = UINT32_MAX;
constexpr int kCandidates = 8;          // rows that compete for one place
constexpr int kCandidatesLimited = 64;  // the same, if the caller rejects rows

class Pairs {
 public:
  explicit Pairs(std::span<const uint32_t> counts) : counts_(counts) {
    for (const uint32_t count : counts) {
      first_.push_back(total_);
      total_ += count;
    }
    is_covered_.assign(size_t{total_} * total_, false);
  }

  bool is_covered(uint32_t a, uint32_t x, uint32_t b, uint32_t y) const {
    return is_covered_[at(a, x, b, y)];
  }

  void cover(const Levels& row) {
    for (uint32_t a = 0; a < row.size(); ++a)
      for (uint32_t b = a + 1; b < row.size(); ++b) cover(a, row[a], b, row[b]);
  }
  void cover(uint32_t a, uint32_t x, uint32_t b, uint32_t y) { is_covered_[at(a, x, b, y)] = true; }

  uint32_t count_new(const Levels& row, uint32_t factor, uint32_t level) const {
    uint32_t count = 0;
    for (uint32_t other = 0; other < row.size(); ++other)
      if (other != factor && row[other] != kUnset && !is_covered(factor, level, other, row[other])) ++count;
    return count;
  }

 private:
  size_t at(uint32_t a, uint32_t x, uint32_t b, uint32_t y) const {
    const uint32_t i = first_[a] + x, j = first_[b] + y;
    return size_t{std::min(i, j)} * total_ + std::max(i, j);
  }

  std::span<const uint32_t> counts_;
  std::vector<uint32_t> first_;
  std::vector<bool> is_covered_;
  uint32_t total_ = 0;
};

class Search {
 public:
  Search(std::span<const uint32_t> counts, std::string_view seed,
         const std::function<bool(const Levels&)>& is_allowed)
      : counts_(counts), is_allowed_(is_allowed), pairs_(counts), random_(seed) {}

  std::vector<Levels> run() {
    std::vector<Levels> rows;
    const auto factors = static_cast<uint32_t>(counts_.size());
    for (uint32_t a = 0; a < factors; ++a)
      for (uint32_t b = a + 1; b < factors; ++b)
        for (uint32_t x = 0; x < counts_[a]; ++x)
          for (uint32_t y = 0; y < counts_[b]; ++y) {
            if (pairs_.is_covered(a, x, b, y)) continue;
            Levels start(factors, kUnset);
            start[a] = x;
            start[b] = y;
            const Levels row = best_row(start);
            if (row.empty()) pairs_.cover(a, x, b, y);  // no allowed row has it
            if (row.empty()) continue;
            pairs_.cover(row);
            rows.push_back(row);
          }
    if (factors == 1) {
      for (uint32_t x = 0; x < counts_[0]; ++x)
        if (!is_allowed_ || is_allowed_({x})) rows.push_back({x});
    }
    return rows;
  }

 private:
  // Returns the allowed row with the most new pairs among several that complete `start`; empty if none is.
  Levels best_row(const Levels& start) {
    Levels best;
    uint32_t best_count = 0;
    const int candidates = is_allowed_ ? kCandidatesLimited : kCandidates;
    for (int i = 0, allowed = 0; i < candidates && allowed < kCandidates; ++i) {
      // The second half takes levels by chance: the levels with most new pairs may all be rejected.
      const auto [row, count] = complete(start, i < candidates / 2);
      if (is_allowed_ && !is_allowed_(row)) continue;
      ++allowed;
      if (best.empty() || count > best_count) {
        best = row;
        best_count = count;
      }
    }
    return best;
  }

  std::pair<Levels, uint32_t> complete(Levels row, bool is_greedy) {
    std::vector<uint32_t> order;
    for (uint32_t factor = 0; factor < row.size(); ++factor)
      if (row[factor] == kUnset) order.push_back(factor);
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<size_t>(random_.between(0, static_cast<int64_t>(i) - 1))]);
    uint32_t total = 0;
    for (const uint32_t factor : order) {
      const auto first = static_cast<uint32_t>(random_.between(0, int64_t{counts_[factor]} - 1));
      uint32_t level = first, most = pairs_.count_new(row, factor, first);
      for (uint32_t i = 1; is_greedy && i < counts_[factor]; ++i) {
        const uint32_t other = (first + i) % counts_[factor];
        if (const uint32_t count = pairs_.count_new(row, factor, other); count > most) {
          level = other;
          most = count;
        }
      }
      row[factor] = level;
      total += most;
    }
    return {std::move(row), total};
  }

  std::span<const uint32_t> counts_;
  const std::function<bool(const Levels&)>& is_allowed_;
  Pairs pairs_;
  Random random_;
};

}  // namespace

std::vector<Levels> pairwise_rows(std::span<const uint32_t> level_counts, std::string_view seed,
                                  const std::function<bool(const Levels&)>& is_allowed) {
  return Search(level_counts, seed, is_allowed).run();
}

}  // namespace etb::conformance
