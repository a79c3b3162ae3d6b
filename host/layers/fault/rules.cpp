// SPDX-License-Identifier: Apache-2.0
#include "host/layers/fault/rules.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "etb/status.h"
#include "host/layers/calls.hpp"

namespace etb::host::fault {
namespace {

struct ActionRow {
  Action action;
  const char *text, *functions;
};
#define ETB_FAULT(name, text, functions, description) {Action::name, text, functions},
constexpr ActionRow kActions[] = {
#include "host/layers/fault/actions.def"
};
#undef ETB_FAULT

#define ETB_FAULT_KEY(key, value, description) key,
constexpr const char* kKeys[] = {
#include "host/layers/fault/keys.def"
};
#undef ETB_FAULT_KEY

#define ETB_REQUIRED(table, function) #table "." #function,
#define ETB_OPTIONAL(table, function, cap) #table "." #function,
constexpr const char* kFunctions[] = {
#include "host/plugin/table_functions.def"
};
#undef ETB_REQUIRED
#undef ETB_OPTIONAL

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

template <class Names>
std::string list_of(const Names& names) {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::vector<const char*> action_texts() {
  std::vector<const char*> texts;
  for (const ActionRow& row : kActions) texts.push_back(row.text);
  return texts;
}

// "OUT_OF_MEMORY" as "out-of-memory".
std::string status_name(std::string_view constant) {
  std::string name(constant);
  for (char& c : name) c = c == '_' ? '-' : static_cast<char>(std::tolower(c));
  return name;
}

Result<etb_status> parse_status(const std::string& text) {
  std::string names;
#define ETB_STATUS(name, value, description)                     \
  if (status_name(#name) == text) return etb_status{ETB_##name}; \
  names += (names.empty() ? "" : ", ") + status_name(#name);
#include "etb/status.def"
#undef ETB_STATUS
  return make_error(Code::INVALID_ARGUMENT, "status '" + text + "', expected one of " + names);
}

Result<uint64_t> parse_number(const std::string& key, const std::string& text, uint64_t least) {
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed == std::errc() && end == text.data() + text.size() && value >= least) return value;
  return make_error(Code::INVALID_ARGUMENT,
                    key + "='" + text + "', expected a whole number from " + std::to_string(least));
}

Status read_at(const std::string& pattern, Rule& rule) {
  const bool is_known = std::any_of(std::begin(kFunctions), std::end(kFunctions),
                                    [&](const char* function) { return matches(pattern, function); });
  if (!is_known)
    return make_error(Code::INVALID_ARGUMENT,
                      "at='" + pattern + "' matches no function, expected one of " + list_of(kFunctions));
  rule.functions.push_back(pattern);
  return {};
}

Status read_key(const std::string& key, const std::string& value, Rule& rule) {
  if (key == "at") return read_at(value, rule);
  if (key == "chance") {
    char* end = nullptr;
    rule.chance = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !(rule.chance >= 0 && rule.chance <= 1))
      return make_error(Code::INVALID_ARGUMENT, "chance='" + value + "', expected a number from 0 to 1");
    return {};
  }
  if (key == "status") {
    ETB_ASSIGN(rule.status, parse_status(value));
    return {};
  }
  uint64_t* const number = key == "nth"     ? &rule.nth
                           : key == "from"  ? &rule.from
                           : key == "every" ? &rule.every
                           : key == "ms"    ? &rule.ms
                           : key == "bits"  ? &rule.bits
                           : key == "bytes" ? &rule.bytes
                                            : nullptr;
  if (number == nullptr)
    return make_error(Code::INVALID_ARGUMENT, "key '" + key + "', expected one of " + list_of(kKeys));
  ETB_ASSIGN(*number, parse_number(key, value, key == "ms" ? 0 : 1));
  return {};
}

Result<Rule> parse_rule(const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  const auto* const row = std::find_if(std::begin(kActions), std::end(kActions),
                                       [&](const ActionRow& action) { return parts[0] == action.text; });
  if (row == std::end(kActions))
    return make_error(Code::INVALID_ARGUMENT,
                      "rule '" + parts[0] + "', expected seed=N or one of " + list_of(action_texts()));
  Rule rule;
  rule.action = row->action;
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == std::string::npos)
      return make_error(Code::INVALID_ARGUMENT,
                        "'" + parts[i] + "', expected KEY=VALUE with a key of " + list_of(kKeys));
    ETB_TRY(read_key(parts[i].substr(0, equals), parts[i].substr(equals + 1), rule));
  }
  if (rule.functions.empty()) rule.functions = split(row->functions, ' ');
  return rule;
}

}  // namespace

const char* to_text(Action action) noexcept { return kActions[static_cast<size_t>(action)].text; }

bool matches(std::string_view pattern, std::string_view function) noexcept {
  if (pattern.empty()) return function.empty();
  if (pattern[0] == '*') {
    for (size_t skip = 0; skip <= function.size(); ++skip)
      if (matches(pattern.substr(1), function.substr(skip))) return true;
    return false;
  }
  return !function.empty() && pattern[0] == function[0] && matches(pattern.substr(1), function.substr(1));
}

bool is_due(const Rule& rule, uint64_t count) noexcept {
  if (rule.nth != 0 && count != rule.nth) return false;
  if (rule.from != 0 && count < rule.from) return false;
  return rule.every == 0 || count % rule.every == 0;
}

Result<Rules> parse_rules(const std::string& text) {
  Rules rules;
  if (text.empty()) return rules;
  for (const std::string& part : split(text, '+')) {
    if (part.rfind("seed=", 0) == 0) {
      ETB_ASSIGN(rules.seed, parse_number("seed", part.substr(5), 0));
      rules.has_seed = true;
      continue;
    }
    ETB_ASSIGN(Rule rule, parse_rule(part));
    rules.rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace etb::host::fault
