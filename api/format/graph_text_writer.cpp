// SPDX-License-Identifier: Apache-2.0
#include "api/format/graph_text_writer.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

#include "api/format/graph_words.hpp"
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

void TextWriter::put_complex(double real, double imaginary) {
  out_ += "complex(";
  put_float(real);
  out_ += ", ";
  put_float(imaginary);
  out_ += ')';
}

void TextWriter::put_dtype(int64_t code) { out_ += text_of(kDtypeWords, code); }

void TextWriter::put_layout(int64_t code) { put("layout({})", text_of(kLayoutWords, code)); }

void TextWriter::put_memory_format(int64_t code) {
  put("memory_format({})", text_of(kMemoryFormatWords, code));
}

void TextWriter::put_device(std::string_view name) {
  out_ += "device(";
  put_string(name);
  out_ += ')';
}

void TextWriter::put_order(std::span<const uint8_t> order) {
  out_ += " order(";
  put_list(order, [this](uint8_t dim) { put("{}", dim); });
  out_ += ')';
}

void TextWriter::put_symbol(std::string_view name, int64_t min, int64_t max,
                            const std::optional<int64_t>& hint) {
  put("symbol {} ", name);
  put_range(min, max);
  if (hint) put(" hint {}", *hint);
  out_ += '\n';
}

void TextWriter::put_handle(uint32_t debug_handle) {
  if (debug_handle != 0) put(" !{}", debug_handle);
}

void TextWriter::put_source(std::string_view file, uint32_t line, std::string_view function,
                            std::string_view module) {
  if (!file.empty() || line != 0) {
    out_ += " at ";
    put_string(file);
    if (line != 0) put(":{}", line);
  }
  if (!function.empty()) {
    out_ += " in ";
    put_string(function);
  }
  if (!module.empty()) {
    out_ += " of ";
    put_string(module);
  }
}

}  // namespace etb::graph
