// Arguments of nodes in the text form.
#pragma once

#include <functional>

#include "partitioner_sdk/ir/module.hpp"
#include "partitioner_sdk/ir/text_cursor.hpp"

namespace etb::ir {

class ArgumentReader {
 public:
  // What %name and @name stand for; names come without their sign.
  struct Names {
    std::function<Result<ValueId>(std::string_view name)> value;
    std::function<Result<GraphRef>(std::string_view name)> graph;
  };
  ArgumentReader(Cursor& in, SymbolTable& symbols, Names names)
      : in_(in), symbols_(symbols), names_(std::move(names)) {}
  ArgumentReader(const ArgumentReader&) = delete;
  ArgumentReader& operator=(const ArgumentReader&) = delete;

  // `row`, which may be null, says of what kind an empty list is.
  [[nodiscard]] Result<Argument> read(const ops::Argument* row);
  [[nodiscard]] Result<Dim> read_dim();

 private:
  Result<Argument> read_word();
  Result<Argument> read_number();
  Result<Argument> read_list(const ops::Argument* row);

  Cursor& in_;
  SymbolTable& symbols_;
  Names names_;
  int depth_ = 0;  // of lists, which a hostile text could nest until the stack ends
};

// Reads "(argument, name=argument, ...)" and calls take(index, row) at each argument, with its place in the schema. Without a
// schema the places count up and the row is null. An argument that is missing and has no default is an error.
[[nodiscard]] Status read_arguments(
    Cursor& in, const ops::Schema* schema,
    const std::function<Status(size_t index, const ops::Argument* row)>& take);

}  // namespace etb::ir
