// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "api/format/graph_rules.hpp"
#include "api/format/graph_text.hpp"
#include "api/format/graph_type_parser.hpp"
#include "api/format/graph_words.hpp"
#include "api/format/json_text.hpp"

namespace etb::graph {
namespace {

// A recursive descent parser, with one function for each rule of docs/graph_image.md.
class Parser : TypeParser {
 public:
  explicit Parser(std::string_view text) : TypeParser(text), text_(text) {}
  Result<ImageBytes> parse();

 private:
  struct Defined {
    uint32_t index;
    uint32_t kind;
  };

  Status find_graphs();
  Status parse_header();
  Status parse_symbol();
  Status parse_constant();
  Status parse_graph(uint32_t index);
  Result<bool> parse_input(GraphBuilder& graph);
  Status parse_node(GraphBuilder& graph);
  Status parse_node_outputs(NodeDraft& node);
  Status parse_source(NodeDraft& node);
  Status parse_return(GraphBuilder& graph);
  Result<ValueDraft> parse_definition();
  Status parse_value_type(ValueDraft& value);
  Status parse_sym_int(ValueDraft& value);
  Result<ArgumentDraft> parse_argument();
  Result<ArgumentDraft> parse_unnamed_argument();
  Result<ArgumentDraft> parse_argument_word(const Token& word);
  Result<ArgumentDraft> parse_empty_list(uint32_t kind);
  Result<ArgumentDraft> parse_list();
  Status parse_list_item(ArgumentDraft& list);
  Result<Defined> take_value();

