// SPDX-License-Identifier: Apache-2.0
// Reads the text form of a module (text.hpp).
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "api/format/json_text.hpp"
#include "partitioner_sdk/ir/argument_text.hpp"
#include "partitioner_sdk/ir/text.hpp"

namespace etb::ir {

namespace {

constexpr int64_t kMaxConstantNbytes = int64_t{1} << 28;

template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(value));
}

class Parser {
 public:
  explicit Parser(std::string_view text)
      : in_(text),
        arguments_(in_, module_.symbols,
                   {[this](std::string_view name) { return find_value(name); },
                    [this](std::string_view name) -> Result<GraphRef> {
                      graph_references_.emplace_back(name);
                      return GraphRef{static_cast<uint32_t>(graph_references_.size() - 1)};
                    }}) {}

  Result<Module> run() {
    ETB_TRY(in_.expect("module"));
    ETB_ASSIGN(module_.name, in_.text());
    while (!in_.is_at_end()) {
      if (in_.take_word("symbol")) {
        ETB_TRY(parse_symbol());
      } else if (in_.take_word("op")) {
        ETB_TRY(parse_custom_op());
      } else if (in_.take_word("constant")) {
        ETB_TRY(parse_constant());
      } else if (in_.take_word("graph")) {
        ETB_TRY(parse_graph());
      } else {
        return in_.fail("expected symbol, op, constant or graph");
      }
    }
    ETB_TRY(link_graphs());
    if (module_.graphs.empty()) return in_.fail("a module needs a graph");
    if (module_.symbols.is_beyond_limits()) return in_.fail("a formula is beyond limits");
    return std::move(module_);
  }

 private:
  Status parse_custom_op() {
    if (custom_ops_ == nullptr) module_.custom_ops = custom_ops_ = std::make_shared<ops::CustomOps>();
    ETB_ASSIGN(const std::string declaration, in_.text());
    if (Status made = custom_ops_->declare(declaration); !made) return in_.fail(made.error().message);
    return {};
  }

  Status parse_symbol() {
    Symbol symbol;
    symbol.name = in_.word();
    ETB_TRY(in_.expect("["));
    ETB_ASSIGN(symbol.min, in_.number<int64_t>());
    ETB_TRY(in_.expect(","));
    if (!in_.take_word("inf")) {
      ETB_ASSIGN(symbol.max, in_.number<int64_t>());
    }
    ETB_TRY(in_.expect("]"));
    if (in_.take_word("hint")) {
      ETB_ASSIGN(symbol.hint, in_.number<int64_t>());
    }
    module_.symbols.add_symbol(std::move(symbol));
    return {};
  }

  Result<Dims> parse_dims(std::string_view open, std::string_view close) {
    Dims out;
    ETB_TRY(in_.expect(open));
    while (!in_.take(close)) {
      if (!out.empty()) ETB_TRY(in_.expect(","));
      ETB_ASSIGN(const Dim dim, arguments_.read_dim());
      out.push_back(dim);
    }
    return out;
  }

  Result<TensorSpec> parse_spec() {
    TensorSpec spec;
    const std::string word(in_.word());
    const auto dtype = ops::find_dtype(word);
    if (!dtype) return in_.fail("unknown type '" + word + "'");
    spec.dtype = *dtype;
    ETB_ASSIGN(spec.sizes, parse_dims("[", "]"));
    if (in_.peek("{")) {
      ETB_ASSIGN(spec.strides, parse_dims("{", "}"));
      if (spec.strides.size() != spec.sizes.size()) return in_.fail("as many strides as sizes are needed");
    } else {
      spec.strides = contiguous_strides(module_.symbols, spec.sizes);
    }
    return spec;
  }

  Result<Value> parse_type() {
    Value value;
    const std::string_view word = in_.peek_word();
    if (word == "float" || word == "bool") {
      in_.word();
      // A tensor of bools is bool[...], even without sizes; a symbolic bool has no bracket.
      if (word == "bool" && in_.peek("[")) {
        value.spec.dtype = Dtype::BOOL;
        ETB_ASSIGN(value.spec.sizes, parse_dims("[", "]"));
        value.spec.strides = contiguous_strides(module_.symbols, value.spec.sizes);
        if (in_.peek("{")) {
          ETB_ASSIGN(value.spec.strides, parse_dims("{", "}"));
          if (value.spec.strides.size() != value.spec.sizes.size()) {
            return in_.fail("as many strides as sizes are needed");
          }
        }
        return value;
      }
      value.kind = word == "float" ? ValueKind::kFloat : ValueKind::kBool;
      return value;
    }
    if (word == "int") {
      in_.word();
      value.kind = ValueKind::kInt;
      ETB_TRY(in_.expect("("));
      ETB_ASSIGN(value.dim, arguments_.read_dim());
      ETB_TRY(in_.expect(")"));
      return value;
    }
    ETB_ASSIGN(value.spec, parse_spec());
    return value;
  }

