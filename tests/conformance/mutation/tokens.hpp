// SPDX-License-Identifier: Apache-2.0
// Tokens of a C or C++ source file, with the brackets matched: as much syntax as the rules for mutants need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etb::mutation {

enum class TokenKind : uint8_t { kName, kNumber, kText, kPunctuation };

struct Token {
  TokenKind kind;
  uint32_t begin, end;  // bytes of the file
  uint32_t line;        // from 1
  int32_t partner;      // index of the matching bracket, or -1
  int32_t opener;       // index of the innermost bracket around this token, or -1
  bool is_spaced;       // a blank before and after: a binary operator in formatted code
};

class Source {
 public:
  // Comments and preprocessor lines are left out.
  explicit Source(std::string text);

  const std::string& text() const { return text_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  // "" beyond either end.
  std::string_view at(int64_t index) const;
  std::string_view between(uint32_t first, uint32_t last) const;  // text from token first to the end of last
  std::string_view line(uint32_t number) const;                   // from 1

 private:
  void match_brackets();

  std::string text_;
  std::vector<Token> tokens_;
};

}  // namespace etb::mutation
