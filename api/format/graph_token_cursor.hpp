// SPDX-License-Identifier: Apache-2.0
// Internal to the text parser: one token of lookahead, and the steps that all rules use.
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

  Token token_;

 private:
  Lexer lexer_;
};

}  // namespace etb::graph
