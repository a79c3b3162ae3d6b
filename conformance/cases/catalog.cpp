// SPDX-License-Identifier: Apache-2.0
// All cases, by name.
#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include "conformance/cases/designs.hpp"
#include "conformance/cases/empty_forms.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

std::vector<Case> make_all() {
  CaseList list;
  forget_empty_forms();
  add_elementwise(list);
  add_reductions(list);
  add_contractions(list);
  add_movement(list);
  add_normalisations(list);
  add_pools(list);
  add_quantized(list);
  add_dynamic(list);
  add_composite(list);
  add_whole(list);
  add_sampled(list);
  add_view_chains(list);
  add_models(list);
  add_designs(list);
  std::vector<Case> cases = list.take();
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

// Returns how far a case is from the simplest of its op, judged by its name: op.add_tensor.f32.7__7.stat is
// the simplest form.
size_t oddity(std::string_view name) {
  size_t odd = 0, words = 0;
  for (const char c : name) words += c == '.' ? 1 : 0;
  odd += words > 4 ? words - 4 : 0;  // attributes
  if (name.find("_cl") != std::string_view::npos) odd += 4;
  if (name.find(".stat") == std::string_view::npos) odd += 8;
  const size_t sizes = name.find('.', name.find('.', 3) + 1) + 1;               // after op.WORD.DTYPE.
  if (name.find_first_not_of("1x_", sizes) == name.find('.', sizes)) odd += 1;  // one element tests little
  const size_t pair = name.find("__");
  if (pair == std::string_view::npos) return odd;
  const size_t begin = name.rfind('.', pair) + 1, end = name.find('.', pair);
  const bool is_same = name.substr(begin, pair - begin) == name.substr(pair + 2, end - pair - 2);
  return odd + (is_same ? 0 : 2);
}

// Returns the plainest case of each op and dtype in a group.
template <class IsMember>
std::vector<const Case*> find_plain(IsMember is_member) {
  std::map<std::pair<std::string, etb_dtype>, const Case*> plainest;
  const auto rank = [](const Case& item) { return std::make_tuple(oddity(item.name), item.name.size()); };
  for (const Case& item : all_cases()) {
    if (!is_member(item)) continue;
    const Case*& best = plainest[{item.op, item.dtype}];
    if (best == nullptr || rank(item) < rank(*best)) best = &item;
  }
  std::vector<const Case*> out;
  for (const auto& [key, item] : plainest) out.push_back(item);
  std::sort(out.begin(), out.end(), [](const Case* a, const Case* b) {
    const int x = a->dtype == ETB_DTYPE_FLOAT32 ? 0 : 1, y = b->dtype == ETB_DTYPE_FLOAT32 ? 0 : 1;
    return x != y ? x < y : hash_text(a->name) < hash_text(b->name);
  });
  return out;
}

}  // namespace

const std::vector<const Case*>& plain_cases() {
  static const std::vector<const Case*> cases =
      find_plain([](const Case& item) { return item.group() == "op"; });
  return cases;
}

const std::vector<const Case*>& plain_patterns() {
  static const std::vector<const Case*> cases = find_plain([](const Case& item) {
    return item.group() == "quant" && item.dtype == ETB_DTYPE_INT8 &&
           item.op.rfind("quantized_decomposed.", 0) != 0 && item.name.find("codes") != std::string::npos;
  });
  return cases;
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = make_all();
  return cases;
}

std::string_view without_round(std::string_view name) { return name.substr(0, name.find('@')); }

uint32_t round_of(std::string_view name) {
  const size_t at = name.find('@');
  uint32_t round = 0;
  if (at != std::string_view::npos) std::from_chars(name.data() + at + 1, name.data() + name.size(), round);
  return round;
}

const Case* find_case(std::string_view name) {
  name = without_round(name);
  const auto& cases = all_cases();
  const auto found =
      std::lower_bound(cases.begin(), cases.end(), name,
                       [](const Case& item, std::string_view wanted) { return item.name < wanted; });
  return found != cases.end() && found->name == name ? &*found : nullptr;
}

bool matches_pattern(std::string_view name, std::string_view pattern) {
  // A greedy match with one backtrack point, the last star: linear apart from that.
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
