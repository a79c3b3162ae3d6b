// SPDX-License-Identifier: Apache-2.0
// Writes the parts that all graph texts share: literals, names, lists, clauses. Printers of images and of the
// compiler's modules derive from it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace etb::graph {

class TextWriter {
 protected:
  explicit TextWriter(uint64_t max_text_bytes) : max_text_bytes_(max_text_bytes) {}

  // Called by parts that can make a text much longer than its image: texts, names, formulas.
  bool is_full() const { return out_.size() > max_text_bytes_; }

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  template <class Items, class Put>
  void put_list(const Items& items, Put put_item) {
    bool is_first = true;
    for (auto&& item : items) {
      if (!is_first) out_ += ", ";
      is_first = false;
      put_item(item);
    }
  }

  template <class Items, class Put>
  void put_brackets(const char* kind_if_empty, const Items& items, Put put_item) {
    if (items.size() == 0) out_ += kind_if_empty;  // "[]" alone has no kind
    out_ += '[';
    put_list(items, put_item);
    out_ += ']';
  }

  void put_string(std::string_view text);
  // Writes %name for the sigil '%', or %"any text" when the name has other characters than letters, digits,
  // dots and underscores.
  void put_name(char sigil, std::string_view name);
  // Leaves out an unbounded end.
  void put_range(int64_t min, int64_t max);
  // Writes the shortest text that parses to the same bits, always with a point, an exponent or a
  // word, so that it is no int.
  void put_float(double value);
  void put_complex(double real, double imaginary);
  void put_hex(std::span<const uint8_t> bytes);
  void put_none() { out_ += "none"; }
  void put_bool(bool value) { out_ += value ? "true" : "false"; }
  void put_int(int64_t value) { put("{}", value); }
  void put_dtype(int64_t code);
  void put_layout(int64_t code);
  void put_memory_format(int64_t code);
  void put_device(std::string_view name);
  // Writes " order(0, 2, 3, 1)".
  void put_order(std::span<const uint8_t> order);
  // Writes a line of the header.
  void put_symbol(std::string_view name, int64_t min, int64_t max, const std::optional<int64_t>& hint);
  // Writes the clauses after a node: " !7 at "model.py":14 in "forward" of "fc"". Leaves out unknown parts.
  void put_handle(uint32_t debug_handle);
  void put_source(std::string_view file, uint32_t line, std::string_view function, std::string_view module);

  std::string out_;

 private:
  uint64_t max_text_bytes_;
};

}  // namespace etb::graph
