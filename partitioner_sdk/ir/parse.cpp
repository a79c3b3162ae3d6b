// SPDX-License-Identifier: Apache-2.0
// Reads the text form of a module (text.hpp).
#include <algorithm>
#include <cstring>

#include "api/format/graph_text_parser.hpp"
#include "partitioner_sdk/ir/argument_text.hpp"
#include "partitioner_sdk/ir/text.hpp"

namespace etb::ir {

namespace {

constexpr int64_t kMaxConstantNbytes = int64_t{1} << 28;

tl::unexpected<Error> invalid(std::string message) {
  return make_error(Code::INVALID_DATA, std::move(message));
}

// Builds the module that a text describes.
class ModuleSink : public graph::TextSink {
 public:
  explicit ModuleSink(const ParseOptions& options) : options_(options) {}

  Result<Module> finish() {
    if (module_.graphs.empty()) return invalid("a module needs a graph");
    if (module_.symbols.is_beyond_limits()) return invalid("a formula is beyond limits");
    return std::move(module_);
  }

  Status begin(std::string name, std::string) override {
    module_.name = std::move(name);
    return {};
  }

  Status add_symbol(graph::SymbolDesc symbol) override {
    module_.symbols.add_symbol({std::move(symbol.name), symbol.min, symbol.max, symbol.hint});
    return {};
  }

  Status declare_op(const std::string& declaration) override {
    if (custom_ops_ == nullptr) module_.custom_ops = custom_ops_ = std::make_shared<ops::CustomOps>();
    return custom_ops_->declare(declaration);
  }

  Status add_constant(graph::ConstantText text) override {
    if (!text.data && options_.needs_data)
      return invalid("the data of constant '" + text.key + "' is left out");
    ETB_ASSIGN(const TensorSpec spec, to_spec(text.type));
    ETB_ASSIGN(Constant constant, make_constant(spec, text.data));
    constant.name = text.key;
    if (!constants_.emplace(std::move(text.key), module_.constants.size()).second)
      return invalid("constant '" + constant.name + "' is defined twice");
    module_.constants.push_back(std::move(constant));
    return {};
  }

  std::optional<uint32_t> find_constant(std::string_view key) override {
    const auto found = constants_.find(key);
    return found == constants_.end() ? std::nullopt : std::optional(found->second);
  }

  void begin_graph(std::string name) override {
    graph_ = &module_.graphs.emplace_back();
    graph_->name = std::move(name);
    values_.clear();
    first_defined_ = 0;
  }

  Status define(graph::ValueText text) override {
    if (text.name.empty()) return invalid("a value needs a name");
    if (text.quant || text.alias != ETB_GRAPH_ALIAS_NONE)
      return invalid("%" + text.name + ": quantised or an alias, which values of a module are not");
    Value value;
    switch (text.kind) {
      case ETB_GRAPH_VALUE_TENSOR: {
        ETB_ASSIGN(value.spec, to_spec(text.type));
        break;
      }
      case ETB_GRAPH_VALUE_SYM_INT:
        value.kind = ValueKind::kInt;
        if (!text.formula) return invalid("%" + text.name + ": a sym_int of a module needs a formula");
        value.dim = terms_[*text.formula];
        break;
      case ETB_GRAPH_VALUE_SYM_FLOAT:
        value.kind = ValueKind::kFloat;
        break;
      case ETB_GRAPH_VALUE_SYM_BOOL:
        value.kind = ValueKind::kBool;
        break;
      default:
        return invalid("%" + text.name + ": a kind of value that modules do not have");
    }
    if (text.name[0] < '0' || text.name[0] > '9') value.name = text.name;
    const ValueId id = graph_->add_value(std::move(value));
    if (values_.emplace(text.name, id).second) return {};
    return invalid("%" + text.name + " is defined twice");
  }

