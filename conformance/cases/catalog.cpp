// All cases, by name.
#include <algorithm>
#include <cassert>

#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

std::vector<Case> make_all() {
  CaseList list;
  add_elementwise(list);
  add_reductions(list);
  add_contractions(list);
  add_movement(list);
  add_normalisations(list);
  add_pools(list);
  add_quantized(list);
  add_dynamic(list);
  add_models(list);
  std::vector<Case> cases = list.take();
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

}  // namespace

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = make_all();
  return cases;
}

const Case* find_case(std::string_view name) {
  const auto& cases = all_cases();
  const auto found =
      std::lower_bound(cases.begin(), cases.end(), name,
                       [](const Case& item, std::string_view wanted) { return item.name < wanted; });
  return found != cases.end() && found->name == name ? &*found : nullptr;
}

bool matches_pattern(std::string_view name, std::string_view pattern) {
  // Greedy with one step back: linear but for the last star.
  size_t at = 0, p = 0, star = std::string_view::npos, mark = 0;
  while (at < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] == name[at] && pattern[p] != '*'))) {
      ++at;
      ++p;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = at;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      at = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

uint64_t hash_text(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace etb::conformance
