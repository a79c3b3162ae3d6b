// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "api/format/printable_text.hpp"

namespace etb::bench {
namespace {

// Three significant digits, without an exponent. The factor counts a digit that rounding adds: 9.996 is "10.0".
std::string three_digits(double value) {
  if (value <= 0 || !std::isfinite(value)) return "0";
  const int digits = std::clamp(2 - static_cast<int>(std::floor(std::log10(value * 1.0005))), 0, 6);
  return fmt::format("{:.{}f}", value, digits);
}

struct Unit {
  double size;
  const char* name;
};

// Uses the largest unit in which the value, as it is printed, is at least 1.
template <size_t kCount>
std::string with_unit(double value, const std::array<Unit, kCount>& units) {
  for (const Unit& unit : units)
    if (value >= unit.size * 0.9995) return three_digits(value / unit.size) + unit.name;
  return three_digits(value / units.back().size) + units.back().name;
}

// Columns on a terminal: bytes of UTF-8 that begin a character.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, size_t width, bool is_text) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return is_text ? text + space : space + text;
}

std::string escaped(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

}  // namespace

Table::Table(std::vector<std::string> columns) : columns_(std::move(columns)) {
  for (std::string& column : columns_) {
    is_text_.push_back(column.starts_with('<'));
    if (is_text_.back()) column.erase(0, 1);
  }
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = format::made_printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::to_text() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(width_of(columns_[i]));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i)
      line += (i == 0 ? "" : "  ") + padded(cells[i], widths[i], is_text_[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  add_line(columns_);
  for (const auto& row : rows_) add_line(row);
  return out;
}

std::string Table::to_markdown() const {
  std::string out = "|", rule = "|";
  for (size_t i = 0; i < columns_.size(); ++i) {
    out += " " + columns_[i] + " |";
    rule += is_text_[i] ? "---|" : "---:|";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : rows_) {
    out += "|";
    for (const std::string& cell : row) out += " " + escaped(cell) + " |";
    out += "\n";
  }
  return out;
}

std::string format_us(double us) {
  if (us <= 0) return "0";
  return with_unit(us, std::array<Unit, 4>{Unit{1e6, " s"}, {1e3, " ms"}, {1, " us"}, {1e-3, " ns"}});
}

std::string format_bytes(uint64_t nbytes) {
  if (nbytes < 1024) return fmt::format("{} B", nbytes);
  return with_unit(static_cast<double>(nbytes),
                   std::array<Unit, 3>{Unit{1 << 30, " GiB"}, {1 << 20, " MiB"}, {1 << 10, " KiB"}});
}

std::string format_rate(double per_second) {
  return with_unit(per_second, std::array<Unit, 3>{Unit{1e6, " M"}, {1e3, " k"}, {1, ""}});
}

std::string format_percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

}  // namespace etb::bench