  Status parse_constant() {
    Constant constant;
    ETB_ASSIGN(constant.name, in_.text());
    ETB_ASSIGN(const TensorSpec spec, parse_spec());
    constant.dtype = spec.dtype;
    const auto item = static_cast<int64_t>(ops::element_nbytes(spec.dtype));
    Int128 last = 0, count = 1;
    for (size_t i = 0; i < spec.rank(); ++i) {
      if (!spec.sizes[i].is_static() || !spec.strides[i].is_static() || spec.sizes[i].value() < 0 ||
          spec.strides[i].value() < 0) {
        return in_.fail("a constant has sizes and strides that are known and not negative");
      }
      constant.sizes.push_back(spec.sizes[i].value());
      constant.strides.push_back(spec.strides[i].value());
      count *= spec.sizes[i].value();
      last += static_cast<Int128>(std::max<int64_t>(spec.sizes[i].value() - 1, 0)) * spec.strides[i].value();
      if (last * item > kMaxConstantNbytes || count > kMaxConstantNbytes)
        return in_.fail("constant too large");
    }
    auto data =
        std::make_shared<std::vector<std::byte>>(count == 0 ? 0 : static_cast<size_t>((last + 1) * item));
    ETB_TRY(in_.expect("="));
    if (!in_.take("...")) ETB_TRY(parse_elements(constant, static_cast<int64_t>(count), *data));
    constant.storage = *data;
    constant.owner = data;
    module_.constants.push_back(std::move(constant));
    return {};
  }

