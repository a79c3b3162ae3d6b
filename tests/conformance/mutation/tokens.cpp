// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/tokens.hpp"

#include <algorithm>
#include <cctype>

namespace etb::mutation {
namespace {

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool continues_name(char c) { return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

constexpr std::string_view kLongPunctuation[] = {"<<=", ">>=", "...", "<=>", "->*", "::", "->", "++", "--",
                                                 "<<",  ">>",  "<=",  ">=",  "==",  "!=", "&&", "||", "+=",
                                                 "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^="};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Token> scan() {
    while (skip_blanks_and_comments(), at_ < text_.size()) {
      const size_t begin = at_;
      const uint32_t line = line_;
      const TokenKind kind = scan_token();
      const bool is_spaced = begin > 0 && std::isspace(static_cast<unsigned char>(text_[begin - 1])) != 0 &&
                             at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0;
      tokens_.push_back({kind, static_cast<uint32_t>(begin), static_cast<uint32_t>(at_), line, -1, -1,
                         is_spaced && kind == TokenKind::kPunctuation});
    }
    return std::move(tokens_);
  }

 private:
  bool starts_with(std::string_view word) const { return text_.substr(at_).starts_with(word); }

  void step(size_t count = 1) {
    for (; count > 0 && at_ < text_.size(); --count) line_ += text_[at_++] == '\n' ? 1 : 0;
  }

  void skip_blanks_and_comments() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        step();
      } else if (starts_with("//")) {
        while (at_ < text_.size() && text_[at_] != '\n') step();
      } else if (starts_with("/*")) {
        step(2);
        while (at_ < text_.size() && !starts_with("*/")) step();
        step(2);
      } else if (text_[at_] == '#' && is_first_of_its_line()) {
        skip_directive();
      } else {
        return;
      }
    }
  }

  bool is_first_of_its_line() const {
    for (size_t i = at_; i > 0 && text_[i - 1] != '\n'; --i)
      if (std::isspace(static_cast<unsigned char>(text_[i - 1])) == 0) return false;
    return true;
  }

  void skip_directive() {
    for (bool continues = true; continues && at_ < text_.size();) {
      continues = false;
      for (; at_ < text_.size() && text_[at_] != '\n'; step()) continues = text_[at_] == '\\';
      step();
    }
  }

  TokenKind scan_token() {
    if (starts_with("R\"")) return scan_raw_text();
    if (begins_name(text_[at_])) {
      while (at_ < text_.size() && continues_name(text_[at_])) step();
      return TokenKind::kName;
    }
    const bool is_fraction = text_[at_] == '.' && at_ + 1 < text_.size() &&
                             std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0;
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || is_fraction) return scan_number();
    if (text_[at_] == '"' || text_[at_] == '\'') return scan_text(text_[at_]);
    for (const std::string_view word : kLongPunctuation) {
      if (!starts_with(word)) continue;
      step(word.size());
      return TokenKind::kPunctuation;
    }
    step();
    return TokenKind::kPunctuation;
  }

  TokenKind scan_number() {
    const bool is_hex = starts_with("0x") || starts_with("0X");
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const char before = at_ > 0 ? text_[at_ - 1] : ' ';
      const bool is_sign = (c == '+' || c == '-') &&
                           (is_hex ? before == 'p' || before == 'P' : before == 'e' || before == 'E');
      if (!continues_name(c) && c != '.' && c != '\'' && !is_sign) break;
      step();
    }
    return TokenKind::kNumber;
  }

  TokenKind scan_text(char quote) {
    step();
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') step(text_[at_] == '\\' ? 2 : 1);
    step();
    return TokenKind::kText;
  }

  TokenKind scan_raw_text() {
    const size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return step(text_.size()), TokenKind::kText;
    const std::string end = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
    const size_t close = text_.find(end, open);
    step((close == std::string_view::npos ? text_.size() : close + end.size()) - at_);
    return TokenKind::kText;
  }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

Source::Source(std::string text) : text_(std::move(text)), tokens_(Scanner(text_).scan()) {
  match_brackets();
}

void Source::match_brackets() {
  std::vector<int32_t> open;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view word = at(static_cast<int64_t>(i));
    const bool closes = word == ")" || word == "]" || word == "}";
    if (closes && !open.empty()) {
      tokens_[i].partner = open.back();
      tokens_[static_cast<size_t>(open.back())].partner = static_cast<int32_t>(i);
      open.pop_back();
    }
    tokens_[i].opener = open.empty() ? -1 : open.back();
    if (word == "(" || word == "[" || word == "{") open.push_back(static_cast<int32_t>(i));
  }
}

std::string_view Source::at(int64_t index) const {
  if (index < 0 || index >= static_cast<int64_t>(tokens_.size())) return {};
  const Token& token = tokens_[static_cast<size_t>(index)];
  return std::string_view(text_).substr(token.begin, token.end - token.begin);
}

std::string_view Source::between(uint32_t first, uint32_t last) const {
  const uint32_t begin = tokens_[first].begin;
  return std::string_view(text_).substr(begin, tokens_[last].end - begin);
}

std::string_view Source::line(uint32_t number) const {
  size_t begin = 0;
  for (; number > 1 && begin < text_.size(); --number) begin = text_.find('\n', begin) + 1;
  return std::string_view(text_).substr(begin, std::min(text_.find('\n', begin), text_.size()) - begin);
}

}  // namespace etb::mutation