  Status add_input(uint32_t kind, std::optional<uint32_t> constant, std::string target) override {
    Input input;
    input.value = static_cast<ValueId>(graph_->values.size() - 1);
    input.kind = kind == ETB_GRAPH_INPUT_USER        ? InputKind::kUser
                 : kind == ETB_GRAPH_INPUT_PARAMETER ? InputKind::kParameter
                 : kind == ETB_GRAPH_INPUT_BUFFER    ? InputKind::kBuffer
                 : kind == ETB_GRAPH_INPUT_CONSTANT  ? InputKind::kConstant
                                                     : InputKind::kToken;
    input.target = std::move(target);
    input.constant = constant.value_or(kNone);
    graph_->inputs.push_back(std::move(input));
    first_defined_ = static_cast<ValueId>(graph_->values.size());
    return {};
  }

  Status add_node(graph::NodeDesc text) override {
    Node node;
    node.op = module_.op(text.op);
    node.debug_handle = text.debug_handle;
    if (text.source && *text.source != graph::SourceDesc{})
      node.source = module_.add_source(
          {text.source->file, text.source->line, text.source->function, text.source->module, ""});
    ETB_TRY(add_arguments(node, text));
    for (; first_defined_ < graph_->values.size(); ++first_defined_) node.outputs.push_back(first_defined_);
    graph_->nodes.push_back(std::move(node));
    return {};
  }

  Status add_output(graph::OutputText text) override {
    using Kind = graph::OutputText::Kind;
    Output output;
    ETB_ASSIGN(output.value, to_argument(text.value, terms_, nullptr));
    output.target = std::move(text.target);
    if (text.kind == Kind::kBufferUpdate) output.kind = OutputKind::kBufferMutation;
    if (text.kind == Kind::kInputUpdate) output.kind = OutputKind::kInputMutation;
    if (text.kind == Kind::kToken) output.kind = OutputKind::kToken;
    if (text.kind == Kind::kUpdate) {
      if (text.updates >= graph_->inputs.size()) return invalid("only inputs are updated");
      const Input& input = graph_->inputs[text.updates];
      const bool is_buffer = input.kind != InputKind::kUser;
      output.kind = is_buffer ? OutputKind::kBufferMutation : OutputKind::kInputMutation;
      output.target = is_buffer ? input.target : graph_->values[input.value].name;
    }
    graph_->outputs.push_back(std::move(output));
    return {};
  }

  Result<TextNames::Value> find_value(std::string_view name) override {
    const auto found = values_.find(name);
    if (found == values_.end()) return invalid("unknown value %" + std::string(name));
    return TextNames::Value{found->second};
  }
  graph::TextTerms& terms() override { return terms_; }

 private:
  using Value = ir::Value;

  Result<Dims> to_dims(const std::vector<graph::DimText>& texts) const {
    Dims dims;
    for (const graph::DimText& text : texts) {
      const std::optional<Dim> dim = terms_.find(text);
      if (!dim) return invalid("a size of a module is a number or a formula, found '?'");
      dims.push_back(*dim);
    }
    return dims;
  }

  Result<TensorSpec> to_spec(const graph::TypeText& type) {
    TensorSpec spec;
    spec.dtype = static_cast<Dtype>(type.dtype);
    ETB_ASSIGN(spec.sizes, to_dims(type.dims));
    if (type.strides) {
      ETB_ASSIGN(spec.strides, to_dims(*type.strides));
      if (spec.strides.size() != spec.sizes.size()) return invalid("as many strides as sizes are needed");
    } else if (type.order.empty()) {
      spec.strides = contiguous_strides(module_.symbols, spec.sizes);
    } else {
      std::vector<uint8_t> sorted = type.order;
      std::sort(sorted.begin(), sorted.end());
      for (size_t i = 0; i < sorted.size(); ++i)
        if (sorted.size() != spec.sizes.size() || sorted[i] != i)
          return invalid("an order names each dimension once");
      spec.strides = strides_in_order(module_.symbols, spec.sizes, type.order);
    }
    return spec;
  }

