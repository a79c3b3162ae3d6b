// SPDX-License-Identifier: Apache-2.0
#include "api/format/graph_argument_parser.hpp"

#include <fmt/format.h>

#include "api/format/graph_rules.hpp"
#include "api/format/graph_words.hpp"

namespace etb::graph {

// A name that is not a word is quoted, so only the '=' after it decides.
Result<std::string> ArgumentParser::parse_argument_name() {
  const bool can_be_name = token_.kind == TokenKind::kWord || token_.kind == TokenKind::kString;
  if (!can_be_name || following_char() != '=') return std::string();
  ETB_ASSIGN(std::string name, take(token_.kind, "a name"));
  ETB_TRY(expect("="));
  return name;
}

Result<ArgumentDesc> ArgumentParser::parse_argument() {
  if (is_module_ && is_at_formula()) {
    ArgumentDesc argument;
    argument.kind = kTermArgument;
    ETB_ASSIGN(argument.value, parse_formula());
    return argument;
  }
  const Token token = token_;
  switch (token.kind) {
    case TokenKind::kValueName: {
      ETB_ASSIGN(const TextNames::Value value, take_value());
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
      return parse_word(token);
    default:
      return token.is("[") ? parse_list() : unexpected("an argument");
  }
}

// `word` has been consumed.
Result<ArgumentDesc> ArgumentParser::parse_word(const Token& word) {
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

Result<ArgumentDesc> ArgumentParser::parse_empty_list(uint32_t kind) {
  ETB_TRY(expect("["));
  ETB_TRY(expect("]"));
  ArgumentDesc list;
  list.kind = kind;
  return list;
}

// A list has the kind of its first item with a kind. The parser rejects mixtures, because the
// verifier would not notice them.
Result<ArgumentDesc> ArgumentParser::parse_list() {
  ArgumentDesc list;
  ETB_TRY(expect("["));
  if (is_module_ && token_.is("]")) {
    ETB_TRY(advance());
    list.kind = kEmptyListArgument;
    return list;
  }
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
Status ArgumentParser::parse_list_item(ArgumentDesc& list) {
  const Token token = token_;
  const auto add = [&](uint32_t kind, auto& items, auto item) -> Status {
    if (list.kind != ETB_GRAPH_ARGUMENT_NONE && list.kind != kind) {
      return text_error(token.line, token.column, "a list of different kinds");
    }
    list.kind = kind;
    items.push_back(std::move(item));
    return {};
  };
  if (is_module_ && is_at_formula()) {
    ETB_ASSIGN(const uint32_t term, parse_formula());
    list.ints.push_back(0);
    return add(ETB_GRAPH_ARGUMENT_SYM_INTS, list.values, term);
  }
  if (token.kind == TokenKind::kValueName) {
    ETB_ASSIGN(const TextNames::Value value, take_value());
    if (!value.is_number) return add(ETB_GRAPH_ARGUMENT_VALUES, list.values, value.index);
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

Result<TextNames::Value> ArgumentParser::take_value() {
  if (token_.kind != TokenKind::kValueName) return unexpected("%name of a value");
  ETB_ASSIGN(const TextNames::Value value, at(token_, names_.find_value(token_.name)));
  ETB_TRY(advance());
  return value;
}

}  // namespace etb::graph
