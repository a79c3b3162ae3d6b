// SPDX-License-Identifier: Apache-2.0
// Turns the places of errors without texts (etb/cpp/error_id.hpp) into texts.
//
// usage: error_texts SOURCE...                 prints a table: id, file, line and text of each error in these sources
//        error_texts --explain TABLE PLACES    prints the texts of places such as "@1c9f:12 @07b2:3", one a line
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "etb/cpp/error_id.hpp"

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Walks over a source, and reports each call of fail and fail_in.
class Source {
 public:
  Source(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {}

  // Returns false for a call whose text is not a literal.
  bool print_errors() {
    bool has_all = true;
    for (at_ = 0; at_ < text_.size();) {
      if (skip_comment() || skip_literal()) continue;
      const bool is_call = (at_ == 0 || !is_word(text_[at_ - 1])) &&
                           (text_.compare(at_, 5, "fail(") == 0 || text_.compare(at_, 8, "fail_in(") == 0);
      if (!is_call) {
        ++at_;
        continue;
      }
      at_ = text_.find('(', at_) + 1;
      has_all = print_call() && has_all;
    }
    return has_all;
  }

 private:
  // Reads the arguments of a call up to the first literal that begins one.
  bool print_call() {
    const size_t begin = at_;
    bool is_first_word = true;
    for (int depth = 0; at_ < text_.size();) {
      if (skip_comment()) continue;
      const char c = text_[at_];
      if (c == '"' && depth == 0 && is_first_word) return print_text(begin), true;
      if (skip_literal()) continue;
      if (c == ')' && depth == 0) break;
      if (c == '(' || c == '{' || c == '[') ++depth;
      if (c == ')' || c == '}' || c == ']') --depth;
      if (std::isspace(static_cast<unsigned char>(c)) == 0) is_first_word = c == ',' && depth == 0;
      ++at_;
    }
    // A declaration, or a call that passes on what it received.
    const std::string_view arguments = std::string_view(text_).substr(begin, at_ - begin);
    if (arguments.find("format") != std::string_view::npos || arguments.find("status") == 0) return true;
    std::fprintf(stderr, "%s:%d: an error whose text is no literal: (%.*s)\n", path_.c_str(), line_of(begin),
                 static_cast<int>(arguments.size()), arguments.data());
    return false;
  }

  void print_text(size_t begin) {
    std::string format;
    for (;;) {
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
      if (text_[at_] == '"') {
        const size_t first = at_ + 1;
        skip_literal();
        format += unescaped(std::string_view(text_).substr(first, at_ - first - 1));
      } else if (text_.compare(at_, 3, "PRI") == 0) {
        format += text_[at_ + 3];
        while (is_word(text_[at_])) ++at_;
      } else {
        break;
      }
    }
    const unsigned id = etb::error_id(format);
    for (char& c : format) c = c == '\n' ? ' ' : c;
    std::printf("%04x %s:%d %s\n", id, path_.c_str(), line_of(begin), format.c_str());
  }

  static std::string unescaped(std::string_view literal) {
    std::string out;
    for (size_t i = 0; i < literal.size(); ++i) {
      if (literal[i] == '\\' && ++i < literal.size()) {
        out += literal[i] == 'n' ? '\n' : literal[i];
      } else {
        out += literal[i];
      }
    }
    return out;
  }

  bool skip_comment() {
    if (text_.compare(at_, 2, "//") != 0) return false;
    at_ = std::min(text_.find('\n', at_), text_.size());
    return true;
  }

  bool skip_literal() {
    const char quote = text_[at_];
    const bool is_separator = quote == '\'' && at_ > 0 && is_word(text_[at_ - 1]);  // 1'000
    if ((quote != '"' && quote != '\'') || is_separator) return false;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) at_ += text_[at_] == '\\' ? 1 : 0;
    ++at_;
    return true;
  }

  int line_of(size_t at) const {
    return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at), '\n'));
  }

  std::string path_;
  std::string text_;
  size_t at_ = 0;
};

// Prints `text` with `number` in place of its first conversion, and "..." in place of the others.
void print_filled(std::string_view text, std::string_view number) {
  bool is_first = etb::begins_with_number(text);
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '%') {
      std::putchar(text[at++]);
      continue;
    }
    at = text.find_first_of("diuxXopcsgfeaGFEA%", at + 1);
    if (at == std::string_view::npos) break;
    if (text[at] == '%') {
      std::putchar('%');
    } else {
      std::fputs(is_first ? std::string(number).c_str() : "...", stdout);
      is_first = false;
    }
    ++at;
  }
  std::putchar('\n');
}

int explain(const char* table_path, const std::string& places) {
  int missing_count = 0;
  for (size_t at = places.find('@'); at != std::string::npos; at = places.find('@', at + 1)) {
    const std::string id = places.substr(at + 1, 4);
    const size_t number = at + 6;
    const size_t end = places.find_first_not_of("0123456789", number);
    std::ifstream table(table_path);
    std::string row;
    bool is_found = false;
    while (std::getline(table, row)) {
      if (row.compare(0, 4, id) != 0) continue;
      const size_t text = row.find(' ', 5) + 1;
      std::printf("%s: ", row.substr(5, text - 6).c_str());
      print_filled(std::string_view(row).substr(text), std::string_view(places).substr(number, end - number));
      is_found = true;
    }
    if (!is_found) std::printf("%s: not in %s\n", id.c_str(), table_path);
    missing_count += is_found ? 0 : 1;
  }
  return missing_count == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 4 && std::strcmp(argv[1], "--explain") == 0) {
    std::string places;
    for (int i = 3; i < argc; ++i) places += argv[i];
    return explain(argv[2], places);
  }
  bool has_all = true;
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i]);
    if (!in) return std::fprintf(stderr, "%s: cannot be read\n", argv[i]), 2;
    has_all = Source(argv[i], std::string(std::istreambuf_iterator<char>(in), {})).print_errors() && has_all;
  }
  return has_all ? 0 : 1;
}
