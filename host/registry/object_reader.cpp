// SPDX-License-Identifier: Apache-2.0
#include "host/registry/object_reader.hpp"

#include <algorithm>
#include <cmath>

#include "host/registry/json_document.hpp"

namespace etb::host {

using nlohmann::json;

std::string describe(const json& value) {
  switch (value.type()) {
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "an array";
    case json::value_t::string:
      return in_quotes(value.get_ref<const std::string&>());
    case json::value_t::number_float:
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return "the number " + value.dump();
    default:
      return value.dump();  // true, false, null
  }
}

void ObjectReader::report_at(std::string where, std::string message) {
  if (diagnostics_.size() < kMaxDiagnostics) diagnostics_.push_back({std::move(where), std::move(message)});
}

void ObjectReader::report_type(const char* key, const json& value, std::string_view expected) {
  report(key, "found " + describe(value) + ", expected " + std::string(expected));
}

const json* ObjectReader::value(const char* key, Need need) {
  asked_.push_back(key);
  const auto it = object_.find(key);
  if (it != object_.end()) return &*it;
  if (need == Need::kRequired) report(key, "missing, but required");
  return nullptr;
}

const json* ObjectReader::object(const char* key, Need need) {
  const json* found = value(key, need);
  if (found == nullptr || found->is_object()) return found;
  report_type(key, *found, "an object");
  return nullptr;
}

const json* ObjectReader::array(const char* key, Need need, size_t max_count) {
  const json* found = value(key, need);
  if (found == nullptr) return nullptr;
  if (!found->is_array()) {
    report_type(key, *found, "an array");
    return nullptr;
  }
  if (found->size() > max_count) {
    report(key, "found " + std::to_string(found->size()) + " items, expected at most " +
                    std::to_string(max_count));
    return nullptr;
  }
  return found;
}

std::string ObjectReader::text(const char* key, Need need, const TextRule& rule) {
  const json* found = value(key, need);
  if (found == nullptr) return {};
  if (found->is_string() && rule.accepts(found->get_ref<const std::string&>()))
    return found->get<std::string>();
  report_type(key, *found, rule.expected);
  return {};
}

std::string ObjectReader::one_of(const char* key, Need need, std::initializer_list<const char*> choices) {
  const json* found = value(key, need);
  if (found == nullptr) return {};
  std::string expected;
  for (const char* choice : choices) {
    if (found->is_string() && found->get_ref<const std::string&>() == choice) return choice;
    expected += (expected.empty() ? "one of '" : ", '") + std::string(choice) + '\'';
  }
  report_type(key, *found, expected);
  return {};
}

int64_t ObjectReader::integer(const char* key, Need need, int64_t min, int64_t max, int64_t otherwise) {
  const json* found = value(key, need);
  if (found == nullptr) return otherwise;
  const bool fits_signed =
      found->is_number_integer() &&
      (!found->is_number_unsigned() || found->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
  if (fits_signed && found->get<int64_t>() >= min && found->get<int64_t>() <= max)
    return found->get<int64_t>();
  report_type(key, *found, "an integer from " + std::to_string(min) + " to " + std::to_string(max));
  return otherwise;
}

std::optional<double> ObjectReader::number(const char* key) {
  const json* found = value(key, Need::kOptional);
  if (found == nullptr) return std::nullopt;
  if (found->is_number() && std::isfinite(found->get<double>())) return found->get<double>();
  report_type(key, *found, "a number");
  return std::nullopt;
}

bool ObjectReader::boolean(const char* key, bool otherwise) {
  const json* found = value(key, Need::kOptional);
  if (found == nullptr) return otherwise;
  if (found->is_boolean()) return found->get<bool>();
  report_type(key, *found, "true or false");
  return otherwise;
}

std::vector<std::string> ObjectReader::texts(const char* key, Need need, const TextRule& rule,
                                             size_t max_count) {
  std::vector<std::string> out;
  const json* list = array(key, need, max_count);
  if (list == nullptr) return out;
  for (size_t i = 0; i < list->size(); ++i) {
    const json& item = (*list)[i];
    const std::string where = path(key) + '[' + std::to_string(i) + ']';
    if (!item.is_string() || !rule.accepts(item.get_ref<const std::string&>())) {
      report_at(where, "found " + describe(item) + ", expected " + rule.expected);
    } else if (std::find(out.begin(), out.end(), item.get_ref<const std::string&>()) != out.end()) {
      report_at(where, "found " + describe(item) + " a second time");
    } else {
      out.push_back(item.get<std::string>());
    }
  }
  return out;
}

void ObjectReader::note_unknown(std::vector<std::string>& out) const {
  for (const auto& [key, unused] : object_.items())
    if (std::find(asked_.begin(), asked_.end(), key) == asked_.end())
      out.push_back(path(is_printable(key) ? key : in_quotes(key)));
  out.insert(out.end(), unknown_.begin(), unknown_.end());
}

}  // namespace etb::host
