#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "partitioner_sdk/ir/text.hpp"

namespace etb::ir {

namespace {

constexpr int64_t kMaxConstantNbytes = int64_t{1} << 28;

// Reads tokens from the front of the text; errors name the line.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : all_(text), rest_(text) {}

  void skip_blank() {
    for (;;) {
      const size_t start = rest_.find_first_not_of(" \t\r\n");
      rest_.remove_prefix(std::min(start, rest_.size()));
      if (rest_.empty() || rest_[0] != '#') return;
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    }
  }
  bool is_at_end() {
    skip_blank();
    return rest_.empty();
  }
  bool peek(std::string_view token) {
    skip_blank();
    return rest_.substr(0, token.size()) == token;
  }
  bool take(std::string_view token) {
    if (!peek(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  Status expect(std::string_view token) {
    if (take(token)) return {};
    return fail("found '" + std::string(rest_.substr(0, std::min<size_t>(12, rest_.find('\n')))) +
                "', expected '" + std::string(token) + "'");
  }
  // A run of letters, digits, '_' and '.'.
  std::string_view word() {
    skip_blank();
    size_t length = 0;
    while (length < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[length])) != 0 ||
                                     rest_[length] == '_' || rest_[length] == '.')) {
      ++length;
    }
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }
  std::string_view peek_word() {
    const std::string_view before = rest_;
    const std::string_view found = word();
    rest_ = before;
    return found;
  }
  bool take_word(std::string_view wanted) {
    if (peek_word() != wanted) return false;
    word();
    return true;
  }
  Result<std::string> text() {
    ETB_TRY(expect("\""));
    std::string out;
    while (!rest_.empty() && rest_[0] != '"') {
      char c = rest_[0];
      rest_.remove_prefix(1);
      if (c == '\\') {
        if (rest_.empty()) break;
        c = rest_[0];
        rest_.remove_prefix(1);
        if (c == 'x' && rest_.size() >= 2) {
          int code = 0;
          std::from_chars(rest_.data(), rest_.data() + 2, code, 16);
          c = static_cast<char>(code);
          rest_.remove_prefix(2);
        }
      }
      out += c;
    }
    ETB_TRY(expect("\""));
    return out;
  }
  template <class T>
  Result<T> number() {
    skip_blank();
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return fail("expected a number");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  std::string_view& rest() { return rest_; }

  tl::unexpected<Error> fail(std::string message) const {
    const size_t consumed = all_.size() - rest_.size();
    const auto line =
        1 + std::count(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(consumed), '\n');
    return make_error(Code::INVALID_ARGUMENT, "line " + std::to_string(line) + ": " + std::move(message));
  }

 private:
  std::string_view all_;
  std::string_view rest_;
};

template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(value));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  Result<Module> run() {
    ETB_TRY(in_.expect("module"));
    ETB_ASSIGN(module_.name, in_.text());
    while (!in_.is_at_end()) {
      if (in_.take_word("symbol")) {
        ETB_TRY(parse_symbol());
      } else if (in_.take_word("constant")) {
        ETB_TRY(parse_constant());
      } else if (in_.take_word("graph")) {
        ETB_TRY(parse_graph());
      } else {
        return in_.fail("expected symbol, constant or graph");
      }
    }
    ETB_TRY(link_graphs());
    if (module_.graphs.empty()) return in_.fail("a module needs a graph");
    if (module_.symbols.is_beyond_limits()) return in_.fail("a formula is beyond limits");
    return std::move(module_);
  }

 private:
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

  Result<Dim> parse_dim() {
    auto parsed = module_.symbols.parse(in_.rest());
    if (!parsed) return in_.fail(parsed.error().message);
    return *parsed;
  }

