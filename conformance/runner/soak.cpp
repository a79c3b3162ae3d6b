// SPDX-License-Identifier: Apache-2.0
#include "conformance/runner/soak.hpp"

#include <algorithm>
#include <charconv>

#include "conformance/cases/values.hpp"

namespace etb::conformance {
namespace {

bool is_worth_repeating(const std::string& id) {
  const std::string group = group_of(id);
  return group == "conc" || group == "det" || id.rfind("blob.bits-flipped", 0) == 0;
}

}  // namespace

std::vector<Item> with_seed(std::vector<Item> items, uint32_t seed) {
  if (seed == 0) return items;
  for (Item& item : items)
    if (round_of(item.name) == 0 && (item.check == nullptr || is_worth_repeating(item.name)))
      item.name += "@" + std::to_string(seed);
  return items;
}

std::vector<Item> soak_round(const std::vector<Item>& items, uint32_t round) {
  if (round == 0) return items;
  std::vector<Item> checks, cases;
  for (const Item& item : items) {
    if (item.check != nullptr && !is_worth_repeating(item.name)) continue;
    (item.check != nullptr ? checks : cases)
        .push_back(
            {std::string(without_round(item.name)) + "@" + std::to_string(round), item.item, item.check});
  }
  Random random("soak@" + std::to_string(round));
  for (size_t i = cases.size(); i > 1; --i)
    std::swap(cases[i - 1], cases[static_cast<size_t>(random.between(0, static_cast<int64_t>(i) - 1))]);
  cases.insert(cases.end(), checks.begin(), checks.end());
  return cases;
}

Result<uint32_t> parse_duration(const std::string& text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const uint32_t seconds = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || seconds == 0 || number == 0 || number > 1000000)
    return make_error(Code::INVALID_ARGUMENT, "time '" + text + "', expected a number of s, m or h, 10m");
  return number * seconds;
}

}  // namespace etb::conformance
