// SPDX-License-Identifier: Apache-2.0
// Writes the text form of a module (text.hpp).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "api/format/graph_text_writer.hpp"
#include "etb/cpp/graph_view.hpp"
#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/ir/updated_input.hpp"

namespace etb::ir {

namespace {

constexpr uint64_t kMaxShownElements = 16;

template <class T>
std::string format_real(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return {text, end};
}

// An element of another dtype than float32 and float64 is its bits, as an int.
std::string format_element(Dtype dtype, const std::byte* at) {
  if (dtype == Dtype::FLOAT32) return format_real<float>(at);
  if (dtype == Dtype::FLOAT64) return format_real<double>(at);
  uint64_t bits = 0;
  const size_t nbytes = std::min<size_t>(ops::element_nbytes(dtype), sizeof(bits));
  std::memcpy(&bits, at, nbytes);
  const bool is_signed =
      dtype == Dtype::INT8 || dtype == Dtype::INT16 || dtype == Dtype::INT32 || dtype == Dtype::INT64;
  if (!is_signed) return std::to_string(bits);
  const auto spare = static_cast<unsigned>(64 - 8 * nbytes);
  return std::to_string(static_cast<int64_t>(bits << spare) >> spare);
}

// Keeps names apart: an ending makes each unique among those before.
class UniqueNames {
 public:
  std::string make(const std::string& wish) {
    std::string name = wish;
    // The counter avoids trying the same suffixes again for many values of one name.
    for (uint32_t& n = next_ending_[wish]; !taken_.insert(name).second;)
      name = wish + "." + std::to_string(++n);
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, uint32_t> next_ending_;
};

class Printer : graph::TextWriter {
 public:
  Printer(Module& module, const PrintOptions& options)
      : TextWriter(UINT64_MAX), module_(module), options_(options) {}

  std::string run() {
    put("etg {}\nmodule ", ETB_GRAPH_VERSION);
    put_string(module_.name);
    out_ += '\n';
    for (uint32_t i = 0; i < module_.symbols.symbol_count(); ++i) {
      const Symbol& symbol = module_.symbols.symbol(i);
      put_symbol(symbol.name, symbol.min, symbol.max, symbol.hint);
    }
    print_custom_ops();
    UniqueNames keys;
    for (const Constant& constant : module_.constants) {
      keys_.push_back(keys.make(constant.name));
      print_constant(constant);
    }
    for (const Graph& graph : module_.graphs) print_graph(graph);
    return std::move(out_);
  }

 private:
  void put_dim(Dim dim) { out_ += module_.symbols.format(dim); }

  void put_spec(const TensorSpec& tensor) {
    put_dtype(static_cast<int64_t>(tensor.dtype));
    out_ += '[';
    put_list(tensor.sizes, [this](Dim dim) { put_dim(dim); });
    out_ += ']';
    if (is_contiguous(module_.symbols, tensor)) return;
    const auto order = find_dim_order(module_.symbols, tensor);
    if (order && strides_in_order(module_.symbols, tensor.sizes, *order) == tensor.strides)
      return put_order(*order);
    out_ += " strides(";
    put_list(tensor.strides, [this](Dim dim) { put_dim(dim); });
    out_ += ')';
  }

  void put_definition(const Graph& graph, ValueId id) {
    const Value& value = graph.values[id];
    put_value(id);
    out_ += ": ";
    switch (value.kind) {
      case ValueKind::kTensor:
        return put_spec(value.spec);
      case ValueKind::kInt:
        out_ += "sym_int(";
        put_dim(value.dim);
        out_ += ')';
        return;
      case ValueKind::kFloat:
        out_ += "sym_float";
        return;
      case ValueKind::kBool:
        out_ += "sym_bool";
        return;
    }
  }

  // Prints the custom ops that nodes use, once each.
  void print_custom_ops() {
    std::vector<bool> is_printed(module_.op_count(), false);
    for (const Graph& graph : module_.graphs) {
      for (const Node& node : graph.nodes) {
        const ops::Schema* schema = module_.op(node).schema;
        if (schema == nullptr || !schema->is_own() || is_printed[node.op]) continue;
        is_printed[node.op] = true;
        out_ += "op ";
        put_string(ops::CustomOps::text(*schema));
        out_ += '\n';
      }
    }
  }

  void print_constant(const Constant& constant) {
    const TensorSpec tensor{constant.dtype,
                            {constant.sizes.begin(), constant.sizes.end()},
                            {constant.strides.begin(), constant.strides.end()}};
    out_ += "constant ";
    put_string(keys_.back());
    out_ += ": ";
    put_spec(tensor);
    if (constant.numel() > kMaxShownElements) {
      out_ += " = ...\n";
      return;
    }
    out_ += " = [";
    put_elements(constant);
    out_ += "]\n";
  }

  void put_elements(const Constant& constant) {
    const size_t item = ops::element_nbytes(constant.dtype);
    std::vector<int64_t> index(constant.sizes.size(), 0);
    for (uint64_t i = 0; i < constant.numel(); ++i) {
      int64_t at = constant.offset;
      for (size_t d = 0; d < index.size(); ++d) at += index[d] * constant.strides[d];
      if (i > 0) out_ += ", ";
      out_ += format_element(constant.dtype, constant.storage.data() + static_cast<size_t>(at) * item);
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < constant.sizes[d]) break;
        index[d] = 0;
      }
    }
  }

