// SPDX-License-Identifier: Apache-2.0
// The lexer of graph texts (graph_text.hpp): words, numbers, names and signs. Graph images, the compiler's
// modules and rewrite rules share it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "etb/cpp/result.hpp"

namespace etb::graph {

enum class TokenKind { kEnd, kWord, kString, kValueName, kGraphName, kInt, kFloat, kHex, kSign };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // unchanged; the digits of kHex
  std::string name;       // kString, kValueName, kGraphName: the unescaped text
  int64_t as_int = 0;
  double as_float = 0;
  uint32_t line = 1;
  uint32_t column = 1;

  bool is(std::string_view sign) const { return kind == TokenKind::kSign && text == sign; }
  bool is_word(std::string_view word) const { return kind == TokenKind::kWord && text == word; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  [[nodiscard]] Result<Token> next();
  // Returns the first character of the next token, '\0' at the end. Consumes nothing.
  char next_char() const;
  // Consumes the rest of the line. Returns it without its comment and the blanks around it.
  std::string_view take_line();

 private:
  void skip_space();
  [[nodiscard]] Status read_quoted(Token& token);
  [[nodiscard]] Status read_escape(std::string& out);
  [[nodiscard]] Status read_number(Token& token);
  [[nodiscard]] Status read_name(Token& token);
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  tl::unexpected<Error> fail(const std::string& message) const;

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  size_t line_start_ = 0;
};

// Where a token begins.
struct TextPosition {
  TextPosition(const Token& token)
      : line(token.line), column(token.column) {}  // NOLINT(google-explicit-constructor)
  uint32_t line;
  uint32_t column;
};

// Returns "line 3 column 5: message".
tl::unexpected<Error> text_error(uint32_t line, uint32_t column, const std::string& message);

}  // namespace etb::graph
