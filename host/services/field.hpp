// SPDX-License-Identifier: Apache-2.0
// Formats fields of log and diag messages as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "etb/option.h"

namespace etb::host {

struct Field {
  std::string key;
  std::string value;

  friend bool operator==(const Field& a, const Field& b) { return a.key == b.key && a.value == b.value; }
};

// Formats an option's value for display: 3, 0.5, text, "12 bytes", [1, 2].
std::string format_value(const etb_option& option);

std::vector<Field> to_fields(const etb_option* options, uint64_t option_count);

}  // namespace etb::host