  Status parse_elements(const Constant& constant, int64_t count, std::vector<std::byte>& data) {
    ETB_TRY(in_.expect("{"));
    std::vector<int64_t> index(constant.sizes.size(), 0);
    const size_t item = ops::element_nbytes(constant.dtype);
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) ETB_TRY(in_.expect(","));
      int64_t at = 0;
      for (size_t d = 0; d < index.size(); ++d) at += index[d] * constant.strides[d];
      ETB_TRY(parse_element(constant.dtype, data.data() + static_cast<size_t>(at) * item));
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < constant.sizes[d]) break;
        index[d] = 0;
      }
    }
    return in_.expect("}");
  }

  Status parse_element(Dtype dtype, std::byte* at) {
    if (dtype == Dtype::FLOAT32 || dtype == Dtype::FLOAT64) {
      ETB_ASSIGN(const double value, in_.number<double>());
      dtype == Dtype::FLOAT32 ? store(at, static_cast<float>(value)) : store(at, value);
      return {};
    }
    ETB_ASSIGN(const int64_t value, in_.number<int64_t>());
    std::memcpy(at, &value, ops::element_nbytes(dtype));  // the low bytes, little-endian
    return {};
  }

  Result<ValueId> find_value(std::string_view name) const {
    const auto found = value_ids_.find(std::string(name));
    if (found == value_ids_.end()) return in_.fail("unknown value %" + std::string(name));
    return found->second;
  }

  Result<ValueId> define_value() {
    ETB_TRY(in_.expect("%"));
    const std::string name(in_.word());
    ETB_TRY(in_.expect(":"));
    ETB_ASSIGN(Value value, parse_type());
    if (name.empty()) return in_.fail("a value needs a name");
    if (name[0] < '0' || name[0] > '9') value.name = name;
    const ValueId id = graph_->add_value(std::move(value));
    if (!value_ids_.emplace(name, id).second) return in_.fail("%" + name + " is defined twice");
    return id;
  }

  Status parse_input() {
    static constexpr std::pair<std::string_view, InputKind> kKinds[] = {{"user", InputKind::kUser},
                                                                        {"parameter", InputKind::kParameter},
                                                                        {"buffer", InputKind::kBuffer},
                                                                        {"constant", InputKind::kConstant},
                                                                        {"token", InputKind::kToken}};
    Input input;
    ETB_ASSIGN(input.value, define_value());
    ETB_TRY(in_.expect("="));
    const std::string word(in_.word());
    const auto* found =
        std::find_if(std::begin(kKinds), std::end(kKinds), [&](auto row) { return row.first == word; });
    if (found == std::end(kKinds)) return in_.fail("unknown kind of input '" + word + "'");
    input.kind = found->second;
    if (in_.peek("\"")) {
      ETB_ASSIGN(input.target, in_.text());
    }
    if (in_.take_word("constant")) {
      ETB_ASSIGN(input.constant, in_.number<uint32_t>());
    }
    graph_->inputs.push_back(std::move(input));
    return {};
  }

  Status parse_graph() {
    ETB_TRY(in_.expect("@"));
    graph_ = &module_.graphs.emplace_back();
    graph_->name = in_.word();
    value_ids_.clear();
    ETB_TRY(in_.expect("("));
    while (!in_.take(")")) {
      if (!graph_->inputs.empty()) ETB_TRY(in_.expect(","));
      ETB_TRY(parse_input());
    }
    ETB_TRY(in_.expect("{"));
    while (in_.peek_word() != "return") ETB_TRY(parse_node());
    in_.word();
    while (!in_.take("}")) {
      if (!graph_->outputs.empty()) ETB_TRY(in_.expect(","));
      ETB_TRY(parse_output());
    }
    return {};
  }

  Status parse_output() {
    Output output;
    const std::string_view word = in_.peek_word();
    for (const auto& [name, kind] :
         {std::pair{"buffer", OutputKind::kBufferMutation}, std::pair{"input", OutputKind::kInputMutation},
          std::pair{"token", OutputKind::kToken}}) {
      if (word != name) continue;
      in_.word();
      output.kind = kind;
      ETB_ASSIGN(output.target, in_.text());
      ETB_TRY(in_.expect("="));
      break;
    }
    ETB_ASSIGN(output.value, arguments_.read(nullptr));
    graph_->outputs.push_back(std::move(output));
    return {};
  }

  Status parse_node() {
    Node node;
    std::vector<std::pair<std::string, Value>> defined;
    const bool has_results = in_.peek("%");
    if (has_results) {
      // Results are visible to later nodes only, so they are entered after the arguments.
      do {
        ETB_TRY(in_.expect("%"));
        std::string name(in_.word());
        ETB_TRY(in_.expect(":"));
        ETB_ASSIGN(Value value, parse_type());
        defined.emplace_back(std::move(name), std::move(value));
      } while (in_.take(","));
      ETB_TRY(in_.expect("="));
    }
    const std::string name(in_.word());
    if (name.empty()) return in_.fail("expected an op");
    node.op = module_.op(name);
    ETB_TRY(parse_arguments(node));
    for (auto& [value_name, value] : defined) {
      if (value_name.empty()) return in_.fail("a value needs a name");
      if (value_name[0] < '0' || value_name[0] > '9') value.name = value_name;
      const ValueId id = graph_->add_value(std::move(value));
      if (!value_ids_.emplace(value_name, id).second) return in_.fail("%" + value_name + " is defined twice");
      node.outputs.push_back(id);
    }
    graph_->nodes.push_back(std::move(node));
    return {};
  }

  Status parse_arguments(Node& node) {
    const ops::Schema* schema = module_.op(node).schema;
    if (schema != nullptr) node.args = module_.op(node).defaults;
    return read_arguments(in_, schema, [&](size_t index, const ops::Argument* row) -> Status {
      ETB_ASSIGN(Argument argument, arguments_.read(row));
      if (index >= node.args.size()) node.args.resize(index + 1);
      node.args[index] = std::move(argument);
      return {};
    });
  }

  // Graphs may be referenced before their definition: until now GraphRef held the index of the reference.
  Status link_graphs() {
    for (Graph& graph : module_.graphs) {
      for (Node& node : graph.nodes) {
        for (Argument& argument : node.args) {
          auto* reference = std::get_if<GraphRef>(&argument);
          if (reference == nullptr) continue;
          const std::string& name = graph_references_[reference->index];
          const auto found = std::find_if(module_.graphs.begin(), module_.graphs.end(),
                                          [&](const Graph& g) { return g.name == name; });
          if (found == module_.graphs.end()) return in_.fail("unknown graph @" + name);
          reference->index = static_cast<uint32_t>(found - module_.graphs.begin());
        }
      }
    }
    return {};
  }

  Cursor in_;
  Module module_;
  std::shared_ptr<ops::CustomOps> custom_ops_;
  ArgumentReader arguments_;
  Graph* graph_ = nullptr;
  std::unordered_map<std::string, ValueId> value_ids_;
  std::vector<std::string> graph_references_;  // names, in the order of their use
};

}  // namespace

Result<Module> parse(std::string_view text) {
  if (const char* mark = format::find_byte_order_mark(text)) return make_error(Code::INVALID_DATA, mark);
  return Parser(text).run();
}

}  // namespace etb::ir
