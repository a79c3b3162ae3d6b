// SPDX-License-Identifier: Apache-2.0
#include "api/format/graph_lexer.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "api/format/graph_rules.hpp"
#include "api/format/utf8.hpp"

namespace etb::graph {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
int hex_value(char c) { return is_digit(c) ? c - '0' : c - 'a' + 10; }

}  // namespace

tl::unexpected<Error> text_error(uint32_t line, uint32_t column, const std::string& message) {
  return make_error(Code::INVALID_DATA, fmt::format("line {} column {}: {}", line, column, message));
}

tl::unexpected<Error> Lexer::fail(const std::string& message) const {
  return text_error(line_, static_cast<uint32_t>(at_ - line_start_ + 1), message);
}

void Lexer::skip_space() {
  for (; at_ < text_.size(); ++at_) {
    if (peek() == '#') at_ = std::min(text_.find('\n', at_), text_.size());
    if (peek() == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    } else if (peek() != ' ' && peek() != '\t' && peek() != '\r') {
      return;
    }
  }
}

char Lexer::next_char() const {
  Lexer ahead = *this;
  ahead.skip_space();
  return ahead.peek();
}

std::string_view Lexer::take_line() {
  const size_t end = std::min(text_.find_first_of("#\n", at_), text_.size());
  std::string_view line = text_.substr(at_, end - at_);
  at_ = end;
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line.substr(0, line.find_last_not_of(" \t\r") + 1);
}

Result<Token> Lexer::next() {
  skip_space();
  Token token;
  token.line = line_;
  token.column = static_cast<uint32_t>(at_ - line_start_ + 1);
  const size_t start = at_;
  const char c = peek();
  if (start >= text_.size()) return token;
  if (is_digit(c) || (c == '-' && (is_digit(peek(1)) || text_.substr(at_, 4) == "-inf"))) {
    ETB_TRY(read_number(token));
  } else if (is_letter(c)) {
    token.kind = TokenKind::kWord;
    while (is_name(peek()) || (peek() == '-' && is_letter(peek(1)))) ++at_;
    token.text = text_.substr(start, at_ - start);
  } else if (c == '"') {
    token.kind = TokenKind::kString;
    ETB_TRY(read_quoted(token));
  } else if (c == '%' || c == '@') {
    token.kind = c == '%' ? TokenKind::kValueName : TokenKind::kGraphName;
    ++at_;
    ETB_TRY(read_name(token));
  } else {
    token.kind = TokenKind::kSign;
    const bool is_pair = (c == '.' || c == '/') && peek(1) == c;
    at_ += text_.substr(at_, 3) == "..." ? 3 : is_pair ? 2 : 1;
  }
  if (token.kind != TokenKind::kHex) token.text = text_.substr(start, at_ - start);
  return token;
}

Status Lexer::read_name(Token& token) {
  if (peek() == '"') return read_quoted(token);
  const size_t start = at_;
  while (is_name(peek())) ++at_;
  token.name = std::string(text_.substr(start, at_ - start));
  return token.name.empty() ? Status(fail("expected a name")) : Status();
}

Status Lexer::read_quoted(Token& token) {
  ++at_;
  while (peek() != '"') {
    if (at_ >= text_.size() || peek() == '\n') return fail("a string does not end on its line");
    if (peek() == '\\') {
      ETB_TRY(read_escape(token.name));
    } else {
      token.name += peek();
      ++at_;
    }
  }
  ++at_;
  return {};
}

Status Lexer::read_escape(std::string& out) {
  const char c = peek(1);
  if (c == '"' || c == '\\') {
    out += c;
  } else if (c == 'n') {
    out += '\n';
  } else if (c == 'x' && is_hex(peek(2)) && is_hex(peek(3))) {
    out += static_cast<char>(hex_value(peek(2)) * 16 + hex_value(peek(3)));
    at_ += 2;
  } else {
    return fail("unknown escape in a string");
  }
  at_ += 2;
  return {};
}

Status Lexer::read_number(Token& token) {
  const size_t start = at_;
  if (peek() == '0' && peek(1) == 'x') {
    at_ += 2;
    while (is_hex(peek())) ++at_;
    token.kind = TokenKind::kHex;
    token.text = text_.substr(start + 2, at_ - start - 2);
    return {};
  }
  if (text_.substr(at_, 4) == "-inf") {
    at_ += 4;
    token.kind = TokenKind::kFloat;
    token.as_float = -std::numeric_limits<double>::infinity();
    return {};
  }
  token.kind = TokenKind::kInt;
  if (peek() == '-') ++at_;
  while (is_digit(peek())) ++at_;
  if (peek() == '.' && is_digit(peek(1))) {  // not for a range: 2..10 has two ints
    token.kind = TokenKind::kFloat;
    ++at_;
    while (is_digit(peek())) ++at_;
  }
  const size_t sign_count = peek(1) == '-' || peek(1) == '+' ? 1 : 0;
  if (peek() == 'e' && is_digit(peek(1 + sign_count))) {
    token.kind = TokenKind::kFloat;
    at_ += 1 + sign_count;
    while (is_digit(peek())) ++at_;
  }
  const char* first = text_.data() + start;
  const char* last = text_.data() + at_;
  const auto result = token.kind == TokenKind::kInt ? std::from_chars(first, last, token.as_int)
                                                    : std::from_chars(first, last, token.as_float);
  if (result.ec == std::errc() && result.ptr == last) return {};
  return fail(fmt::format("number '{}' is out of range", printable(text_.substr(start, at_ - start))));
}

}  // namespace etb::graph
