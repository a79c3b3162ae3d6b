// SPDX-License-Identifier: Apache-2.0
// Parses graph texts token by token: one token of lookahead, and the steps that all rules of the grammar use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/format/graph_lexer.hpp"

namespace etb::graph {

class TokenCursor {
 protected:
  explicit TokenCursor(std::string_view text) : lexer_(text) {}

  Status advance();
  // Returns the first character of the token after the current one.
  char following_char() const { return lexer_.next_char(); }
  // Consumes the current token and the rest of its line. Returns the rest, without comment.
  Result<std::string> take_rest_of_line();
  // Consumes the expected sign, or fails with the token found.
  Status expect(std::string_view sign);
  Status expect_word(std::string_view word);
  // Consumes an optional sign. Returns true if it was there.
  Result<bool> accept(std::string_view sign);
  Result<bool> accept_word(std::string_view word);

  Result<std::string> take(TokenKind kind, const char* what);
  Result<int64_t> take_int();
  Result<uint32_t> take_u32();
  Result<std::vector<uint8_t>> take_hex();
  Result<double> take_float();
  Result<double> take_float_after(const Token& word);  // "inf" or "nan" has been consumed
  Result<std::string> take_in_parentheses(TokenKind kind);

  tl::unexpected<Error> fail(const std::string& message) const {
    return text_error(token_.line, token_.column, message);
  }
  tl::unexpected<Error> unexpected(const std::string& expected) const;
  // Adds the position of a token to the error of something that knows no positions.
  template <class T>
  static Result<T> at(TextPosition position, Result<T> result) {
    if (result) return result;
    auto located = text_error(position.line, position.column, result.error().message);
    located.value().code = result.error().code;
    return located;
  }

  Token token_;

 private:
  Lexer lexer_;
};

}  // namespace etb::graph
