// SPDX-License-Identifier: Apache-2.0
// Checks UTF-8.
#pragma once

#include <cstdint>
#include <string_view>

namespace etb::format {

// True for well-formed text as Unicode defines it (table 3-7): no overlong forms, surrogates or
// code points above 10ffff.
constexpr bool is_utf8(std::string_view text) noexcept {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const size_t tail_count = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || tail_count >= text.size() - i) return false;
    const auto second = static_cast<uint8_t>(text[i + 1]);
    const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (second < low || second > high) return false;
    for (size_t k = 2; k <= tail_count; ++k) {
      if ((static_cast<uint8_t>(text[i + k]) & 0xc0) != 0x80) return false;
    }
    i += tail_count + 1;
  }
  return true;
}

}  // namespace etb::format
