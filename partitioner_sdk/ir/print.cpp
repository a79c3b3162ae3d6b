// SPDX-License-Identifier: Apache-2.0
// Writes the text form of a module (text.hpp).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "partitioner_sdk/ir/text.hpp"

namespace etb::ir {

namespace {

constexpr uint64_t kMaxShownElements = 16;

std::string format_double(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  std::string out(text, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string quoted(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\x";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

template <class Items, class Format>
std::string bracketed(const Items& items, Format format, const char* open = "[", const char* close = "]") {
  std::string out = open;
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) out += ", ";
    is_first = false;
    out += format(item);
  }
  return out + close;
}

std::string_view memory_format_text(MemoryFormat format) {
  constexpr std::string_view kNames[] = {"contiguous", "preserve", "channels_last", "channels_last_3d"};
  return kNames[static_cast<size_t>(format)];
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

std::string format_element(Dtype dtype, const std::byte* at) {
  switch (dtype) {
    case Dtype::FLOAT32: {
      const float value = load<float>(at);
      if (!std::isfinite(value)) return format_double(value);
      char text[32];
      const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
      return {text, end};
    }
    case Dtype::FLOAT64:
      return format_double(load<double>(at));
    case Dtype::INT64:
      return std::to_string(load<int64_t>(at));
    case Dtype::INT32:
      return std::to_string(load<int32_t>(at));
    case Dtype::INT16:
      return std::to_string(load<int16_t>(at));
    case Dtype::INT8:
      return std::to_string(load<int8_t>(at));
    default:
      break;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, at, ops::element_nbytes(dtype));
  return std::to_string(bits);
}

class Printer {
 public:
  Printer(Module& module, const PrintOptions& options) : module_(module), options_(options) {}

  std::string run() {
    out_ += "module " + quoted(module_.name) + "\n";
    for (uint32_t i = 0; i < module_.symbols.symbol_count(); ++i) print_symbol(module_.symbols.symbol(i));
    print_custom_ops();
    for (const Constant& constant : module_.constants) print_constant(constant);
    for (const Graph& graph : module_.graphs) print_graph(graph);
    return std::move(out_);
  }

 private:
  std::string dims(const Dims& list, const char* open, const char* close) {
    return bracketed(
        list, [&](Dim dim) { return module_.symbols.format(dim); }, open, close);
  }

  std::string spec(const TensorSpec& tensor) {
    std::string text = std::string(ops::to_text(tensor.dtype)) + dims(tensor.sizes, "[", "]");
    if (!is_contiguous(module_.symbols, tensor)) text += dims(tensor.strides, "{", "}");
    return text;
  }

  std::string type(const Value& value) {
    switch (value.kind) {
      case ValueKind::kTensor:
        return spec(value.spec);
      case ValueKind::kInt:
        return "int(" + module_.symbols.format(value.dim) + ")";
      case ValueKind::kFloat:
        return "float";
      case ValueKind::kBool:
        return "bool";
    }
    return {};
  }

  // Prints the custom ops that nodes use, once each.
  void print_custom_ops() {
    std::vector<bool> is_printed(module_.op_count(), false);
    for (const Graph& graph : module_.graphs) {
      for (const Node& node : graph.nodes) {
        const ops::Schema* schema = module_.op(node).schema;
        if (schema == nullptr || !schema->is_own() || is_printed[node.op]) continue;
        is_printed[node.op] = true;
        out_ += "op " + quoted(ops::CustomOps::text(*schema)) + "\n";
      }
    }
  }

  void print_symbol(const Symbol& symbol) {
    out_ += "symbol " + symbol.name + " [" + std::to_string(symbol.min) + ", " +
            (symbol.max == kUnbounded ? "inf" : std::to_string(symbol.max)) + "]";
    if (symbol.hint) out_ += " hint " + std::to_string(*symbol.hint);
    out_ += "\n";
  }

  void print_constant(const Constant& constant) {
    TensorSpec tensor{constant.dtype,
                      {constant.sizes.begin(), constant.sizes.end()},
                      {constant.strides.begin(), constant.strides.end()}};
    out_ += "constant " + quoted(constant.name) + " " + spec(tensor) + " = ";
    out_ += constant.numel() > kMaxShownElements ? "..." : elements(constant);
    out_ += "\n";
  }

  std::string elements(const Constant& constant) {
    std::string out = "{";
    const size_t item = ops::element_nbytes(constant.dtype);
    std::vector<int64_t> index(constant.sizes.size(), 0);
    for (uint64_t i = 0; i < constant.numel(); ++i) {
      int64_t at = constant.offset;
      for (size_t d = 0; d < index.size(); ++d) at += index[d] * constant.strides[d];
      if (i > 0) out += ", ";
      out += format_element(constant.dtype, constant.storage.data() + static_cast<size_t>(at) * item);
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < constant.sizes[d]) break;
        index[d] = 0;
      }
    }
    return out + "}";
  }

  std::string value(ValueId id) const { return id == kNoValue ? "none" : "%" + names_[id]; }

  std::string argument(const Argument& item) {
    struct Writer {
      Printer& printer;
      std::string operator()(Nothing) const { return "none"; }
      std::string operator()(ValueRef ref) const { return printer.value(ref.id); }
      std::string operator()(const ValueList& list) const {
        return bracketed(list.ids, [&](ValueId id) { return printer.value(id); });
      }
      std::string operator()(Dim dim) const { return printer.module_.symbols.format(dim); }
      std::string operator()(double number) const { return format_double(number); }
      std::string operator()(bool flag) const { return flag ? "true" : "false"; }
      std::string operator()(const std::string& text) const { return quoted(text); }
      std::string operator()(Dtype dtype) const { return std::string(ops::to_text(dtype)); }
      std::string operator()(Layout) const { return "strided"; }
      std::string operator()(MemoryFormat format) const { return std::string(memory_format_text(format)); }
      std::string operator()(const Device& device) const { return "device(" + quoted(device.name) + ")"; }
      std::string operator()(const Dims& list) const { return printer.dims(list, "[", "]"); }
      std::string operator()(const FloatList& list) const { return bracketed(list, format_double); }
      std::string operator()(const BoolList& list) const {
        return bracketed(list, [](bool flag) { return std::string(flag ? "true" : "false"); });
      }
      std::string operator()(const StringList& list) const {
        return bracketed(list.items, [](const std::string& text) { return quoted(text); });
      }
      std::string operator()(GraphRef graph) const { return "@" + printer.module_.graphs[graph.index].name; }
    };
    return std::visit(Writer{*this}, item);
  }

  void print_arguments(const Node& node) {
    const Op& op = module_.op(node);
    bool is_named = false;
    bool is_first = true;
    for (size_t i = 0; i < node.args.size(); ++i) {
      const bool has_schema = op.schema != nullptr && i < op.schema->argument_count();
      if (has_schema) {
        const ops::Argument row = op.schema->argument(static_cast<uint32_t>(i));
        if (row.has_default && node.args[i] == op.defaults[i]) {
          is_named = true;
          continue;
        }
        if (!is_first) out_ += ", ";
        if (is_named || row.is_keyword) out_ += std::string(row.name) + "=";
      } else if (!is_first) {
        out_ += ", ";
      }
      is_first = false;
      out_ += argument(node.args[i]);
    }
  }

  void print_input(const Graph& graph, const Input& input) {
    constexpr const char* kKinds[] = {"user", "parameter", "buffer", "constant", "token"};
    out_ += "\n  " + value(input.value) + ": " + type(graph.values[input.value]) + " = " +
            kKinds[static_cast<size_t>(input.kind)];
    if (!input.target.empty()) out_ += " " + quoted(input.target);
    if (input.constant != kNone) out_ += " constant " + std::to_string(input.constant);
  }

  void print_output(const Output& output) {
    constexpr const char* kKinds[] = {"", "buffer", "input", "token"};
    if (output.kind != OutputKind::kUser) {
      out_ += std::string(kKinds[static_cast<size_t>(output.kind)]) + " " + quoted(output.target) + " = ";
    }
    out_ += argument(output.value);
  }

  void print_node(const Graph& graph, const Node& node) {
    out_ += "  ";
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      out_ += (i > 0 ? ", " : "") + value(node.outputs[i]) + ": " + type(graph.values[node.outputs[i]]);
    }
    out_ += (node.outputs.empty() ? "" : " = ") + module_.op(node).name + "(";
    print_arguments(node);
    out_ += ")";
    if (options_.has_sources && node.source != kNone) {
      std::string at = format_source(module_, node.source);
      std::replace(at.begin(), at.end(), '\n', ' ');
      out_ += "  # " + at;
    }
    out_ += "\n";
  }

