// SPDX-License-Identifier: Apache-2.0
#include "api/format/graph_type_parser.hpp"

#include <fmt/format.h>

#include <tuple>

#include "api/format/graph_rules.hpp"
#include "api/format/graph_words.hpp"

namespace etb::graph {

Result<uint32_t> TypeParser::parse_spec() {
  const auto dtype = token_.kind == TokenKind::kWord ? find_code(kDtypeWords, token_.text) : std::nullopt;
  if (!dtype) return unexpected("a type");
  ETB_TRY(advance());
  SpecDraft spec;
  spec.dtype = *dtype;
  ETB_TRY(expect("["));
  while (!token_.is("]")) {
    if (!spec.sizes.empty()) ETB_TRY(expect(","));
    if (spec.sizes.size() == ETB_MAX_RANK) return fail(fmt::format("more than {} dimensions", ETB_MAX_RANK));
    ETB_TRY(parse_dim(spec));
  }
  ETB_TRY(advance());
  ETB_ASSIGN(const bool has_order, accept_word("order"));
  if (has_order) ETB_TRY(parse_order(spec));
  return builder_.add_spec(std::move(spec));
}

// Parses "10", or a formula or "?" and its range: "4*s0{8..40}".
Status TypeParser::parse_dim(SpecDraft& spec) {
  DynamicDimDraft dim;
  dim.dim = static_cast<uint32_t>(spec.sizes.size());
  ETB_ASSIGN(const bool is_anonymous, accept("?"));
  int64_t size = 0;
  if (!is_anonymous) {
    size = token_.as_int;
    const bool is_int = token_.kind == TokenKind::kInt;
    ETB_ASSIGN(dim.expr, parse_expr());
    if (is_int && expr_term_count_ == 1 && !token_.is("{")) {
      spec.sizes.push_back(size);
      return {};
    }
  }
  ETB_ASSIGN(std::tie(dim.min, size), parse_range());
  spec.sizes.push_back(size == ETB_GRAPH_UNBOUNDED ? -1 : size);
  spec.dynamic_dims.push_back(dim);
  return {};
}

Status TypeParser::parse_order(SpecDraft& spec) {
  ETB_TRY(expect("("));
  while (!token_.is(")")) {
    if (!spec.dim_order.empty()) ETB_TRY(expect(","));
    ETB_ASSIGN(const uint32_t dim, take_u32());
    if (dim >= spec.sizes.size()) return fail(fmt::format("dimension {} of {}", dim, spec.sizes.size()));
    spec.dim_order.push_back(static_cast<uint8_t>(dim));
  }
  return advance();
}

// Parses "{2..10}". Either end may be missing.
Result<std::pair<int64_t, int64_t>> TypeParser::parse_range() {
  std::pair<int64_t, int64_t> range(INT64_MIN, ETB_GRAPH_UNBOUNDED);
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

Result<uint32_t> TypeParser::parse_expr() {
  expr_term_count_ = 0;
  return parse_sum();
}

Result<uint32_t> TypeParser::parse_sum() {
  ETB_ASSIGN(uint32_t sum, parse_product());
  while (token_.is("+")) {
    ETB_TRY(advance());
    ETB_ASSIGN(const uint32_t right, parse_product());
    sum = builder_.add_expr(ETB_GRAPH_EXPR_ADD, sum, right);
  }
  return sum;
}

Result<uint32_t> TypeParser::parse_product() {
  ETB_ASSIGN(uint32_t product, parse_operand());
  while (token_.is("*") || token_.is("//")) {
    const uint32_t kind = token_.is("*") ? ETB_GRAPH_EXPR_MUL : ETB_GRAPH_EXPR_FLOOR_DIV;
    ETB_TRY(advance());
    ETB_ASSIGN(const uint32_t right, parse_operand());
    product = builder_.add_expr(kind, product, right);
  }
  return product;
}

// The limit of terms also limits the depth of this recursion and of every other one over the formula.
Result<uint32_t> TypeParser::parse_operand() {
  if (++expr_term_count_ > ETB_GRAPH_MAX_EXPR_TERMS) {
    return fail(fmt::format("a formula of more than {} terms", ETB_GRAPH_MAX_EXPR_TERMS));
  }
  if (token_.kind == TokenKind::kInt) {
    ETB_ASSIGN(const int64_t value, take_int());
    return builder_.add_int_expr(value);
  }
  if (token_.is("(")) {
    ETB_TRY(advance());
    ETB_ASSIGN(const uint32_t inner, parse_sum());
    ETB_TRY(expect(")"));
    return inner;
  }
  if (token_.is_word("mod")) return parse_call(ETB_GRAPH_EXPR_MOD);
  if (token_.is_word("min")) return parse_call(ETB_GRAPH_EXPR_MINIMUM);
  if (token_.is_word("max")) return parse_call(ETB_GRAPH_EXPR_MAXIMUM);
  const auto symbol = symbols_.find(std::string(token_.text));
  if (token_.kind != TokenKind::kWord || symbol == symbols_.end()) return unexpected("a number or a symbol");
  ETB_TRY(advance());
  return builder_.add_symbol_expr(symbol->second);
}

Result<uint32_t> TypeParser::parse_call(uint32_t kind) {
  ETB_TRY(advance());
  ETB_TRY(expect("("));
  ETB_ASSIGN(const uint32_t left, parse_sum());
  ETB_TRY(expect(","));
  ETB_ASSIGN(const uint32_t right, parse_sum());
  ETB_TRY(expect(")"));
  return builder_.add_expr(kind, left, right);
}

Result<QuantDraft> TypeParser::parse_quant(uint32_t scheme) {
  QuantDraft quant;
  quant.scheme = scheme;
  ETB_TRY(expect("("));
  for (bool is_first = true; !token_.is(")"); is_first = false) {
    if (!is_first) ETB_TRY(expect(","));
    ETB_ASSIGN(const std::string field, take(TokenKind::kWord, "a field of the quantisation"));
    ETB_TRY(expect("="));
    ETB_TRY(parse_quant_field(quant, field));
  }
  ETB_TRY(advance());
  return quant;
}

Status TypeParser::parse_quant_field(QuantDraft& quant, const std::string& field) {
  if (field == "scale") {
    ETB_ASSIGN(quant.scale, take_float());
  } else if (field == "zero_point") {
    ETB_ASSIGN(quant.zero_point, take_int());
  } else if (field == "min") {
    ETB_ASSIGN(quant.quant_min, take_int());
  } else if (field == "max") {
    ETB_ASSIGN(quant.quant_max, take_int());
  } else if (field == "axis") {
    ETB_ASSIGN(quant.axis, take_u32());
  } else if (field == "scales") {
    ETB_ASSIGN(quant.scales, take_constant());
  } else if (field == "zero_points") {
    ETB_ASSIGN(quant.zero_points, take_constant());
  } else if (field == "codec") {
    ETB_ASSIGN(quant.codec, take(TokenKind::kString, "a string"));
  } else if (field == "data") {
    ETB_ASSIGN(quant.codec_data, take_hex());
  } else if (field == "real") {
    const auto dtype = token_.kind == TokenKind::kWord ? find_code(kDtypeWords, token_.text) : std::nullopt;
    if (!dtype) return unexpected("a dtype");
    quant.expressed_dtype = *dtype;
    return advance();
  } else if (field == "blocks") {
    ETB_TRY(expect("["));
    while (!token_.is("]")) {
      if (!quant.block_sizes.empty()) ETB_TRY(expect(","));
      ETB_ASSIGN(const int64_t size, take_int());
      quant.block_sizes.push_back(size);
    }
    return advance();
  } else {
    return fail(fmt::format("unknown field '{}' of the quantisation", field));
  }
  return {};
}

Result<uint32_t> TypeParser::take_constant() {
  const auto constant = constants_.find(token_.name);
  if (token_.kind != TokenKind::kString) return unexpected("the key of a constant");
  if (constant == constants_.end()) return fail(fmt::format("no constant '{}'", printable(token_.name)));
  ETB_TRY(advance());
  return constant->second;
}

}  // namespace etb::graph