  std::string_view text_;
  std::unordered_map<std::string, uint32_t> graphs_;
  std::unordered_map<std::string, Defined> values_;  // values of the current graph
  uint32_t value_count_ = 0;                         // values of the current graph so far
};

Result<ImageBytes> Parser::parse() {
  ETB_TRY(find_graphs());
  ETB_TRY(advance());
  ETB_TRY(parse_header());
  for (uint32_t i = 0; token_.kind != TokenKind::kEnd; ++i) ETB_TRY(parse_graph(i));
  return builder_.finish();
}

// Finds the names of all graphs first, because graphs refer to later ones. No string continues on the next
// line, so every line that begins like a graph is one.
Status Parser::find_graphs() {
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

Status Parser::parse_header() {
  ETB_TRY(expect_word("etg"));
  if (token_.kind == TokenKind::kInt && token_.as_int != ETB_GRAPH_VERSION) {
    return fail(fmt::format("version {}, this reader reads {}", token_.as_int, ETB_GRAPH_VERSION));
  }
  ETB_TRY(take_int());
  ETB_TRY(expect_word("name"));
  ETB_ASSIGN(std::string name, take(TokenKind::kString, "a string"));
  std::string producer;
  ETB_ASSIGN(const bool has_producer, accept_word("producer"));
  if (has_producer) {
    ETB_ASSIGN(producer, take(TokenKind::kString, "a string"));
  }
  builder_ = Builder(std::move(name), std::move(producer));
  while (token_.is_word("symbol")) ETB_TRY(parse_symbol());
  while (token_.is_word("constant")) ETB_TRY(parse_constant());
  return {};
}

Status Parser::parse_symbol() {
  ETB_TRY(advance());
  SymbolDraft symbol;
  ETB_ASSIGN(symbol.name, take(TokenKind::kWord, "the name of a symbol"));
  ETB_ASSIGN(std::tie(symbol.min, symbol.max), parse_range());
  ETB_ASSIGN(const bool has_hint, accept_word("hint"));
  if (has_hint) {
    ETB_ASSIGN(symbol.hint, take_int());
  }
  const std::string name = symbol.name;
  symbols_.try_emplace(name, builder_.add_symbol(std::move(symbol)));
  return {};
}

Status Parser::parse_constant() {
  ETB_TRY(advance());
  ConstantDraft constant;
  ETB_ASSIGN(constant.key, take(TokenKind::kString, "the key of a constant"));
  ETB_TRY(expect(":"));
  ETB_ASSIGN(constant.spec, parse_spec());
  ETB_ASSIGN(const bool has_digest, accept_word("sha256"));
  if (has_digest) {
    ETB_ASSIGN(const std::vector<uint8_t> digest, take_hex());
    constant.digest.emplace();
    if (digest.size() != constant.digest->size()) return fail("a sha256 digest has 64 digits");
    std::copy(digest.begin(), digest.end(), constant.digest->begin());
  }
  ETB_ASSIGN(const bool has_data, accept("="));
  if (has_data) {
    ETB_ASSIGN(constant.data, take_hex());
  } else if (!has_digest) {
    return unexpected("'sha256' or '='");
  }
  const std::string key = constant.key;
  constants_.try_emplace(key, builder_.add_constant(std::move(constant)));
  return {};
}

Status Parser::parse_graph(uint32_t index) {
  ETB_TRY(expect_word("graph"));
  const Token name_token = token_;
  ETB_ASSIGN(std::string name, take(TokenKind::kGraphName, "@name of a graph"));
  const auto known = graphs_.find(name);
  if (known == graphs_.end() || known->second != index) {
    return text_error(name_token.line, name_token.column,
                      fmt::format("graph '{}' occurs twice, or does not begin its line", printable(name)));
  }
  ETB_TRY(expect("{"));
  GraphBuilder& graph = builder_.add_graph(std::move(name));
  values_.clear();
  value_count_ = 0;
  while (true) {
    ETB_ASSIGN(const bool is_input, parse_input(graph));
    if (!is_input) break;
  }
  while (!token_.is_word("return")) ETB_TRY(parse_node(graph));
  ETB_TRY(parse_return(graph));
  return expect("}");
}

Result<bool> Parser::parse_input(GraphBuilder& graph) {
  const auto kind = token_.kind == TokenKind::kWord ? find_code(kInputKindWords, token_.text) : std::nullopt;
  if (!kind) return false;
  ETB_TRY(advance());
  InputDraft input;
  input.kind = *kind;
  ETB_ASSIGN(input.value, parse_definition());
  ETB_ASSIGN(const bool has_constant, accept("="));
  if (has_constant) {
    ETB_ASSIGN(input.constant, take_constant());
  }
  ETB_ASSIGN(const bool has_target, accept_word("as"));
  if (has_target) {
    ETB_ASSIGN(input.target, take(TokenKind::kString, "a string"));
  }
  graph.add_input(std::move(input));
  return true;
}

Status Parser::parse_node(GraphBuilder& graph) {
  NodeDraft node;
  ETB_TRY(parse_node_outputs(node));
  ETB_ASSIGN(node.op, take(TokenKind::kWord, "the name of an op"));
  ETB_TRY(expect("("));
  while (!token_.is(")")) {
    if (!node.args.empty()) ETB_TRY(expect(","));
    ETB_ASSIGN(ArgumentDraft arg, parse_argument());
    node.args.push_back(std::move(arg));
  }
  ETB_TRY(advance());
  ETB_ASSIGN(const bool has_handle, accept("!"));
  if (has_handle) {
    ETB_ASSIGN(node.debug_handle, take_u32());
  }
  ETB_TRY(parse_source(node));
  graph.add_node(std::move(node));
  return {};
}

// Parses "%a: T, [%b: T, %c: T] =", or nothing.
Status Parser::parse_node_outputs(NodeDraft& node) {
  if (token_.kind != TokenKind::kValueName && !token_.is("[")) return {};
  while (true) {
    ETB_ASSIGN(const bool is_list, accept("["));
    int32_t length = 0;
    while (!is_list || !token_.is("]")) {
      if (length != 0) ETB_TRY(expect(","));
      ETB_ASSIGN(ValueDraft value, parse_definition());
      node.outputs.push_back(std::move(value));
      ++length;
      if (!is_list) break;
    }
    node.result_lengths.push_back(is_list ? length : -1);
    if (is_list) ETB_TRY(advance());
    ETB_ASSIGN(const bool has_more, accept(","));
    if (!has_more) return expect("=");
  }
}

Status Parser::parse_source(NodeDraft& node) {
  SourceDraft source;
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

Status Parser::parse_return(GraphBuilder& graph) {
  ETB_TRY(expect_word("return"));
  while (!token_.is("}")) {
    ETB_ASSIGN(const Defined value, take_value());
    ETB_ASSIGN(const bool updates, accept_word("updates"));
    std::optional<uint32_t> input;
    if (updates) {
      ETB_ASSIGN(const Defined updated, take_value());
      input = updated.index;
    }
    graph.add_output(value.index, input);
    if (!token_.is("}")) ETB_TRY(expect(","));
  }
  return {};
}

Result<ValueDraft> Parser::parse_definition() {
  ValueDraft value;
  ETB_ASSIGN(value.name, take(TokenKind::kValueName, "%name of a value"));
  ETB_TRY(expect(":"));
  ETB_TRY(parse_value_type(value));
  const bool is_update = token_.is_word("update_of");
  if (is_update || token_.is_word("view_of")) {
    ETB_TRY(advance());
    ETB_ASSIGN(const Defined aliased, take_value());
    value.alias = is_update ? ETB_GRAPH_ALIAS_UPDATE : ETB_GRAPH_ALIAS_VIEW;
    value.alias_of = aliased.index;
  }
  values_.try_emplace(value.name, Defined{value_count_++, value.kind});
  return value;
}

Status Parser::parse_value_type(ValueDraft& value) {
  const auto kind = token_.kind == TokenKind::kWord ? find_code(kValueKindWords, token_.text) : std::nullopt;
  if (kind == ETB_GRAPH_VALUE_SYM_INT) return parse_sym_int(value);
  if (kind && kind != ETB_GRAPH_VALUE_TENSOR) {
    value.kind = *kind;
    return advance();
  }
  ETB_ASSIGN(value.spec, parse_spec());
  const auto scheme =
      token_.kind == TokenKind::kWord ? find_code(kQuantSchemeWords, token_.text) : std::nullopt;
  if (!scheme) return {};
  ETB_TRY(advance());
  ETB_ASSIGN(QuantDraft quant, parse_quant(*scheme));
  value.quant = builder_.add_quant(std::move(quant));
  return {};
}

Status Parser::parse_sym_int(ValueDraft& value) {
  value.kind = ETB_GRAPH_VALUE_SYM_INT;
  ETB_TRY(advance());
  ETB_ASSIGN(const bool has_expr, accept("("));
  if (has_expr) {
    ETB_ASSIGN(value.expr, parse_expr());
    ETB_TRY(expect(")"));
  }
  if (!token_.is("{")) return {};
  ETB_ASSIGN(std::tie(value.min, value.max), parse_range());
  return {};
}

// Parses "name=value" or "value". A name that is not a word is quoted, so only the '=' after it decides.
Result<ArgumentDraft> Parser::parse_argument() {
  if (token_.kind != TokenKind::kWord && token_.kind != TokenKind::kString) return parse_unnamed_argument();
  const Token first = token_;
  ETB_TRY(advance());
  ETB_ASSIGN(const bool is_named, accept("="));
  if (!is_named)
    return first.kind == TokenKind::kString ? string_arg(first.name) : parse_argument_word(first);
  ETB_ASSIGN(ArgumentDraft arg, parse_unnamed_argument());
  arg.name = first.kind == TokenKind::kString ? first.name : std::string(first.text);
  return arg;
}

Result<ArgumentDraft> Parser::parse_unnamed_argument() {
  const Token token = token_;
  switch (token.kind) {
    case TokenKind::kValueName: {
      ETB_ASSIGN(const Defined value, take_value());
      return value_arg(value.index);
    }
    case TokenKind::kGraphName: {
      const auto graph = graphs_.find(token.name);
      if (graph == graphs_.end()) return fail(fmt::format("no graph '{}'", printable(token.name)));
      ETB_TRY(advance());
      return graph_arg(graph->second);
    }
    case TokenKind::kInt:
      ETB_TRY(advance());
      return int_arg(token.as_int);
    case TokenKind::kFloat:
      ETB_TRY(advance());
      return float_arg(token.as_float);
    case TokenKind::kString:
      ETB_TRY(advance());
      return string_arg(token.name);
    case TokenKind::kWord:
      ETB_TRY(advance());
      return parse_argument_word(token);
    default:
      return token.is("[") ? parse_list() : unexpected("an argument");
  }
}

// `word` has been consumed.
Result<ArgumentDraft> Parser::parse_argument_word(const Token& word) {
  const std::string_view text = word.text;
  if (text == "none") return none_arg();
  if (text == "true" || text == "false") return bool_arg(text == "true");
  if (text == "inf" || text == "nan") {
    ETB_ASSIGN(const double value, take_float_after(word));
    return float_arg(value);
  }
  if (const auto dtype = find_code(kDtypeWords, text)) return code_arg(ETB_GRAPH_ARGUMENT_DTYPE, *dtype);
  if (text == "ints") return parse_empty_list(ETB_GRAPH_ARGUMENT_INTS);
  if (text == "floats") return parse_empty_list(ETB_GRAPH_ARGUMENT_FLOATS);
  if (text == "bools") return parse_empty_list(ETB_GRAPH_ARGUMENT_BOOLS);
  if (text == "strings") return parse_empty_list(ETB_GRAPH_ARGUMENT_STRINGS);
  if (text == "values") return parse_empty_list(ETB_GRAPH_ARGUMENT_VALUES);
  if (text == "device") {
    ETB_ASSIGN(std::string device, take_in_parentheses(TokenKind::kString));
    return device_arg(std::move(device));
  }
  if (text == "layout") {
    ETB_ASSIGN(const std::string layout, take_in_parentheses(TokenKind::kWord));
    if (const auto code = find_code(kLayoutWords, layout)) return code_arg(ETB_GRAPH_ARGUMENT_LAYOUT, *code);
  }
  if (text == "memory_format") {
    ETB_ASSIGN(const std::string format, take_in_parentheses(TokenKind::kWord));
    if (const auto code = find_code(kMemoryFormatWords, format))
      return code_arg(ETB_GRAPH_ARGUMENT_MEMORY_FORMAT, *code);
  }
  if (text == "complex") {
    ETB_TRY(expect("("));
    ETB_ASSIGN(const double real, take_float());
    ETB_TRY(expect(","));
    ETB_ASSIGN(const double imaginary, take_float());
    ETB_TRY(expect(")"));
    return complex_arg(real, imaginary);
  }
  return text_error(word.line, word.column, fmt::format("unknown argument '{}'", printable(text)));
}

Result<ArgumentDraft> Parser::parse_empty_list(uint32_t kind) {
  ETB_TRY(expect("["));
  ETB_TRY(expect("]"));
  ArgumentDraft list;
  list.kind = kind;
  return list;
}

// A list has the kind of its first item with a kind. The parser rejects mixtures, because the
// verifier would not notice them.
Result<ArgumentDraft> Parser::parse_list() {
  ArgumentDraft list;
  ETB_TRY(expect("["));
  while (true) {
    ETB_TRY(parse_list_item(list));
    if (token_.is("]")) break;
    ETB_TRY(expect(","));
  }
  ETB_TRY(advance());
  if (list.kind == ETB_GRAPH_ARGUMENT_SYM_INTS)
    return sym_ints_arg(std::move(list.values), std::move(list.ints));
  return list;
}

// Adds the current item. Ints and symbolic ints may be mixed. All other kinds may not.
Status Parser::parse_list_item(ArgumentDraft& list) {
  const Token token = token_;
  const auto add = [&](uint32_t kind, auto& items, auto item) -> Status {
    if (list.kind != ETB_GRAPH_ARGUMENT_NONE && list.kind != kind) {
      return text_error(token.line, token.column, "a list of different kinds");
    }
    list.kind = kind;
    items.push_back(std::move(item));
    return {};
  };
  if (token.kind == TokenKind::kValueName) {
    ETB_ASSIGN(const Defined value, take_value());
    if (value.kind != ETB_GRAPH_VALUE_SYM_INT)
      return add(ETB_GRAPH_ARGUMENT_VALUES, list.values, value.index);
    list.ints.push_back(0);
    return add(ETB_GRAPH_ARGUMENT_SYM_INTS, list.values, value.index);
  }
  ETB_TRY(advance());
  switch (token.kind) {
    case TokenKind::kInt:
      list.values.push_back(ETB_GRAPH_NONE);
      return add(ETB_GRAPH_ARGUMENT_SYM_INTS, list.ints, token.as_int);
    case TokenKind::kFloat:
      return add(ETB_GRAPH_ARGUMENT_FLOATS, list.floats, token.as_float);
    case TokenKind::kString:
      return add(ETB_GRAPH_ARGUMENT_STRINGS, list.strings, token.name);
    default:
      break;
  }
  if (token.is_word("none")) return add(ETB_GRAPH_ARGUMENT_VALUES, list.values, ETB_GRAPH_NONE);
  if (token.is_word("true") || token.is_word("false")) {
    return add(ETB_GRAPH_ARGUMENT_BOOLS, list.ints, int64_t{token.text == "true"});
  }
  if (token.is_word("inf") || token.is_word("nan")) {
    ETB_ASSIGN(const double value, take_float_after(token));
    return add(ETB_GRAPH_ARGUMENT_FLOATS, list.floats, value);
  }
  return text_error(token.line, token.column,
                    fmt::format("expected an item of a list, found '{}'", printable(token.text)));
}

Result<Parser::Defined> Parser::take_value() {
  if (token_.kind != TokenKind::kValueName) return unexpected("%name of a value");
  const auto value = values_.find(token_.name);
  if (value == values_.end())
    return fail(fmt::format("value '{}' is not defined above", printable(token_.name)));
  ETB_TRY(advance());
  return value->second;
}

}  // namespace

Result<ImageBytes> parse_graph_text(std::string_view text) {
  if (const char* mark = format::find_byte_order_mark(text)) return text_error(1, 1, mark);
  return Parser(text).parse();
}

}  // namespace etb::graph
