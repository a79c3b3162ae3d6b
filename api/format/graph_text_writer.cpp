// SPDX-License-Identifier: Apache-2.0
#include "api/format/graph_text_writer.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

#include "api/format/hex.hpp"
#include "etb/graph.h"

namespace etb::graph {

void TextWriter::put_string(std::string_view text) {
  if (is_full()) return;
  out_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (c == '\n') {
      out_ += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      put("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      out_ += c;
    }
  }
  out_ += '"';
}

void TextWriter::put_name(char sigil, std::string_view name) {
  if (is_full()) return;
  if (sigil != '\0') out_ += sigil;
  bool is_plain = !name.empty();
  for (const char c : name) {
    is_plain = is_plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                            c == '_' || c == '.');
  }
  const bool is_word = is_plain && !(name[0] >= '0' && name[0] <= '9') && name[0] != '.';
  if (sigil == '\0' ? is_word : is_plain) {
    out_ += name;
  } else {
    put_string(name);
  }
}

void TextWriter::put_range(int64_t min, int64_t max) {
  out_ += '{';
  if (min != INT64_MIN) put("{}", min);
  out_ += "..";
  if (max != ETB_GRAPH_UNBOUNDED) put("{}", max);
  out_ += '}';
}

void TextWriter::put_float(double value) {
  if (std::isnan(value)) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    constexpr uint64_t kQuietNan = 0x7ff8000000000000;
    if (bits == kQuietNan) {
      out_ += "nan";
    } else {
      put("nan(0x{:016x})", bits);
    }
    return;
  }
  if (std::isinf(value)) {
    out_ += value < 0 ? "-inf" : "inf";
    return;
  }
  char buffer[32];
  const auto result = std::to_chars(std::begin(buffer), std::end(buffer), value);
  const std::string_view text(buffer, static_cast<size_t>(result.ptr - buffer));
  out_ += text;
  if (text.find_first_of(".e") == std::string_view::npos) out_ += ".0";
}

void TextWriter::put_hex(std::span<const uint8_t> bytes) { out_ += format::to_hex(bytes); }

}  // namespace etb::graph
