// SPDX-License-Identifier: Apache-2.0
#include "conformance/runner/selection.hpp"

#include <charconv>
#include <cstdlib>
#include <set>

namespace etb::conformance {
namespace {

// Approximate number of cases in a sample.
size_t wanted_cases(Profile profile) {
  switch (profile) {
    case Profile::kSmoke:
      return 300;
    case Profile::kCi:
      return 5000;
    default:
      return SIZE_MAX;
  }
}

bool is_chosen(const Item& item, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns)
    if (matches_pattern(item.name, pattern)) return true;
  return false;
}

// True for slow checks, which only longer profiles run.
bool is_slow(const std::string& id) {
  const std::string group = group_of(id);
  return group == "leak" || group == "perf" || group == "unload" || group == "conc";
}

// True for cases of large tensors, which take long: only whole profiles have them.
bool is_large(std::string_view name) { return name.find(".large.") != std::string_view::npos; }

Result<Shard> make_shard(const std::string& index, const std::string& count, uint32_t first) {
  const auto number = [](const std::string& text) -> int64_t {
    int64_t value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : -1;
  };
  const int64_t i = number(index) - first, n = number(count);
  if (n < 1 || n > 10000 || i < 0 || i >= n)
    return make_error(Code::INVALID_ARGUMENT, "shard '" + index + "/" + count + "', expected a number from " +
                                                  std::to_string(first) + " on, and how many there are");
  return Shard{static_cast<uint32_t>(i), static_cast<uint32_t>(n)};
}

}  // namespace

Result<Profile> parse_profile(const std::string& text) {
  for (const Profile profile : {Profile::kSmoke, Profile::kCi, Profile::kCert, Profile::kSoak})
    if (text == to_text(profile)) return profile;
  return make_error(Code::INVALID_ARGUMENT, "profile '" + text + "', expected smoke, ci, cert or soak");
}

const char* to_text(Profile profile) {
  constexpr const char* kTexts[] = {"smoke", "ci", "cert", "soak"};
  return kTexts[static_cast<size_t>(profile)];
}

Result<Shard> parse_shard(const std::string& text) {
  if (!text.empty()) {
    const size_t slash = text.find('/');
    return make_shard(text.substr(0, slash), slash == std::string::npos ? "" : text.substr(slash + 1), 1);
  }
  struct Pair {
    const char* index;
    const char* count;
  };
  for (const Pair& names : {Pair{"GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS"},
                            Pair{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"},
                            Pair{"JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"}}) {
    const char* const index = std::getenv(names.index);
    const char* const count = std::getenv(names.count);
    if (index != nullptr && count != nullptr) return make_shard(index, count, 0);
  }
  return Shard{};
}

std::vector<Item> select_items(Profile profile, const std::vector<std::string>& patterns,
                               const Shard& shard) {
  std::vector<Item> out;
  const auto add = [&](Item item, bool is_in_profile) {
    if (patterns.empty() ? !is_in_profile : !is_chosen(item, patterns)) return;
    if (hash_text(item.name) % shard.count == shard.index) out.push_back(std::move(item));
  };
  static const std::vector<Check> checks = all_checks();
  for (const Check& check : checks)
    add({check.id, nullptr, &check}, profile != Profile::kSmoke || !is_slow(check.id));
  const size_t wanted = wanted_cases(profile), all = all_cases().size();
  // The simplest cases of every op at least, then a share by hash.
  std::set<const Case*> plain;
  for (const Case* item : plain_cases())
    if (item->dtype == ETB_DTYPE_FLOAT32 || profile != Profile::kSmoke) plain.insert(item);
  for (const Case& item : all_cases())
    add({item.name, &item, nullptr}, plain.count(&item) != 0 || wanted >= all ||
                                         (hash_text(item.name) % all < wanted && !is_large(item.name)));
  // Names with a round are not in any list.
  for (const std::string& pattern : patterns)
    if (round_of(pattern) != 0 && (find_case(pattern) != nullptr || find_check(pattern) != nullptr))
      out.push_back({pattern, find_case(pattern), find_check(pattern)});
  return out;
}

}  // namespace etb::conformance
