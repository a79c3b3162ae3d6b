// SPDX-License-Identifier: Apache-2.0
// Internal to the text parser: types of values, with their formulas and quantisation. One function for each
// rule of docs/graph_image.md.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "api/format/graph_builder.hpp"
#include "api/format/graph_token_cursor.hpp"

namespace etb::graph {

class TypeParser : protected TokenCursor {
 protected:
  explicit TypeParser(std::string_view text) : TokenCursor(text) {}

  Result<uint32_t> parse_spec();
  Result<std::pair<int64_t, int64_t>> parse_range();
  Result<uint32_t> parse_expr();
  Result<QuantDraft> parse_quant(uint32_t scheme);
  Result<uint32_t> take_constant();

  Builder builder_{""};
  std::unordered_map<std::string, uint32_t> symbols_;
  std::unordered_map<std::string, uint32_t> constants_;

 private:
  Status parse_dim(SpecDraft& spec);
  Status parse_order(SpecDraft& spec);
  Result<uint32_t> parse_sum();
  Result<uint32_t> parse_product();
  Result<uint32_t> parse_operand();
  Result<uint32_t> parse_call(uint32_t kind);
  Status parse_quant_field(QuantDraft& quant, const std::string& field);

  uint32_t expr_term_count_ = 0;  // terms of the current formula
};

}  // namespace etb::graph
