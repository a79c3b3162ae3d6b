// SPDX-License-Identifier: Apache-2.0
// Lines of schemas.txt as structs, for the programs that make tables and headers of them while the product is built.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace etb::ops {

// One argument or result.
struct SchemaField {
  std::string name;  // "" for a result
  std::string base;  // "tensor", "int", ...
  std::string default_text;
  bool is_optional = false;
  bool is_list = false;
  bool has_optional_items = false;  // items of a list may be none
  bool is_keyword = false;
  bool is_out = false;
  bool is_write = false;
  bool has_default = false;
  unsigned list_size = 0;  // size of a list that one number may replace
  char alias_set = 0;      // letter behind @ or !
};

// How the dtype or the sizes of a result follow from arguments: "like(self)" has rule "like" and operand 0.
struct RuleText {
  std::string rule;
  std::vector<size_t> operands;  // positions of arguments
};

// One overload.
struct SchemaLine {
  std::string text;  // the line without its relations
  std::string name;  // "aten.add.Tensor"
  std::vector<SchemaField> arguments, results;
  bool is_core = false;
  std::map<std::string, std::string> related;  // "out", "copy", "functional" -> name of the overload
  std::vector<RuleText> dtypes;                // rules for the first result and for the others
  std::vector<RuleText> sizes;                 // none or one

  // The parts of the name.
  std::string op_namespace() const;
  std::string base_name() const;
  std::string overload_name() const;
};

// Ends the program with a message that quotes `line`.
[[noreturn]] void refuse_schema(std::string_view line, const char* why);

// Reads all lines but comments. A line that is not in the notation ends the program.
std::vector<SchemaLine> read_schema_lines(const char* path);

}  // namespace etb::ops