  Result<Dims> parse_dims(std::string_view open, std::string_view close) {
    Dims out;
    ETB_TRY(in_.expect(open));
    while (!in_.take(close)) {
      if (!out.empty()) ETB_TRY(in_.expect(","));
      ETB_ASSIGN(const Dim dim, parse_dim());
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
      // A tensor of bools is bool[...], also without sizes; a symbolic bool has no bracket.
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
      ETB_ASSIGN(value.dim, parse_dim());
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

  Result<ValueId> parse_value() {
    ETB_TRY(in_.expect("%"));
    const std::string name(in_.word());
    const auto found = value_ids_.find(name);
    if (found == value_ids_.end()) return in_.fail("unknown value %" + name);
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
    ETB_ASSIGN(output.value, parse_argument(nullptr));
    graph_->outputs.push_back(std::move(output));
    return {};
  }

  Status parse_node() {
    Node node;
    std::vector<std::pair<std::string, Value>> defined;
    const bool has_results = in_.peek("%");
    if (has_results) {
      // Results are known to later nodes only, so they are entered after the arguments.
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
    std::vector<bool> is_given(node.args.size(), false);
    ETB_TRY(in_.expect("("));
    for (size_t position = 0; !in_.take(")"); ++position) {
      if (position > 0) ETB_TRY(in_.expect(","));
      if (schema == nullptr) {
        ETB_ASSIGN(Argument argument, parse_argument(nullptr));
        node.args.push_back(std::move(argument));
        continue;
      }
      size_t index = position;
      const std::string_view before = in_.rest();
      const std::string_view word = in_.word();
      if (!word.empty() && in_.take("=")) {
        const int found = schema->find_argument(word);
        if (found < 0)
          return in_.fail(std::string(schema->name()) + " has no argument '" + std::string(word) + "'");
        index = static_cast<size_t>(found);
      } else {
        in_.rest() = before;
      }
      if (index >= node.args.size()) return in_.fail("too many arguments for " + std::string(schema->name()));
      const ops::Argument row = schema->argument(static_cast<uint32_t>(index));
      ETB_ASSIGN(node.args[index], parse_argument(&row));
      is_given[index] = true;
    }
    for (size_t i = 0; schema != nullptr && i < is_given.size(); ++i) {
      const ops::Argument row = schema->argument(static_cast<uint32_t>(i));
      if (!is_given[i] && !row.has_default) {
        return in_.fail(std::string(schema->name()) + " needs '" + std::string(row.name) + "'");
      }
    }
    return {};
  }

  Result<Argument> parse_argument(const ops::Argument* row) {
    if (in_.take("[")) return parse_list(row);
    if (in_.peek("%")) {
      ETB_ASSIGN(const ValueId id, parse_value());
      return Argument(ValueRef{id});
    }
    if (in_.peek("\"")) {
      ETB_ASSIGN(std::string text, in_.text());
      return Argument(std::move(text));
    }
    if (in_.take("@")) {
      graph_references_.push_back({static_cast<uint32_t>(graph_references_.size()), std::string(in_.word())});
      return Argument(GraphRef{graph_references_.back().first});
    }
    return parse_word_argument();
  }

  Result<Argument> parse_word_argument() {
    const std::string_view before = in_.rest();
    const std::string_view word = in_.word();
    if (word == "none") return Argument(Nothing{});
    if (word == "true" || word == "false") return Argument(word == "true");
    if (word == "strided") return Argument(Layout::kStrided);
    if (const auto dtype = ops::find_dtype(word)) return Argument(*dtype);
    for (const auto& [name, format] :
         {std::pair{"contiguous", MemoryFormat::kContiguous}, std::pair{"preserve", MemoryFormat::kPreserve},
          std::pair{"channels_last", MemoryFormat::kChannelsLast},
          std::pair{"channels_last_3d", MemoryFormat::kChannelsLast3d}}) {
      if (word == name) return Argument(format);
    }
    if (word == "device") {
      ETB_TRY(in_.expect("("));
      ETB_ASSIGN(std::string name, in_.text());
      ETB_TRY(in_.expect(")"));
      return Argument(Device{std::move(name)});
    }
    in_.rest() = before;
    return parse_number();
  }

  // A float shows a point, an exponent, inf or nan; all else is a formula.
  Result<Argument> parse_number() {
    in_.skip_blank();
    const std::string_view rest = in_.rest();
    size_t length = 0;
    while (length < rest.size() &&
           (std::isalnum(static_cast<unsigned char>(rest[length])) != 0 || rest[length] == '.' ||
            rest[length] == '-' || (rest[length] == '+' && length > 0 && rest[length - 1] == 'e'))) {
      ++length;
    }
    const std::string_view token = rest.substr(0, length);
    const bool starts_as_number =
        !token.empty() && (std::isdigit(static_cast<unsigned char>(token[0])) != 0 || token[0] == '-');
    if (token == "inf" || token == "nan" || token == "-inf" ||
        (starts_as_number && token.find_first_of(".e") != std::string_view::npos)) {
      ETB_ASSIGN(const double value, in_.number<double>());
      return Argument(value);
    }
    ETB_ASSIGN(const Dim dim, parse_dim());
    return Argument(dim);
  }

  // The items decide the kind; an empty list has the kind that the schema says, or is one of values.
  Result<Argument> parse_list(const ops::Argument* row) {
    std::vector<Argument> items;
    while (!in_.take("]")) {
      if (!items.empty()) ETB_TRY(in_.expect(","));
      ETB_ASSIGN(Argument item, parse_argument(nullptr));
      items.push_back(std::move(item));
    }
    if (items.empty() && row != nullptr) {
      if (row->type.base == ops::BaseType::kFloat) return Argument(FloatList{});
      if (row->type.base == ops::BaseType::kBool) return Argument(BoolList{});
      if (row->type.base != ops::BaseType::kTensor) return Argument(Dims{});
    }
    const auto all_are = [&](auto is_kind) {
      return !items.empty() && std::all_of(items.begin(), items.end(), is_kind);
    };
    if (all_are([](const Argument& a) { return get_if<Dim>(a) != nullptr; })) return collect<Dim>(items);
    if (all_are([](const Argument& a) { return get_if<double>(a) != nullptr; })) {
      FloatList list;
      for (const Argument& item : items) list.push_back(*get_if<double>(item));
      return Argument(std::move(list));
    }
    if (all_are([](const Argument& a) { return get_if<bool>(a) != nullptr; })) {
      BoolList list;
      for (const Argument& item : items) list.push_back(*get_if<bool>(item));
      return Argument(std::move(list));
    }
    if (all_are([](const Argument& a) { return get_if<std::string>(a) != nullptr; })) {
      StringList list;
      for (const Argument& item : items) list.items.push_back(*get_if<std::string>(item));
      return Argument(std::move(list));
    }
    ValueList values;
    for (const Argument& item : items) {
      if (const auto* ref = get_if<ValueRef>(item)) {
        values.ids.push_back(ref->id);
      } else if (get_if<Nothing>(item) != nullptr) {
        values.ids.push_back(kNoValue);
      } else {
        return in_.fail("items of a list differ in kind");
      }
    }
    return Argument(std::move(values));
  }

  template <class T>
  Result<Argument> collect(const std::vector<Argument>& items) {
    std::vector<T> list;
    for (const Argument& item : items) list.push_back(*get_if<T>(item));
    return Argument(std::move(list));
  }

  // Graphs may be named before they are defined: GraphRef held the number of the reference until now.
  Status link_graphs() {
    for (Graph& graph : module_.graphs) {
      for (Node& node : graph.nodes) {
        for (Argument& argument : node.args) {
          auto* reference = std::get_if<GraphRef>(&argument);
          if (reference == nullptr) continue;
          const std::string& name = graph_references_[reference->index].second;
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
  Graph* graph_ = nullptr;
  std::unordered_map<std::string, ValueId> value_ids_;
  std::vector<std::pair<uint32_t, std::string>> graph_references_;
};

}  // namespace

Result<Module> parse(std::string_view text) { return Parser(text).run(); }

}  // namespace etb::ir
