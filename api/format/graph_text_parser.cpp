// SPDX-License-Identifier: Apache-2.0
#include "api/format/graph_text_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "api/format/graph_rules.hpp"
#include "api/format/graph_words.hpp"
#include "api/format/json_text.hpp"

namespace etb::graph {
namespace {

// Returns 0 for a dtype whose elements are no whole bytes.
size_t element_nbytes(int32_t dtype) {
  switch (dtype) {
#define ETB_DTYPE(name, value, bits, text) \
  case value:                              \
    return (bits) % 8 == 0 ? (bits) / 8 : 0;
#include "etb/dtype.def"
#undef ETB_DTYPE
    default:
      return 0;
  }
}

template <class T>
void append(std::vector<uint8_t>& out, T value, size_t nbytes = sizeof(T)) {
  uint8_t bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.insert(out.end(), bytes, bytes + nbytes);
}

}  // namespace

Status TextParser::parse() {
  if (const char* mark = format::find_byte_order_mark(text_)) return text_error(1, 1, mark);
  ETB_TRY(find_graphs());
  ETB_TRY(advance());
  ETB_TRY(parse_header());
  for (uint32_t i = 0; token_.kind != TokenKind::kEnd; ++i) ETB_TRY(parse_graph(i));
  return {};
}

// Finds the names of all graphs first, because graphs refer to later ones. No string continues on the next
// line, so every line that begins like a graph is one.
Status TextParser::find_graphs() {
  for (size_t line = 0; line < text_.size();) {
    const size_t end = std::min(text_.find('\n', line), text_.size());
    const size_t first = std::min(text_.find_first_not_of(" \t\r", line), end);
    if (text_.substr(first, 5) == "graph") {
      Lexer lexer(text_.substr(first + 5, end - first - 5));
      ETB_ASSIGN(const Token token, lexer.next());
      if (token.kind == TokenKind::kGraphName) {
        graphs_.try_emplace(token.name, static_cast<uint32_t>(graphs_.size()));
      }
    }
    line = end + 1;
  }
  return {};
}

Status TextParser::parse_header() {
  ETB_TRY(expect_word("etg"));
  if (token_.kind == TokenKind::kInt && token_.as_int != ETB_GRAPH_VERSION) {
    return fail(fmt::format("version {}, this reader reads {}", token_.as_int, ETB_GRAPH_VERSION));
  }
  ETB_TRY(take_int());
  ETB_ASSIGN(const bool says_module, is_module_ ? accept_word("module") : Result<bool>(false));
  if (!says_module) ETB_TRY(expect_word("name"));
  ETB_ASSIGN(std::string name, take(TokenKind::kString, "a string"));
  std::string producer;
  ETB_ASSIGN(const bool has_producer, accept_word("producer"));
  if (has_producer) {
    ETB_ASSIGN(producer, take(TokenKind::kString, "a string"));
  }
  ETB_TRY(sink_.begin(std::move(name), std::move(producer)));
  while (token_.is_word("symbol")) ETB_TRY(parse_symbol());
  while (is_module_ && token_.is_word("op")) ETB_TRY(parse_op());
  while (token_.is_word("constant")) ETB_TRY(parse_constant());
  return {};
}

Status TextParser::parse_symbol() {
  ETB_TRY(advance());
  const TextPosition first = token_;
  SymbolDesc symbol;
  ETB_ASSIGN(symbol.name, take(TokenKind::kWord, "the name of a symbol"));
  ETB_ASSIGN(std::tie(symbol.min, symbol.max), parse_range());
  ETB_ASSIGN(const bool has_hint, accept_word("hint"));
  if (has_hint) {
    ETB_ASSIGN(symbol.hint, take_int());
  }
  return at(first, sink_.add_symbol(std::move(symbol)));
}

Status TextParser::parse_op() {
  ETB_TRY(advance());
  const TextPosition first = token_;
  ETB_ASSIGN(const std::string declaration, take(TokenKind::kString, "the declaration of an op"));
  return at(first, sink_.declare_op(declaration));
}

Status TextParser::parse_constant() {
  ETB_TRY(advance());
  const TextPosition first = token_;
  ConstantText constant;
  ETB_ASSIGN(constant.key, take(TokenKind::kString, "the key of a constant"));
  ETB_TRY(expect(":"));
  ETB_ASSIGN(constant.type, parse_type());
  ETB_ASSIGN(const bool has_digest, accept_word("sha256"));
  if (has_digest) {
    ETB_ASSIGN(const std::vector<uint8_t> digest, take_hex());
    constant.digest.emplace();
    if (digest.size() != constant.digest->size()) return fail("a sha256 digest has 64 digits");
    std::copy(digest.begin(), digest.end(), constant.digest->begin());
  }
  ETB_ASSIGN(const bool has_data, accept("="));
  if (!has_data && !has_digest) return unexpected("'sha256' or '='");
  if (has_data && !(is_module_ && token_.is("..."))) {
    ETB_ASSIGN(constant.data, token_.is("[") ? parse_elements(constant.type.dtype) : take_hex());
  } else if (has_data) {
    ETB_TRY(advance());
  }
  return at(first, sink_.add_constant(std::move(constant)));
}

// Parses "[1, 2.5]": the elements in row-major order.
Result<std::vector<uint8_t>> TextParser::parse_elements(int32_t dtype) {
  if (element_nbytes(dtype) == 0)
    return fail("elements of this dtype cannot be listed, expected 0x and digits");
  std::vector<uint8_t> bytes;
  ETB_TRY(expect("["));
  while (!token_.is("]")) {
    if (!bytes.empty()) ETB_TRY(expect(","));
    ETB_TRY(parse_element(dtype, bytes));
  }
  ETB_TRY(advance());
  return bytes;
}

// An element of another dtype than float32 and float64 is its bits, as an int.
Status TextParser::parse_element(int32_t dtype, std::vector<uint8_t>& out) {
  if (dtype != ETB_DTYPE_FLOAT32 && dtype != ETB_DTYPE_FLOAT64) {
    ETB_ASSIGN(const int64_t value, take_int());
    append(out, value, element_nbytes(dtype));
    return {};
  }
  double value = static_cast<double>(token_.as_int);
  if (token_.kind == TokenKind::kInt) {
    ETB_TRY(advance());
  } else {
    ETB_ASSIGN(value, take_float());
  }
  if (dtype == ETB_DTYPE_FLOAT64) {
    append(out, value);
  } else {
    append(out, static_cast<float>(value));
  }
  return {};
}

Status TextParser::parse_graph(uint32_t index) {
  ETB_TRY(expect_word("graph"));
  const Token name_token = token_;
  ETB_ASSIGN(std::string name, take(TokenKind::kGraphName, "@name of a graph"));
  const auto known = graphs_.find(name);
  if (known == graphs_.end() || known->second != index) {
    return text_error(name_token.line, name_token.column,
                      fmt::format("graph '{}' occurs twice, or does not begin its line", printable(name)));
  }
  ETB_TRY(expect("{"));
  sink_.begin_graph(std::move(name));
  while (true) {
    ETB_ASSIGN(const bool is_input, parse_input());
    if (!is_input) break;
  }
  while (!token_.is_word("return")) ETB_TRY(parse_node());
  ETB_TRY(parse_return());
  return expect("}");
}

Result<bool> TextParser::parse_input() {
  auto kind = token_.kind == TokenKind::kWord ? find_code(kInputKindWords, token_.text) : std::nullopt;
  if (is_module_ && token_.is_word("token")) kind = kTokenInput;
  if (!kind) return false;
  const TextPosition first = token_;
  ETB_TRY(advance());
  ETB_TRY(parse_definition());
  std::optional<uint32_t> constant;
  ETB_ASSIGN(const bool has_constant, accept("="));
  if (has_constant) {
    ETB_ASSIGN(constant, take_constant());
  }
  std::string target;
  ETB_ASSIGN(const bool has_target, accept_word("as"));
  if (has_target) {
    ETB_ASSIGN(target, take(TokenKind::kString, "a string"));
  }
  ETB_TRY(at(first, sink_.add_input(static_cast<uint32_t>(*kind), constant, std::move(target))));
  return true;
}

Status TextParser::parse_node() {
  NodeDesc node;
  ETB_TRY(parse_results(node));
  const TextPosition first = token_;
  ETB_ASSIGN(node.op, take(TokenKind::kWord, "the name of an op"));
  ETB_TRY(parse_arguments([&](std::string name) -> Status {
    ETB_ASSIGN(ArgumentDesc argument, parse_argument());
    argument.name = std::move(name);
    node.args.push_back(std::move(argument));
    return {};
  }));
  ETB_ASSIGN(const bool has_handle, accept("!"));
  if (has_handle) {
    ETB_ASSIGN(node.debug_handle, take_u32());
  }
  ETB_TRY(parse_source(node));
  return at(first, sink_.add_node(std::move(node)));
}

// Parses "%a: T, [%b: T, %c: T] =", or nothing.
Status TextParser::parse_results(NodeDesc& node) {
  if (token_.kind != TokenKind::kValueName && !token_.is("[")) return {};
  while (true) {
    ETB_ASSIGN(const bool is_list, accept("["));
    int32_t length = 0;
    while (!is_list || !token_.is("]")) {
      if (length != 0) ETB_TRY(expect(","));
      ETB_TRY(parse_definition());
      ++length;
      if (!is_list) break;
    }
    node.result_lengths.push_back(is_list ? length : -1);
    if (is_list) ETB_TRY(advance());
    ETB_ASSIGN(const bool has_more, accept(","));
    if (!has_more) return expect("=");
  }
}

Status TextParser::parse_source(NodeDesc& node) {
  SourceDesc source;
  ETB_ASSIGN(const bool has_file, accept_word("at"));
  if (has_file) {
    ETB_ASSIGN(source.file, take(TokenKind::kString, "a file name"));
    ETB_ASSIGN(const bool has_line, accept(":"));
    if (has_line) {
      ETB_ASSIGN(source.line, take_u32());
    }
  }
  ETB_ASSIGN(const bool has_function, accept_word("in"));
  if (has_function) {
    ETB_ASSIGN(source.function, take(TokenKind::kString, "the name of a function"));
  }
  ETB_ASSIGN(const bool has_module, accept_word("of"));
  if (has_module) {
    ETB_ASSIGN(source.module, take(TokenKind::kString, "the path of a module"));
  }
  node.source = std::move(source);
  return {};
}

Status TextParser::parse_return() {
  ETB_TRY(expect_word("return"));
  while (!token_.is("}")) {
    const TextPosition first = token_;
    ETB_ASSIGN(OutputText output, parse_output());
    ETB_TRY(at(first, sink_.add_output(std::move(output))));
    if (!token_.is("}")) ETB_TRY(expect(","));
  }
  return {};
}

Result<OutputText> TextParser::parse_output() {
  OutputText output;
  if (is_module_) {
    ETB_ASSIGN(output.value, parse_argument());
  } else {
    ETB_ASSIGN(const TextNames::Value value, take_value());
    output.value = value_arg(value.index);
  }
  ETB_ASSIGN(const bool is_update, accept_word("updates"));
  if (is_update) ETB_TRY(parse_update(output));
  if (is_module_ && token_.is_word("token")) {
    ETB_TRY(advance());
    output.kind = OutputText::Kind::kToken;
    ETB_ASSIGN(output.target, take(TokenKind::kString, "a string"));
  }
  return output;
}

// "updates" has been consumed. A module may name an input that it does not have.
Status TextParser::parse_update(OutputText& output) {
  const bool is_buffer = token_.is_word("buffer");
  if (is_module_ && (is_buffer || token_.is_word("user"))) {
    ETB_TRY(advance());
    output.kind = is_buffer ? OutputText::Kind::kBufferUpdate : OutputText::Kind::kInputUpdate;
    ETB_ASSIGN(output.target, take(TokenKind::kString, "a string"));
    return {};
  }
  ETB_ASSIGN(const TextNames::Value updated, take_value());
  output.kind = OutputText::Kind::kUpdate;
  output.updates = updated.index;
  return {};
}

Status TextParser::parse_definition() {
  const TextPosition first = token_;
  ValueText value;
  ETB_ASSIGN(value.name, take(TokenKind::kValueName, "%name of a value"));
  ETB_TRY(expect(":"));
  ETB_TRY(parse_value_type(value));
  const bool is_update = token_.is_word("update_of");
  if (is_update || token_.is_word("view_of")) {
    ETB_TRY(advance());
    ETB_ASSIGN(const TextNames::Value aliased, take_value());
    value.alias = is_update ? ETB_GRAPH_ALIAS_UPDATE : ETB_GRAPH_ALIAS_VIEW;
    value.alias_of = aliased.index;
  }
  return at(first, sink_.define(std::move(value)));
}

Status TextParser::parse_value_type(ValueText& value) {
  const auto kind = token_.kind == TokenKind::kWord ? find_code(kValueKindWords, token_.text) : std::nullopt;
  if (kind == ETB_GRAPH_VALUE_SYM_INT) return parse_sym_int(value);
  if (kind && kind != ETB_GRAPH_VALUE_TENSOR) {
    value.kind = static_cast<uint32_t>(*kind);
    return advance();
  }
  ETB_ASSIGN(value.type, parse_type());
  const auto scheme =
      token_.kind == TokenKind::kWord ? find_code(kQuantSchemeWords, token_.text) : std::nullopt;
  if (!scheme) return {};
  ETB_TRY(advance());
  ETB_ASSIGN(value.quant, parse_quant(static_cast<uint32_t>(*scheme)));
  return {};
}

Status TextParser::parse_sym_int(ValueText& value) {
  value.kind = ETB_GRAPH_VALUE_SYM_INT;
  ETB_TRY(advance());
  ETB_ASSIGN(const bool has_formula, accept("("));
  if (has_formula) {
    ETB_ASSIGN(value.formula, parse_formula());
    ETB_TRY(expect(")"));
  }
  if (!token_.is("{")) return {};
  ETB_ASSIGN(value.range, parse_range());
  return {};
}

Result<QuantDesc> TextParser::parse_quant(uint32_t scheme) {
  QuantDesc quant;
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

Status TextParser::parse_quant_field(QuantDesc& quant, const std::string& field) {
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
    const auto dtype = dtype_of_token();
    if (!dtype) return unexpected("a dtype");
    quant.expressed_dtype = static_cast<int32_t>(*dtype);
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

Result<uint32_t> TextParser::take_constant() {
  if (token_.kind != TokenKind::kString) return unexpected("the key of a constant");
  const auto constant = sink_.find_constant(token_.name);
  if (!constant) return fail(fmt::format("no constant '{}'", printable(token_.name)));
  ETB_TRY(advance());
  return *constant;
}

}  // namespace etb::graph
