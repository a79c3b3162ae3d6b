// SPDX-License-Identifier: Apache-2.0
#include "api/format/graph_type_parser.hpp"

#include <fmt/format.h>

#include "api/format/graph_rules.hpp"
#include "api/format/graph_words.hpp"

namespace etb::graph {
namespace {

std::optional<uint32_t> function_of(std::string_view word) {
  if (word == "mod") return ETB_GRAPH_EXPR_MOD;
  if (word == "min") return ETB_GRAPH_EXPR_MINIMUM;
  if (word == "max") return ETB_GRAPH_EXPR_MAXIMUM;
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> TypeParser::dtype_of_token() const {
  return token_.kind == TokenKind::kWord ? find_code(kDtypeWords, token_.text) : std::nullopt;
}

Result<TypeText> TypeParser::parse_type() {
  const auto dtype = dtype_of_token();
  if (!dtype) return unexpected("a type");
  ETB_TRY(advance());
  TypeText type;
  type.dtype = static_cast<int32_t>(*dtype);
  ETB_TRY(expect("["));
  ETB_ASSIGN(type.dims, parse_dims("]"));
  ETB_ASSIGN(const bool has_order, accept_word("order"));
  if (has_order) ETB_TRY(parse_order(type));
  if (is_module_ && token_.is_word("strides")) {
    ETB_TRY(advance());
    ETB_TRY(expect("("));
    ETB_ASSIGN(type.strides, parse_dims(")"));
  }
  return type;
}

Result<std::vector<DimText>> TypeParser::parse_dims(std::string_view close) {
  std::vector<DimText> dims;
  dims.reserve(4);  // most tensors have fewer dimensions or as many
  while (!token_.is(close)) {
    if (!dims.empty()) ETB_TRY(expect(","));
    if (dims.size() == ETB_MAX_RANK) return fail(fmt::format("more than {} dimensions", ETB_MAX_RANK));
    ETB_ASSIGN(const DimText dim, parse_dim());
    dims.push_back(dim);
  }
  ETB_TRY(advance());
  return dims;
}

// Parses "10", or a formula or "?" and its range: "4*s0{8..40}". In a module the symbols have the ranges.
Result<DimText> TypeParser::parse_dim() {
  DimText dim;
  ETB_ASSIGN(const bool is_anonymous, accept("?"));
  if (!is_anonymous) {
    if (token_.kind == TokenKind::kInt && !is_at_formula() && following_char() != '{') {
      ETB_ASSIGN(dim.size, take_int());
      return dim;
    }
    ETB_ASSIGN(dim.formula, parse_formula());
  }
  if (is_anonymous || !is_module_ || token_.is("{")) {
    ETB_ASSIGN(dim.range, parse_range());
  }
  return dim;
}

Status TypeParser::parse_order(TypeText& type) {
  ETB_TRY(expect("("));
  while (!token_.is(")")) {
    if (!type.order.empty()) ETB_TRY(expect(","));
    ETB_ASSIGN(const uint32_t dim, take_u32());
    if (dim >= type.dims.size()) return fail(fmt::format("dimension {} of {}", dim, type.dims.size()));
    type.order.push_back(static_cast<uint8_t>(dim));
  }
  return advance();
}

// Parses "{2..10}". Either end may be missing.
Result<NumberRange> TypeParser::parse_range() {
  NumberRange range(INT64_MIN, ETB_GRAPH_UNBOUNDED);
  ETB_TRY(expect("{"));
  if (!token_.is("..")) {
    ETB_ASSIGN(range.first, take_int());
  }
  ETB_TRY(expect(".."));
  if (!token_.is("}")) {
    ETB_ASSIGN(range.second, take_int());
  }
  ETB_TRY(expect("}"));
  return range;
}

bool TypeParser::is_at_formula() const {
  if (token_.is("(")) return true;
  if (token_.kind == TokenKind::kInt) {
    const char next = following_char();
    return next == '+' || next == '*' || next == '/';
  }
  if (token_.kind != TokenKind::kWord) return false;
  return names_.terms().find_symbol(token_.text) || (function_of(token_.text) && following_char() == '(');
}

Result<uint32_t> TypeParser::parse_formula() {
  term_count_ = 0;
  return parse_sum();
}

Result<uint32_t> TypeParser::parse_sum() {
  ETB_ASSIGN(uint32_t sum, parse_product());
  while (token_.is("+")) {
    ETB_TRY(advance());
    ETB_ASSIGN(const uint32_t right, parse_product());
    sum = names_.terms().add_term(ETB_GRAPH_EXPR_ADD, sum, right);
  }
  return sum;
}

Result<uint32_t> TypeParser::parse_product() {
  ETB_ASSIGN(uint32_t product, parse_operand());
  while (token_.is("*") || token_.is("//")) {
    const uint32_t kind = token_.is("*") ? ETB_GRAPH_EXPR_MUL : ETB_GRAPH_EXPR_FLOOR_DIV;
    ETB_TRY(advance());
    ETB_ASSIGN(const uint32_t right, parse_operand());
    product = names_.terms().add_term(kind, product, right);
  }
  return product;
}

// The limit of terms also limits the depth of this recursion and of every other one over the formula.
Result<uint32_t> TypeParser::parse_operand() {
  if (++term_count_ > ETB_GRAPH_MAX_EXPR_TERMS) {
    return fail(fmt::format("a formula of more than {} terms", ETB_GRAPH_MAX_EXPR_TERMS));
  }
  if (token_.kind == TokenKind::kInt) {
    ETB_ASSIGN(const int64_t value, take_int());
    return names_.terms().add_number(value);
  }
  if (token_.is("(")) {
    ETB_TRY(advance());
    ETB_ASSIGN(const uint32_t inner, parse_sum());
    ETB_TRY(expect(")"));
    return inner;
  }
  if (token_.kind != TokenKind::kWord) return unexpected("a number or a symbol");
  if (const auto function = function_of(token_.text)) return parse_call(*function);
  const auto symbol = names_.terms().find_symbol(token_.text);
  if (!symbol) return unexpected("a number or a symbol");
  ETB_TRY(advance());
  return *symbol;
}

Result<uint32_t> TypeParser::parse_call(uint32_t kind) {
  ETB_TRY(advance());
  ETB_TRY(expect("("));
  ETB_ASSIGN(const uint32_t left, parse_sum());
  ETB_TRY(expect(","));
  ETB_ASSIGN(const uint32_t right, parse_sum());
  ETB_TRY(expect(")"));
  return names_.terms().add_term(kind, left, right);
}

}  // namespace etb::graph