  // Stores the elements, which are in row-major order, by the strides. Without data they are zero.
  static Result<Constant> make_constant(const TensorSpec& spec,
                                        const std::optional<std::vector<uint8_t>>& data) {
    Constant constant;
    constant.dtype = spec.dtype;
    const auto item = static_cast<int64_t>(ops::element_nbytes(spec.dtype));
    Int128 last = 0, count = 1;
    for (size_t i = 0; i < spec.rank(); ++i) {
      const Dim size = spec.sizes[i], stride = spec.strides[i];
      if (!size.is_static() || !stride.is_static() || size.value() < 0 || stride.value() < 0)
        return invalid("a constant has sizes and strides that are known and not negative");
      constant.sizes.push_back(size.value());
      constant.strides.push_back(stride.value());
      count *= size.value();
      last += static_cast<Int128>(std::max<int64_t>(size.value() - 1, 0)) * stride.value();
      if (last * item > kMaxConstantNbytes || count > kMaxConstantNbytes)
        return invalid("constant too large");
    }
    auto stored =
        std::make_shared<std::vector<std::byte>>(count == 0 ? 0 : static_cast<size_t>((last + 1) * item));
    if (data && static_cast<Int128>(data->size()) != count * item)
      return invalid("a constant of " + std::to_string(static_cast<int64_t>(count)) + " elements with " +
                     std::to_string(data->size()) + " bytes");
    if (data) scatter(constant, *data, *stored);
    constant.storage = *stored;
    constant.owner = std::move(stored);
    return constant;
  }

  static void scatter(const Constant& constant, const std::vector<uint8_t>& data,
                      std::vector<std::byte>& stored) {
    std::vector<int64_t> index(constant.sizes.size(), 0);
    const size_t item = ops::element_nbytes(constant.dtype);
    for (size_t from = 0; from < data.size(); from += item) {
      int64_t at = 0;
      for (size_t d = 0; d < index.size(); ++d) at += index[d] * constant.strides[d];
      std::memcpy(stored.data() + static_cast<size_t>(at) * item, data.data() + from, item);
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < constant.sizes[d]) break;
        index[d] = 0;
      }
    }
  }

  Status add_arguments(Node& node, const graph::NodeDesc& text) {
    const Op& op = module_.op(node);
    ArgumentSlots slots(op.schema);
    if (op.schema != nullptr) node.args = op.defaults;
    for (const graph::ArgumentDesc& given : text.args) {
      ETB_ASSIGN(const size_t index, slots.place(given.name));
      const std::optional<ops::Argument> row = slots.row(index);
      ETB_ASSIGN(Argument argument, to_argument(given, terms_, row ? &*row : nullptr));
      bool is_own_result = false;
      for_each_value(argument, [&](ValueId id) { is_own_result |= id >= first_defined_; });
      if (is_own_result) return invalid(text.op + " uses its own result");
      if (index >= node.args.size()) node.args.resize(index + 1);
      node.args[index] = std::move(argument);
    }
    return slots.check_complete();
  }

  const ParseOptions& options_;
  Module module_;
  Terms terms_{module_.symbols};
  std::shared_ptr<ops::CustomOps> custom_ops_;
  graph::NameMap<uint32_t> constants_;
  Graph* graph_ = nullptr;
  graph::NameMap<ValueId> values_;  // values of the current graph
  ValueId first_defined_ = 0;       // since the last input or node
};

}  // namespace

Result<Module> parse(std::string_view text, const ParseOptions& options) {
  ModuleSink sink(options);
  ETB_TRY(graph::TextParser(text, graph::Dialect::kModule, sink).parse());
  return sink.finish();
}

bool is_module_text(std::string_view text) {
  graph::Lexer lexer(text);
  for (const std::string_view wanted : {"etg", "1", "module"}) {
    const Result<graph::Token> token = lexer.next();
    if (!token || token->text != wanted) return false;
  }
  return true;
}

}  // namespace etb::ir
