// SPDX-License-Identifier: Apache-2.0
// Table: rows of texts, aligned for a terminal or as Markdown. And numbers with friendly units.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace etb::bench {

class Table {
 public:
  // A name that begins with '<' is a column of text, aligned to the left; numbers are aligned to the right.
  explicit Table(std::vector<std::string> columns);

  void add(std::vector<std::string> cells);
  bool is_empty() const { return rows_.empty(); }
  std::string to_text() const;
  std::string to_markdown() const;

 private:
  std::vector<std::string> columns_;
  std::vector<bool> is_text_;
  std::vector<std::vector<std::string>> rows_;
};

std::string format_us(double us);            // "812 ns", "12.3 us", "1.23 ms", "4.56 s"
std::string format_bytes(uint64_t nbytes);   // "812 B", "3.42 MiB"
std::string format_rate(double per_second);  // "0.0456", "12.3", "1.23 k"
std::string format_percent(double fraction);

}  // namespace etb::bench
