// SPDX-License-Identifier: Apache-2.0
#include "host/registry/nearest_names.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace etb::host {
namespace {

// Longer names are no typing errors, and the table below grows with both lengths.
constexpr size_t kMaxNameBytes = 128;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Counts insertions, deletions, replacements and swaps of neighbours. Ignores case.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]))});
      const bool is_swap =
          i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (is_swap) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names,
                                       size_t max_count) {
  if (wanted.empty() || wanted.size() > kMaxNameBytes) return {};
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& name : names) {
    if (name.size() > kMaxNameBytes) continue;
    // A part of a longer name counts as near: "npu" for "com.example.npu".
    const bool is_part =
        wanted.size() >= 3 && std::search(name.begin(), name.end(), wanted.begin(), wanted.end(),
                                          [](char x, char y) { return lower(x) == lower(y); }) != name.end();
    const size_t cost = is_part ? 1 : distance(wanted, name);
    if (is_part || cost <= std::max<size_t>(2, wanted.size() / 3)) ranked.emplace_back(cost, name);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < ranked.size() && i < max_count; ++i) out.push_back(ranked[i].second);
  return out;
}

}  // namespace etb::host
