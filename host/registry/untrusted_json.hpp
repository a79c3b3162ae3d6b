// SPDX-License-Identifier: Apache-2.0
// Members of a JSON object from a child process that runs a plugin's code: of any type, so they are escaped for output.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "host/registry/diagnostic.hpp"

namespace etb::host {

// Returns "" for a member that is missing or no text.
inline std::string text_in(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? made_printable(it->get_ref<const std::string&>(), 1024) : "";
}

// Returns 0 for a member that is missing or no whole number.
inline uint64_t number_in(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_unsigned() ? it->get<uint64_t>() : 0;
}

}  // namespace etb::host
