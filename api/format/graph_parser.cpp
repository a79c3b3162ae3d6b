// SPDX-License-Identifier: Apache-2.0
// Reads the text of a graph image.
#include <fmt/format.h>

#include <tuple>

#include "api/format/graph_rules.hpp"
#include "api/format/graph_text.hpp"
#include "api/format/graph_text_parser.hpp"

namespace etb::graph {
namespace {

// Builds the image that a text describes.
class ImageSink : public TextSink, TextTerms {
 public:
  Result<ImageBytes> finish() const { return builder_.finish(); }

  Status begin(std::string name, std::string producer) override {
    builder_ = Builder(std::move(name), std::move(producer));
    return {};
  }
  Status add_symbol(SymbolDesc symbol) override {
    const std::string name = symbol.name;
    symbols_.try_emplace(name, builder_.add_symbol(std::move(symbol)));
    return {};
  }
  Status declare_op(const std::string&) override { return {}; }
  Status add_constant(ConstantText text) override {
    ConstantDesc constant;
    constant.key = text.key;
    constant.spec = spec(text.type);
    constant.digest = text.digest;
    constant.data = std::move(text.data);
    constants_.try_emplace(std::move(text.key), builder_.add_constant(std::move(constant)));
    return {};
  }
  void begin_graph(std::string name) override {
    graph_ = &builder_.add_graph(std::move(name));
    values_.clear();
    value_count_ = 0;
    defined_.clear();
  }
  Status define(ValueText text) override;
  Status add_input(uint32_t kind, std::optional<uint32_t> constant, std::string target) override {
    graph_->add_input(std::move(defined_.front()), kind, std::move(target), constant);
    defined_.clear();
    return {};
  }
  Status add_node(NodeDesc node) override {
    node.outputs = std::move(defined_);
    defined_.clear();
    graph_->add_node(std::move(node));
    return {};
  }
  Status add_output(OutputText output) override {
    const bool is_update = output.kind == OutputText::Kind::kUpdate;
    graph_->add_output(output.value.value, is_update ? std::optional(output.updates) : std::nullopt);
    return {};
  }

  Result<Value> find_value(std::string_view name) override {
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    return make_error(Code::INVALID_DATA, fmt::format("value '{}' is not defined above", printable(name)));
  }
  std::optional<uint32_t> find_constant(std::string_view key) override {
    const auto found = constants_.find(key);
    return found == constants_.end() ? std::nullopt : std::optional(found->second);
  }
  TextTerms& terms() override { return *this; }

 private:
  std::optional<uint32_t> find_symbol(std::string_view name) override {
    const auto found = symbols_.find(name);
    if (found == symbols_.end()) return std::nullopt;
    return builder_.add_symbol_expr(found->second);
  }
  uint32_t add_number(int64_t number) override { return builder_.add_int_expr(number); }
  uint32_t add_term(uint32_t kind, uint32_t left, uint32_t right) override {
    return builder_.add_expr(kind, left, right);
  }
  uint32_t spec(const TypeText& type);

  Builder builder_{""};
  GraphBuilder* graph_ = nullptr;
  NameMap<uint32_t> symbols_;
  NameMap<uint32_t> constants_;
  NameMap<Value> values_;  // values of the current graph
  uint32_t value_count_ = 0;
  std::vector<ValueDesc> defined_;  // since the last input or node
};

uint32_t ImageSink::spec(const TypeText& type) {
  SpecDesc spec;
  spec.dtype = type.dtype;
  spec.dim_order = type.order;
  spec.sizes.reserve(type.dims.size());
  for (const DimText& dim : type.dims) {
    if (dim.size) {
      spec.sizes.push_back(*dim.size);
      continue;
    }
    const auto [min, max] = *dim.range;
    spec.dynamic_dims.push_back({static_cast<uint32_t>(spec.sizes.size()), min, dim.formula});
    spec.sizes.push_back(max == ETB_GRAPH_UNBOUNDED ? -1 : max);
  }
  return builder_.add_spec(std::move(spec));
}

Status ImageSink::define(ValueText text) {
  ValueDesc value;
  value.kind = text.kind;
  if (text.kind == ETB_GRAPH_VALUE_TENSOR) value.spec = spec(text.type);
  if (text.quant) value.quant = builder_.add_quant(*std::move(text.quant));
  value.expr = text.formula;
  if (text.range) std::tie(value.min, value.max) = *text.range;
  value.alias = text.alias;
  value.alias_of = text.alias_of;
  value.name = std::move(text.name);
  values_.try_emplace(value.name, Value{value_count_++, value.kind == ETB_GRAPH_VALUE_SYM_INT});
  defined_.push_back(std::move(value));
  return {};
}

}  // namespace

Result<ImageBytes> parse_graph_text(std::string_view text) {
  ImageSink sink;
  if (Status parsed = TextParser(text, Dialect::kImage, sink).parse(); !parsed)
    return tl::make_unexpected(with_context(std::move(parsed).error(), "graph text"));
  return sink.finish();
}

}  // namespace etb::graph
