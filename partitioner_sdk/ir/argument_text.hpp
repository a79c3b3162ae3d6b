// SPDX-License-Identifier: Apache-2.0
// Converts what graph texts say (api/format/graph_text_parser.hpp) into numbers and arguments of the compiler's
// graph. Modules and rewrite rules share it.
#pragma once

#include "api/format/graph_argument_parser.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::ir {

// Terms of the formulas of a text.
class Terms : public graph::TextTerms {
 public:
  explicit Terms(SymbolTable& symbols) : symbols_(symbols) {}
  std::optional<uint32_t> find_symbol(std::string_view name) override;
  uint32_t add_number(int64_t number) override { return add(Dim(number)); }
  uint32_t add_term(uint32_t kind, uint32_t left, uint32_t right) override;
  Dim operator[](uint32_t term) const { return dims_[term]; }
  // Returns nullopt for "?".
  std::optional<Dim> find(const graph::DimText& dim) const;

 private:
  uint32_t add(Dim dim);

  SymbolTable& symbols_;
  std::vector<Dim> dims_;
};

// Parses a formula, the whole text. Symbols must exist.
[[nodiscard]] Result<Dim> parse_formula(std::string_view text, SymbolTable& symbols);

// `row`, which may be null, determines the kind of an empty list.
[[nodiscard]] Result<Argument> to_argument(const graph::ArgumentDesc& text, const Terms& terms,
                                           const ops::Argument* row);

// Assigns the arguments of a call in a text to those of a schema. A null schema has any number of arguments.
class ArgumentSlots {
 public:
  explicit ArgumentSlots(const ops::Schema* schema);
  // Returns the index of the next argument; "" is an argument without a name.
  [[nodiscard]] Result<size_t> place(std::string_view name);
  // Returns the schema's argument, nullopt without a schema.
  std::optional<ops::Argument> row(size_t index) const;
  // Rejects a missing argument that has no default.
  [[nodiscard]] Status check_complete() const;

 private:
  const ops::Schema* schema_;
  std::vector<bool> is_given_;
  size_t position_ = 0;
};

}  // namespace etb::ir
