// SPDX-License-Identifier: Apache-2.0
// Internal to the printer of graph images: literals, names and lists of the text form.
#pragma once

#include <fmt/format.h>

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
    for (const auto item : items) {
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
  // Writes %name, or %"any text" when the name has other characters than letters, digits, dots and
  // underscores.
  void put_name(char sigil, std::string_view name);
  // Leaves out an unbounded end.
  void put_range(int64_t min, int64_t max);
  // Writes the shortest text that parses to the same bits, always with a point, an exponent or a
  // word, so that it is no int.
  void put_float(double value);
  void put_hex(std::span<const uint8_t> bytes);

  std::string out_;

 private:
  uint64_t max_text_bytes_;
};

}  // namespace etb::graph
