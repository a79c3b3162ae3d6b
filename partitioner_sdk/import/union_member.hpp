// SPDX-License-Identifier: Apache-2.0
// Unions of the archive's JSON: objects with one member, whose key is the kind.
#pragma once

#include "partitioner_sdk/import/json_document.hpp"

namespace etb::pt2 {

// Returns the one member of a union object; absent if there is not exactly one.
inline Json union_member(Json json) {
  if (!json.is_object() || json.size() != 1) return {};
  return *json.begin();
}

}  // namespace etb::pt2