  void put_value(ValueId id) { id == kNoValue ? put_none() : put_name('%', names_[id]); }

  void put_argument(const Argument& argument) {
    std::visit(
        graph::Overloaded{
            [&](Nothing) { put_none(); }, [&](ValueRef ref) { put_value(ref.id); },
            [&](const ValueList& list) {
              put_brackets("values", list.ids, [this](ValueId id) { put_value(id); });
            },
            [&](Dim dim) { put_dim(dim); }, [&](double number) { put_float(number); },
            [&](bool flag) { put_bool(flag); }, [&](const std::string& text) { put_string(text); },
            [&](Dtype dtype) { put_dtype(static_cast<int64_t>(dtype)); },
            [&](Layout layout) { put_layout(static_cast<int64_t>(layout)); },
            [&](MemoryFormat format) { put_memory_format(static_cast<int64_t>(format)); },
            [&](const Device& device) { put_device(device.name); },
            [&](const Dims& list) { put_brackets("ints", list, [this](Dim dim) { put_dim(dim); }); },
            [&](const FloatList& list) {
              put_brackets("floats", list, [this](double number) { put_float(number); });
            },
            [&](const BoolList& list) { put_brackets("bools", list, [this](bool flag) { put_bool(flag); }); },
            [&](const StringList& list) {
              put_brackets("strings", list.items, [this](std::string_view text) { put_string(text); });
            },
            [&](GraphRef graph) { put_name('@', module_.graphs[graph.index].name); },
            [&](Complex number) { put_complex(number.real, number.imaginary); }},
        argument);
  }

  void put_arguments(const Node& node) {
    const Op& op = module_.op(node);
    bool is_named = false;
    bool is_first = true;
    for (size_t i = 0; i < node.args.size(); ++i) {
      std::string_view name;
      if (op.schema != nullptr && i < op.schema->argument_count()) {
        const ops::Argument row = op.schema->argument(static_cast<uint32_t>(i));
        if (row.has_default && node.args[i] == op.defaults[i]) {
          is_named = true;
          continue;
        }
        if (is_named || row.is_keyword) name = row.name;
      }
      if (!is_first) out_ += ", ";
      is_first = false;
      if (!name.empty()) put("{}=", name);
      put_argument(node.args[i]);
    }
  }

  void print_input(const Graph& graph, const Input& input) {
    constexpr const char* kKinds[] = {"user", "parameter", "buffer", "constant", "token"};
    put("  {} ", kKinds[static_cast<size_t>(input.kind)]);
    put_definition(graph, input.value);
    if (input.constant < keys_.size()) {
      out_ += " = ";
      put_string(keys_[input.constant]);
    }
    if (!input.target.empty()) {
      out_ += " as ";
      put_string(input.target);
    }
    out_ += '\n';
  }

  void put_output(const Graph& graph, const Output& output) {
    put_argument(output.value);
    if (output.kind == OutputKind::kUser) return;
    if (const auto input = find_updated_input(graph, output)) {
      out_ += " updates ";
      return put_value(graph.inputs[*input].value);
    }
    constexpr const char* kKinds[] = {"", "updates buffer", "updates user", "token"};
    put(" {} ", kKinds[static_cast<size_t>(output.kind)]);
    put_string(output.target);
  }

  void print_node(const Graph& graph, const Node& node) {
    const Op& op = module_.op(node);
    const bool is_list =
        op.schema != nullptr && op.schema->result_count() == 1 && op.schema->result(0).type.is_list;
    out_ += is_list ? "  [" : "  ";
    put_list(node.outputs, [&](ValueId id) { put_definition(graph, id); });
    out_ += is_list ? "] = " : node.outputs.empty() ? "" : " = ";
    put("{}(", op.name);
    put_arguments(node);
    out_ += ')';
    if (options_.has_sources) {
      put_handle(node.debug_handle);
      if (node.source != kNone) {
        const Source& source = module_.sources[node.source];
        put_source(source.file, source.line, source.function, source.module_path);
      }
    }
    out_ += '\n';
  }

  void print_graph(const Graph& graph) {
    names_ = value_names(graph);
    out_ += "\ngraph ";
    put_name('@', graph.name);
    out_ += " {\n";
    for (const Input& input : graph.inputs) print_input(graph, input);
    for (const Node& node : graph.nodes) print_node(graph, node);
    out_ += graph.outputs.empty() ? "  return" : "  return ";
    put_list(graph.outputs, [&](const Output& output) { put_output(graph, output); });
    out_ += "\n}\n";
  }

  Module& module_;
  const PrintOptions& options_;
  std::vector<std::string> keys_;   // keys of the constants
  std::vector<std::string> names_;  // names of the current graph's values
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
  UniqueNames unique;
  uint32_t next_number = 0;
  const auto assign = [&](ValueId id) {
    if (id == kNoValue) return;
    const std::string& wish = graph.values[id].name;
    if (!is_name(wish)) {
      names[id] = std::to_string(next_number++);
      return;
    }
    names[id] = unique.make(wish);
  };
  for (const Input& input : graph.inputs) assign(input.value);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) assign(id);
  }
  return names;
}

std::string print(Module& module, const PrintOptions& options) { return Printer(module, options).run(); }

}  // namespace etb::ir
