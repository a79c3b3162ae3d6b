// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/inspector/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "partitioner_sdk/inspector/times.hpp"

namespace etb::inspector {
namespace {

constexpr double kSignificance = 0.05;
// With fewer runs on both sides no order of the times has a p below 0.05.
constexpr size_t kFewestRuns = 4;
constexpr size_t kExactLimit = 8;

// Rank sums: ranks of equal values are their average.
struct Ranks {
  double sum_a = 0;
  double tie_term = 0;  // sum of t^3 - t over groups of t equal values
};

Ranks rank(std::span<const double> a, std::span<const double> b) {
  std::vector<std::pair<double, bool>> all;
  for (const double value : a) all.emplace_back(value, true);
  for (const double value : b) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  Ranks out;
  for (size_t i = 0; i < all.size();) {
    size_t end = i;
    while (end < all.size() && all[end].first == all[i].first) ++end;
    const double average = static_cast<double>(i + 1 + end) / 2;
    for (size_t k = i; k < end; ++k)
      if (all[k].second) out.sum_a += average;
    const auto equal = static_cast<double>(end - i);
    out.tie_term += equal * equal * equal - equal;
    i = end;
  }
  return out;
}

// Number of orders of n and m samples with each value of U, by the recurrence over the largest sample.
std::vector<double> counts_of_u(size_t n, size_t m) {
  std::vector<std::vector<std::vector<double>>> counts(n + 1, std::vector<std::vector<double>>(m + 1));
  for (size_t i = 0; i <= n; ++i)
    for (size_t j = 0; j <= m; ++j) {
      std::vector<double>& row = counts[i][j];
      row.assign(i * j + 1, 0);
      if (i == 0 || j == 0) {
        row[0] = 1;
        continue;
      }
      // The largest is of the first sample, and above all j of the second; or it is of the second.
      for (size_t u = 0; u < counts[i - 1][j].size(); ++u) row[u + j] += counts[i - 1][j][u];
      for (size_t u = 0; u < counts[i][j - 1].size(); ++u) row[u] += counts[i][j - 1][u];
    }
  return counts[n][m];
}

double exact_p(size_t n, size_t m, double u) {
  const std::vector<double> counts = counts_of_u(n, m);
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  double above = 0;
  for (auto i = static_cast<size_t>(u); i < counts.size(); ++i) above += counts[i];
  return std::min(1.0, 2 * above / total);
}

double normal_p(double n, double m, double u, double tie_term) {
  const double count = n + m;
  const double variance = n * m / 12 * (count + 1 - tie_term / (count * (count - 1)));
  if (!(variance > 0)) return 1;
  const double z = (u - n * m / 2 - 0.5) / std::sqrt(variance);
  return std::min(1.0, std::erfc(z / std::sqrt(2.0)));
}

// Multiplies the smallest p by the number of rows, the next by one less, and so on, without a decrease.
void correct(std::vector<ComparedRow>& rows) {
  std::vector<ComparedRow*> tested;
  for (ComparedRow& row : rows)
    if (row.change == Change::kNone) tested.push_back(&row);
  std::sort(tested.begin(), tested.end(),
            [](const ComparedRow* a, const ComparedRow* b) { return a->p_value < b->p_value; });
  double least = 0;
  for (size_t i = 0; i < tested.size(); ++i) {
    least = std::max(least, std::min(1.0, tested[i]->p_value * static_cast<double>(tested.size() - i)));
    tested[i]->p_value = least;
    if (least < kSignificance && tested[i]->ratio != 1)
      tested[i]->change = tested[i]->ratio < 1 ? Change::kFaster : Change::kSlower;
  }
}

}  // namespace

const char* to_text(Change change) {
  switch (change) {
    case Change::kFaster:
      return "faster";
    case Change::kSlower:
      return "slower";
    case Change::kNone:
      return "no difference";
    case Change::kTooFewRuns:
      return "too few runs";
    case Change::kOnlyBefore:
      return "only before";
    case Change::kOnlyNow:
      return "only now";
  }
  return "?";
}

double rank_test(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return 1;
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const Ranks ranks = rank(a, b);
  const double u_a = ranks.sum_a - n * (n + 1) / 2;
  const double u = std::max(u_a, n * m - u_a);
  const bool is_exact = ranks.tie_term == 0 && (a.size() <= kExactLimit || b.size() <= kExactLimit) &&
                        a.size() * b.size() <= 4096;
  return is_exact ? exact_p(a.size(), b.size(), u) : normal_p(n, m, u, ranks.tie_term);
}

std::vector<ComparedRow> compare_rows(std::span<const TimedRow> before, std::span<const TimedRow> now) {
  std::map<std::string, const TimedRow*> known;
  for (const TimedRow& row : before) known.emplace(row.key, &row);
  std::vector<ComparedRow> out;
  for (const TimedRow& row : now) {
    ComparedRow& made = out.emplace_back();
    made.name = row.name;
    made.now_us = quantile(row.us, 0.5);
    const auto found = known.find(row.key);
    if (found == known.end()) {
      made.change = Change::kOnlyNow;
      continue;
    }
    const TimedRow& old = *found->second;
    known.erase(found);
    made.before_us = quantile(old.us, 0.5);
    if (made.before_us > 0) made.ratio = made.now_us / made.before_us;
    made.p_value = rank_test(old.us, row.us);
    if (std::min(old.us.size(), row.us.size()) < kFewestRuns) made.change = Change::kTooFewRuns;
  }
  for (const TimedRow& row : before)
    if (known.count(row.key) != 0)
      out.push_back({row.name, quantile(row.us, 0.5), 0, 0, 1, Change::kOnlyBefore});
  correct(out);
  return out;
}

}  // namespace etb::inspector
