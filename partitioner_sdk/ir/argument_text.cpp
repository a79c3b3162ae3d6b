// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/ir/argument_text.hpp"

namespace etb::ir {

namespace {

class FormulaNames : public graph::TextNames {
 public:
  explicit FormulaNames(Terms& terms) : terms_(terms) {}
  Result<Value> find_value(std::string_view) override {
    return make_error(Code::INVALID_DATA, "a formula has no values");
  }
  graph::TextTerms& terms() override { return terms_; }

 private:
  Terms& terms_;
};

class FormulaReader : graph::TypeParser {
 public:
  FormulaReader(std::string_view text, FormulaNames& names)
      : TypeParser(text, graph::Dialect::kModule, names) {}
  Result<uint32_t> read() {
    ETB_TRY(advance());
    ETB_ASSIGN(const uint32_t term, parse_formula());
    if (token_.kind != graph::TokenKind::kEnd) return unexpected("the end of the formula");
    return term;
  }
};

Argument empty_list(const ops::Argument* row) {
  const ops::BaseType base = row == nullptr ? ops::BaseType::kTensor : row->type.base;
  if (base == ops::BaseType::kFloat) return FloatList{};
  if (base == ops::BaseType::kBool) return BoolList{};
  if (base == ops::BaseType::kString) return StringList{};
  if (base != ops::BaseType::kTensor) return Dims{};
  return ValueList{};
}

}  // namespace

std::optional<uint32_t> Terms::find_symbol(std::string_view name) {
  const std::optional<Dim> found = symbols_.find_symbol(name);
  if (!found) return std::nullopt;
  return add(*found);
}

uint32_t Terms::add(Dim dim) {
  dims_.push_back(dim);
  return static_cast<uint32_t>(dims_.size() - 1);
}

uint32_t Terms::add_term(uint32_t kind, uint32_t left, uint32_t right) {
  const Dim a = dims_[left], b = dims_[right];
  switch (kind) {
    case ETB_GRAPH_EXPR_ADD:
      return add(symbols_.add(a, b));
    case ETB_GRAPH_EXPR_MUL:
      return add(symbols_.mul(a, b));
    case ETB_GRAPH_EXPR_FLOOR_DIV:
      return add(symbols_.floor_div(a, b));
    case ETB_GRAPH_EXPR_MOD:
      return add(symbols_.mod(a, b));
    case ETB_GRAPH_EXPR_MINIMUM:
      return add(symbols_.min(a, b));
    default:
      return add(symbols_.max(a, b));
  }
}

std::optional<Dim> Terms::find(const graph::DimText& dim) const {
  if (dim.size) return Dim(*dim.size);
  if (dim.formula) return dims_[*dim.formula];
  return std::nullopt;
}

Result<Dim> parse_formula(std::string_view text, SymbolTable& symbols) {
  Terms terms(symbols);
  FormulaNames names(terms);
  ETB_ASSIGN(const uint32_t term, FormulaReader(text, names).read());
  return terms[term];
}

Result<Argument> to_argument(const graph::ArgumentDesc& text, const Terms& terms, const ops::Argument* row) {
  const auto dim_at = [&](size_t i) {
    return text.values.empty() || text.values[i] == ETB_GRAPH_NONE ? Dim(text.ints[i])
                                                                   : terms[text.values[i]];
  };
  switch (text.kind) {
    case ETB_GRAPH_ARGUMENT_NONE:
      return Argument(Nothing{});
    case ETB_GRAPH_ARGUMENT_VALUE:
      return Argument(ValueRef{text.value});
    case ETB_GRAPH_ARGUMENT_VALUES:
      return Argument(ValueList{text.values});
    case ETB_GRAPH_ARGUMENT_INT:
      return Argument(Dim(text.as_int));
    case graph::kTermArgument:
      return Argument(terms[text.value]);
    case ETB_GRAPH_ARGUMENT_FLOAT:
      return Argument(text.as_float);
    case ETB_GRAPH_ARGUMENT_BOOL:
      return Argument(text.as_int != 0);
    case ETB_GRAPH_ARGUMENT_STRING:
      return Argument(text.text);
    case ETB_GRAPH_ARGUMENT_DTYPE:
      return Argument(static_cast<Dtype>(text.as_int));
    case ETB_GRAPH_ARGUMENT_LAYOUT:
      if (text.as_int != ETB_GRAPH_LAYOUT_STRIDED) break;
      return Argument(Layout::kStrided);
    case ETB_GRAPH_ARGUMENT_MEMORY_FORMAT:
      return Argument(static_cast<MemoryFormat>(text.as_int));
    case ETB_GRAPH_ARGUMENT_DEVICE:
      return Argument(Device{text.text});
    case ETB_GRAPH_ARGUMENT_INTS:
    case ETB_GRAPH_ARGUMENT_SYM_INTS: {
      Dims dims;
      for (size_t i = 0; i < text.ints.size(); ++i) dims.push_back(dim_at(i));
      return Argument(std::move(dims));
    }
    case ETB_GRAPH_ARGUMENT_FLOATS:
      return Argument(text.floats);
    case ETB_GRAPH_ARGUMENT_BOOLS:
      return Argument(BoolList(text.ints.begin(), text.ints.end()));
    case ETB_GRAPH_ARGUMENT_STRINGS:
      return Argument(StringList{text.strings});
    case ETB_GRAPH_ARGUMENT_COMPLEX:
      return Argument(Complex{text.floats.at(0), text.floats.at(1)});
    case ETB_GRAPH_ARGUMENT_GRAPH:
      return Argument(GraphRef{static_cast<uint32_t>(text.as_int)});
    case graph::kEmptyListArgument:
      return empty_list(row);
    default:
      break;
  }
  return make_error(Code::NOT_SUPPORTED, "an argument that the compiler's graph does not have");
}

ArgumentSlots::ArgumentSlots(const ops::Schema* schema)
    : schema_(schema), is_given_(schema == nullptr ? 0 : schema->argument_count(), false) {}

Result<size_t> ArgumentSlots::place(std::string_view name) {
  size_t index = position_++;
  if (schema_ == nullptr) return index;
  if (!name.empty()) {
    const int found = schema_->find_argument(name);
    if (found < 0)
      return make_error(Code::INVALID_DATA,
                        std::string(schema_->name()) + " has no argument '" + std::string(name) + "'");
    index = static_cast<size_t>(found);
  }
  if (index >= is_given_.size())
    return make_error(Code::INVALID_DATA, "too many arguments for " + std::string(schema_->name()));
  is_given_[index] = true;
  return index;
}

std::optional<ops::Argument> ArgumentSlots::row(size_t index) const {
  if (schema_ == nullptr) return std::nullopt;
  return schema_->argument(static_cast<uint32_t>(index));
}

Status ArgumentSlots::check_complete() const {
  for (size_t i = 0; i < is_given_.size(); ++i) {
    const ops::Argument argument = schema_->argument(static_cast<uint32_t>(i));
    if (!is_given_[i] && !argument.has_default)
      return make_error(Code::INVALID_DATA,
                        std::string(schema_->name()) + " needs '" + std::string(argument.name) + "'");
  }
  return {};
}

}  // namespace etb::ir
