// SPDX-License-Identifier: Apache-2.0
// Parses arguments of nodes in graph texts: literals, values, graphs, lists.
#pragma once

#include <string>
#include <string_view>

#include "api/format/graph_builder.hpp"
#include "api/format/graph_type_parser.hpp"

namespace etb::graph {

// Kinds of ArgumentDesc that only texts have.
inline constexpr uint32_t kTermArgument = 0x100;       // `value` is a term (TextNames); in modules only
inline constexpr uint32_t kEmptyListArgument = 0x101;  // "[]", whose kind a schema decides; in modules only

class ArgumentParser : protected TypeParser {
 protected:
  using TypeParser::TypeParser;

  // Parses "(argument, name=argument, ...)". Calls take(name) at each argument, which parses it; `name` is
  // empty if the argument has none.
  template <class Take>
  Status parse_arguments(Take take_argument) {
    ETB_TRY(expect("("));
    for (bool is_first = true; !token_.is(")"); is_first = false) {
      if (!is_first) ETB_TRY(expect(","));
      ETB_ASSIGN(std::string name, parse_argument_name());
      ETB_TRY(take_argument(std::move(name)));
    }
    return advance();
  }

  // Parses a value without a name. In a module, values of SYM_INTS are terms.
  Result<ArgumentDesc> parse_argument();
  Result<TextNames::Value> take_value();

  NameMap<uint32_t> graphs_;

 private:
  Result<std::string> parse_argument_name();
  Result<ArgumentDesc> parse_word(const Token& word);
  Result<ArgumentDesc> parse_empty_list(uint32_t kind);
  Result<ArgumentDesc> parse_list();
  Status parse_list_item(ArgumentDesc& list);
};

}  // namespace etb::graph
