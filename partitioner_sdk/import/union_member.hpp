// SPDX-License-Identifier: Apache-2.0
// Unions of the archive's JSON: objects with one member, whose key is the kind; and names in them.
#pragma once

#include <string>
#include <string_view>

#include "partitioner_sdk/import/json_document.hpp"

namespace etb::pt2 {

// Returns the one member of a union object; absent if there is not exactly one.
inline Json union_member(Json json) {
  if (!json.is_object() || json.size() != 1) return {};
  return *json.begin();
}

// Returns the name of a JSON value: tensors have "name", symbolic numbers "as_name".
inline std::string_view name_of(Json member) {
  return (member["name"] ? member["name"] : member["as_name"]).as_string().value_or("");
}

// Shortens a name for messages, which may be created for many items.
inline std::string shown(std::string_view name) {
  constexpr size_t kMaxShownNbytes = 200;
  return std::string(name.substr(0, kMaxShownNbytes));
}

}  // namespace etb::pt2
