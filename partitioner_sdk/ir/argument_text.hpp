// SPDX-License-Identifier: Apache-2.0
// Reads arguments of nodes from the text form.
#pragma once

#include <functional>

#include "partitioner_sdk/ir/module.hpp"
#include "partitioner_sdk/ir/text_cursor.hpp"

namespace etb::ir {

class ArgumentReader {
 public:
  // Resolve %name and @name; names are passed without their sign.
  struct Names {
    std::function<Result<ValueId>(std::string_view name)> value;
    std::function<Result<GraphRef>(std::string_view name)> graph;
  };
  ArgumentReader(Cursor& in, SymbolTable& symbols, Names names)
      : in_(in), symbols_(symbols), names_(std::move(names)) {}
  ArgumentReader(const ArgumentReader&) = delete;
  ArgumentReader& operator=(const ArgumentReader&) = delete;

  // `row`, which may be null, determines the kind of an empty list.
  [[nodiscard]] Result<Argument> read(const ops::Argument* row);
  [[nodiscard]] Result<Dim> read_dim();

 private:
  Result<Argument> read_word();
  Result<Argument> read_number();
  Result<Argument> read_list(const ops::Argument* row);

  Cursor& in_;
  SymbolTable& symbols_;
  Names names_;
  int depth_ = 0;  // depth of lists; a hostile text could otherwise exhaust the stack
};

// Reads "(argument, name=argument, ...)" and calls take(index, row) at each argument, with its index in the
// schema. Without a schema, indices count up and the row is null. A missing argument without default is an
// error.
[[nodiscard]] Status read_arguments(
    Cursor& in, const ops::Schema* schema,
    const std::function<Status(size_t index, const ops::Argument* row)>& take);

}  // namespace etb::ir
