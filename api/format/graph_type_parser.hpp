// SPDX-License-Identifier: Apache-2.0
// Parses types and formulas of graph texts. One function for each rule of docs/graph_image.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/format/graph_token_cursor.hpp"

namespace etb::graph {

// A map by name that is searched without making a string.
struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
};
template <class T>
using NameMap = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;

// Stores the formulas of a text. A term is the index of a formula in this store.
class TextTerms {
 public:
  virtual ~TextTerms() = default;
  virtual std::optional<uint32_t> find_symbol(std::string_view name) = 0;       // returns a term
  virtual uint32_t add_number(int64_t number) = 0;                              // returns a term
  virtual uint32_t add_term(uint32_t kind, uint32_t left, uint32_t right) = 0;  // ETB_GRAPH_EXPR_*
};

// Resolves the names of a text.
class TextNames {
 public:
  struct Value {
    uint32_t index = 0;
    bool is_number = false;  // a sym_int, so that a list of such values is a list of numbers
  };
  virtual ~TextNames() = default;
  // `name` without its sign.
  virtual Result<Value> find_value(std::string_view name) = 0;
  virtual TextTerms& terms() = 0;
};

using NumberRange = std::pair<int64_t, int64_t>;  // min, max

// A dimension as written: a number, a formula or "?" (neither).
struct DimText {
  std::optional<int64_t> size;
  std::optional<uint32_t> formula;  // a term
  std::optional<NumberRange> range;
};

struct TypeText {
  int32_t dtype = 0;
  std::vector<DimText> dims;
  std::vector<uint8_t> order;                   // empty: row-major
  std::optional<std::vector<DimText>> strides;  // a module's only
};

// The text of a compiler's module has a few clauses more than that of an image.
enum class Dialect : uint8_t { kImage, kModule };

class TypeParser : protected TokenCursor {
 protected:
  TypeParser(std::string_view text, Dialect dialect, TextNames& names)
      : TokenCursor(text), names_(names), is_module_(dialect == Dialect::kModule) {}

  std::optional<int64_t> dtype_of_token() const;
  Result<TypeText> parse_type();
  Result<DimText> parse_dim();
  Result<NumberRange> parse_range();
  Result<uint32_t> parse_formula();
  // True if the current token begins a formula that is more than one number.
  bool is_at_formula() const;

  TextNames& names_;
  const bool is_module_;

 private:
  Result<std::vector<DimText>> parse_dims(std::string_view close);
  Status parse_order(TypeText& type);
  Result<uint32_t> parse_sum();
  Result<uint32_t> parse_product();
  Result<uint32_t> parse_operand();
  Result<uint32_t> parse_call(uint32_t kind);

  uint32_t term_count_ = 0;  // terms of the current formula
};

}  // namespace etb::graph
