// SPDX-License-Identifier: Apache-2.0
#include "api/format/graph_token_cursor.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "api/format/graph_rules.hpp"

namespace etb::graph {
namespace {

double to_double(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

Status TokenCursor::advance() {
  ETB_ASSIGN(token_, lexer_.next());
  return {};
}

Result<std::string> TokenCursor::take_rest_of_line() {
  std::string line(lexer_.take_line());
  ETB_TRY(advance());
  return line;
}

tl::unexpected<Error> TokenCursor::unexpected(const std::string& expected) const {
  const bool is_end = token_.kind == TokenKind::kEnd;
  return fail(fmt::format("expected {}, found {}", expected,
                          is_end ? std::string("the end") : "'" + printable(token_.text) + "'"));
}

Status TokenCursor::expect(std::string_view sign) {
  return token_.is(sign) ? advance() : unexpected(fmt::format("'{}'", sign));
}

Status TokenCursor::expect_word(std::string_view word) {
  return token_.is_word(word) ? advance() : unexpected(fmt::format("'{}'", word));
}

Result<bool> TokenCursor::accept(std::string_view sign) {
  if (!token_.is(sign)) return false;
  ETB_TRY(advance());
  return true;
}

Result<bool> TokenCursor::accept_word(std::string_view word) {
  if (!token_.is_word(word)) return false;
  ETB_TRY(advance());
  return true;
}

Result<std::string> TokenCursor::take(TokenKind kind, const char* what) {
  if (token_.kind != kind) return unexpected(what);
  std::string text = kind == TokenKind::kWord ? std::string(token_.text) : token_.name;
  ETB_TRY(advance());
  return text;
}

Result<int64_t> TokenCursor::take_int() {
  if (token_.kind != TokenKind::kInt) return unexpected("an int");
  const int64_t value = token_.as_int;
  ETB_TRY(advance());
  return value;
}

Result<uint32_t> TokenCursor::take_u32() {
  if (token_.kind != TokenKind::kInt || token_.as_int < 0 || token_.as_int > UINT32_MAX) {
    return unexpected("a number from 0 to 4294967295");
  }
  const auto value = static_cast<uint32_t>(token_.as_int);
  ETB_TRY(advance());
  return value;
}

Result<std::vector<uint8_t>> TokenCursor::take_hex() {
  if (token_.kind != TokenKind::kHex) return unexpected("0x and digits");
  const std::string_view digits = token_.text;
  if (digits.size() % 2 != 0) return fail("an odd number of digits");
  const auto value_of = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::vector<uint8_t> bytes(digits.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(value_of(digits[2 * i]) * 16 + value_of(digits[2 * i + 1]));
  }
  ETB_TRY(advance());
  return bytes;
}

Result<double> TokenCursor::take_float() {
  const Token token = token_;
  ETB_TRY(advance());
  if (token.kind == TokenKind::kFloat) return token.as_float;
  if (token.is_word("inf") || token.is_word("nan")) return take_float_after(token);
  return text_error(token.line, token.column,
                    fmt::format("expected a float, found '{}'", printable(token.text)));
}

// Parses "inf", "nan", or "nan(0x7ff8000000000001)" with the bits. `word` has been consumed.
Result<double> TokenCursor::take_float_after(const Token& word) {
  if (word.text == "inf") return std::numeric_limits<double>::infinity();
  constexpr uint64_t kQuietNan = 0x7ff8000000000000;
  ETB_ASSIGN(const bool has_bits, accept("("));
  if (!has_bits) return to_double(kQuietNan);
  ETB_ASSIGN(const std::vector<uint8_t> bytes, take_hex());
  if (bytes.size() != sizeof(uint64_t)) return fail("a nan has 16 digits");
  ETB_TRY(expect(")"));
  uint64_t bits = 0;
  for (const uint8_t byte : bytes) bits = bits << 8 | byte;
  const double value = to_double(bits);
  return std::isnan(value) ? Result<double>(value) : fail("these bits are no nan");
}

Result<std::string> TokenCursor::take_in_parentheses(TokenKind kind) {
  ETB_TRY(expect("("));
  ETB_ASSIGN(std::string text, take(kind, kind == TokenKind::kString ? "a string" : "a word"));
  ETB_TRY(expect(")"));
  return text;
}

}  // namespace etb::graph