  void print_graph(const Graph& graph) {
    names_ = value_names(graph);
    out_ += "graph @" + graph.name + "(";
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      if (i > 0) out_ += ",";
      print_input(graph, graph.inputs[i]);
    }
    out_ += ") {\n";
    for (const Node& node : graph.nodes) print_node(graph, node);
    out_ += "  return";
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      out_ += i > 0 ? ", " : " ";
      print_output(graph.outputs[i]);
    }
    out_ += "\n}\n";
  }

  Module& module_;
  const PrintOptions& options_;
  std::vector<std::string> names_;
  std::string out_;
};

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

}  // namespace

std::vector<std::string> value_names(const Graph& graph) {
  std::vector<std::string> names(graph.values.size());
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, uint32_t> next_ending;
  uint32_t next_number = 0;
  const auto assign = [&](ValueId id) {
    if (id == kNoValue) return;
    const std::string& wish = graph.values[id].name;
    if (!is_name(wish)) {
      names[id] = std::to_string(next_number++);
      return;
    }
    names[id] = wish;
    // The counter avoids trying the same suffixes again for many values of one name.
    for (uint32_t& n = next_ending[wish]; !taken.insert(names[id]).second;) {
      names[id] = wish + "." + std::to_string(++n);
    }
  };
  for (const Input& input : graph.inputs) assign(input.value);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) assign(id);
  }
  return names;
}

std::string print(Module& module, const PrintOptions& options) { return Printer(module, options).run(); }

}  // namespace etb::ir
