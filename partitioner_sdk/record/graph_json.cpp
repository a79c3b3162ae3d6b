// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/record/graph_json.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "partitioner_sdk/ir/text.hpp"

namespace etb::record {

namespace {

using Json = nlohmann::ordered_json;

// Codes of element types in ExecuTorch's copy of torch.export's format (exir/serde/schema.py, ScalarType).
int export_dtype(ir::Dtype dtype) {
  switch (dtype) {
    case ir::Dtype::UINT8:
      return 1;
    case ir::Dtype::INT8:
      return 2;
    case ir::Dtype::INT16:
      return 3;
    case ir::Dtype::INT32:
      return 4;
    case ir::Dtype::INT64:
      return 5;
    case ir::Dtype::FLOAT16:
      return 6;
    case ir::Dtype::FLOAT32:
      return 7;
    case ir::Dtype::FLOAT64:
      return 8;
    case ir::Dtype::COMPLEX32:
      return 9;
    case ir::Dtype::COMPLEX64:
      return 10;
    case ir::Dtype::COMPLEX128:
      return 11;
    case ir::Dtype::BOOL:
      return 12;
    case ir::Dtype::BFLOAT16:
      return 13;
    case ir::Dtype::UINT16:
      return 14;
    case ir::Dtype::FLOAT8E5M2:
      return 15;
    case ir::Dtype::FLOAT8E4M3FN:
      return 16;
    default:
      return 0;
  }
}
constexpr int kStrided = 7;

int export_memory_format(ir::MemoryFormat format) {
  switch (format) {
    case ir::MemoryFormat::kContiguous:
      return 1;
    case ir::MemoryFormat::kChannelsLast:
      return 2;
    case ir::MemoryFormat::kChannelsLast3d:
      return 3;
    case ir::MemoryFormat::kPreserve:
      return 4;
  }
  return 4;
}

// How targets of nodes begin, and the verifier that a reader runs over the graph.
struct Dialect {
  const char* prefix;
  const char* verifier;
};
// The key of an object that represents a word without quotes. No graph has this key, and texts escape their quotes.
constexpr const char* kWord = "word";
constexpr Dialect kEdge{"executorch.exir.dialects.edge.ops.", "EDGE"}, kAten{"torch.ops.", "TRAINING"};

class GraphWriter {
 public:
  GraphWriter(ir::Module& module, const ir::Graph& graph, const Dialect& dialect)
      : module_(module), graph_(graph), dialect_(dialect), names_(ir::value_names(graph)) {
    // Names are Python identifiers there.
    for (std::string& name : names_) {
      if (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0]))) name = "v" + name;
    }
    used_.insert(names_.begin(), names_.end());
  }

  Json write() {
    Json input_specs = Json::array(), output_specs = Json::array(), inputs = Json::array();
    uint32_t position = 0;  // among the user's inputs
    auto fixed = module_.fixed_inputs.begin();
    const auto add_fixed = [&] {
      for (; fixed != module_.fixed_inputs.end() && fixed->position == position; ++fixed, ++position) {
        const std::string name = unique("fixed_" + std::to_string(position));
        input_specs.push_back({{"constant_input", {{"name", name}, {"value", argument(fixed->value)}}}});
        inputs.push_back(argument(fixed->value));
      }
    };
    for (const ir::Input& input : graph_.inputs) {
      if (input.kind == ir::InputKind::kUser) add_fixed();
      input_specs.push_back(input_spec(input));
      inputs.push_back(reference(input.value));
      if (input.kind == ir::InputKind::kUser) ++position;
    }
    add_fixed();
    for (const ir::Output& output : graph_.outputs) output_specs.push_back(output_spec(output));
    const Json signature = {{"input_specs", input_specs}, {"output_specs", output_specs}};
    const Json root_call = {{"fqn", ""},
                            {"signature",
                             {{"inputs", Json::array()},
                              {"outputs", Json::array()},
                              {"in_spec", module_.input_tree},
                              {"out_spec", module_.output_tree}}}};
    return {{"graph_module",
             {{"graph", write_graph(std::move(inputs))},
              {"signature", signature},
              {"module_call_graph", Json::array({root_call})}}},
            {"opset_version", {{"aten", 10}}},
            {"range_constraints", Json::object()},
            {"schema_version", {{"major", 5}, {"minor", 4}}},
            {"dialect", ""},
            {"verifiers", Json::array({dialect_.verifier})}};
  }

 private:
  Json write_body() {
    Json inputs = Json::array();
    for (const ir::Input& input : graph_.inputs) inputs.push_back(reference(input.value));
    return write_graph(std::move(inputs));
  }

  Json write_graph(Json inputs) {
    Json graph = {{"inputs", std::move(inputs)},
                  {"outputs", Json::array()},
                  {"nodes", Json::array()},
                  {"tensor_values", Json::object()}};
    for (const ir::Output& output : graph_.outputs) graph["outputs"].push_back(argument(output.value));
    for (const ir::Node& node : graph_.nodes) graph["nodes"].push_back(write_node(node));
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].kind == ir::ValueKind::kTensor)
        graph["tensor_values"][names_[i]] = meta(graph_.values[i].spec);
    }
    graph["sym_int_values"] = sizes(ir::ValueKind::kInt);
    graph["sym_bool_values"] = sizes(ir::ValueKind::kBool);
    graph["is_single_tensor_return"] = false;
    graph["custom_obj_values"] = Json::object();
    return graph;
  }

  // Numbers of values that are no tensors, by name: those of the example.
  Json sizes(ir::ValueKind kind) const {
    Json out = Json::object();
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].kind != kind) continue;
      const int64_t found = number(graph_.values[i].dim);
      out[names_[i]] = kind == ir::ValueKind::kBool ? Json{{"as_bool", found != 0}} : Json{{"as_int", found}};
    }
    return out;
  }

  // Readers keep nodes and results by name, so a node with several results has a name of its own.
  std::string unique(const std::string& base) {
    std::string name = base;
    for (int i = 1; !used_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    return name;
  }

  int64_t number(ir::Dim dim) const {
    return dim.is_static() ? dim.value() : module_.symbols.hint(dim).value_or(module_.symbols.range(dim).min);
  }
  Json name_of(ir::ValueId id) const { return {{"name", names_[id]}}; }
  Json reference(ir::ValueId id) const {
    const ir::Value& value = graph_.values[id];
    if (value.kind == ir::ValueKind::kTensor) return {{"as_tensor", name_of(id)}};
    if (value.kind == ir::ValueKind::kInt) return {{"as_sym_int", {{"as_name", names_[id]}}}};
    if (value.kind == ir::ValueKind::kBool) return {{"as_sym_bool", {{"as_name", names_[id]}}}};
    return {{"as_int", number(value.dim)}};
  }

  Json meta(const ir::TensorSpec& spec) const {
    Json sizes = Json::array(), strides = Json::array();
    for (const ir::Dim size : spec.sizes) sizes.push_back({{"as_int", number(size)}});
    for (const ir::Dim stride : spec.strides) strides.push_back({{"as_int", number(stride)}});
    return {{"dtype", export_dtype(spec.dtype)},
            {"sizes", sizes},
            {"requires_grad", false},
            {"device", {{"type", "cpu"}}},
            {"strides", strides},
            {"storage_offset", {{"as_int", 0}}},
            {"layout", kStrided}};
  }

  Json input_spec(const ir::Input& input) const {
    const Json name = name_of(input.value);
    switch (input.kind) {
      case ir::InputKind::kParameter:
        return {{"parameter", {{"arg", name}, {"parameter_name", input.target}}}};
      case ir::InputKind::kBuffer:
        return {{"buffer", {{"arg", name}, {"buffer_name", input.target}, {"persistent", true}}}};
      case ir::InputKind::kConstant:
        return {{"tensor_constant", {{"arg", name}, {"tensor_constant_name", input.target}}}};
      default:
        return {{"user_input", {{"arg", reference(input.value)}}}};
    }
  }
  Json output_spec(const ir::Output& output) const {
    const auto* ref = ir::get_if<ir::ValueRef>(output.value);
    if (ref != nullptr && output.kind == ir::OutputKind::kBufferMutation) {
      return {{"buffer_mutation", {{"arg", name_of(ref->id)}, {"buffer_name", output.target}}}};
    }
    if (ref != nullptr && output.kind == ir::OutputKind::kInputMutation) {
      return {{"user_input_mutation", {{"arg", name_of(ref->id)}, {"user_input_name", output.target}}}};
    }
    return {{"user_output", {{"arg", argument(output.value)}}}};
  }

  Json list(const ir::ValueList& values) const {
    Json items = Json::array();
    const bool has_gaps =
        std::any_of(values.ids.begin(), values.ids.end(), [](ir::ValueId id) { return id == ir::kNoValue; });
    for (const ir::ValueId id : values.ids) {
      if (!has_gaps) {
        items.push_back(name_of(id));
      } else if (id == ir::kNoValue) {
        items.push_back({{"as_none", Json::array()}});
      } else {
        items.push_back({{"as_tensor", name_of(id)}});
      }
    }
    return {{has_gaps ? "as_optional_tensors" : "as_tensors", items}};
  }
  static Json float_number(double value) {
    if (std::isfinite(value)) return value;
    return {{kWord, std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity"}};
  }

  Json argument(const ir::Argument& item) const {
    if (const auto* ref = ir::get_if<ir::ValueRef>(item)) return reference(ref->id);
    if (const auto* values = ir::get_if<ir::ValueList>(item)) return list(*values);
    if (const auto* dim = ir::get_if<ir::Dim>(item)) return {{"as_int", number(*dim)}};
    if (const auto* value = ir::get_if<double>(item)) return {{"as_float", float_number(*value)}};
    if (const auto* value = ir::get_if<bool>(item)) return {{"as_bool", *value}};
    if (const auto* value = ir::get_if<std::string>(item)) return {{"as_string", *value}};
    if (const auto* value = ir::get_if<ir::Dtype>(item)) return {{"as_scalar_type", export_dtype(*value)}};
    if (ir::get_if<ir::Layout>(item) != nullptr) return {{"as_layout", kStrided}};
    if (const auto* value = ir::get_if<ir::MemoryFormat>(item))
      return {{"as_memory_format", export_memory_format(*value)}};
    if (const auto* value = ir::get_if<ir::Device>(item))
      return {{"as_device", {{"type", value->name}, {"index", nullptr}}}};
    if (const auto* dims = ir::get_if<ir::Dims>(item)) {
      Json items = Json::array();
      for (const ir::Dim dim : *dims) items.push_back(number(dim));
      return {{"as_ints", items}};
    }
    if (const auto* floats = ir::get_if<ir::FloatList>(item)) {
      Json items = Json::array();
      for (const double value : *floats) items.push_back(float_number(value));
      return {{"as_floats", items}};
    }
    if (const auto* bools = ir::get_if<ir::BoolList>(item))
      return {{"as_bools", std::vector<bool>(bools->begin(), bools->end())}};
    if (const auto* number = ir::get_if<ir::Complex>(item))
      return {
          {"as_complex", {{"real", float_number(number->real)}, {"imag", float_number(number->imaginary)}}}};
    if (const auto* texts = ir::get_if<ir::StringList>(item)) return {{"as_strings", texts->items}};
    return {{"as_none", Json::array()}};
  }

  Json write_node(const ir::Node& node) {
    const ir::Op& op = module_.op(node);
    if (op.schema == nullptr) return write_higher_order(node);
    Json inputs = Json::array(), outputs = Json::array();
    for (uint32_t i = 0; i < op.schema->argument_count(); ++i) {
      // As the exporter does: arguments equal to their default are left out.
      const bool is_default = op.schema->argument(i).has_default && node.args[i] == op.defaults[i];
      if (!is_default)
        inputs.push_back({{"name", op.schema->argument(i).name}, {"arg", argument(node.args[i])}});
    }
    if (op.schema->result_count() == 1 && op.schema->result(0).type.is_list) {
      outputs.push_back(list({node.outputs}));
    } else {
      for (const ir::ValueId id : node.outputs) outputs.push_back(reference(id));
    }
    return {{"name", name_of_node(node)},
            {"target", (op.name.starts_with("aten.sym_") ? kAten.prefix : dialect_.prefix) + op.name},
            {"inputs", inputs},
            {"outputs", outputs},
            {"metadata", metadata(node)}};
  }

  // Control flow: arguments have no names, graphs are arguments, and results are always written as if there
  // were several.
  Json write_higher_order(const ir::Node& node) {
    std::string target = module_.op(node).name;
    if (const size_t dot = target.rfind('.'); dot != std::string::npos) target.resize(dot);
    Json inputs = Json::array(), outputs = Json::array();
    for (const ir::Argument& item : node.args) {
      const auto* body = ir::get_if<ir::GraphRef>(item);
      Json value = argument(item);
      if (body != nullptr) {
        const ir::Graph& graph = module_.graphs[body->index];
        value = {{"as_graph",
                  {{"name", graph.name}, {"graph", GraphWriter(module_, graph, dialect_).write_body()}}}};
      }
      inputs.push_back({{"name", ""}, {"arg", value}});
    }
    if (node.outputs.size() == 1) {
      outputs.push_back({{"as_tensors", Json::array({name_of(node.outputs[0])})}});
    } else {
      for (const ir::ValueId id : node.outputs) outputs.push_back(reference(id));
    }
    return {{"name", name_of_node(node)},
            {"target", "torch.ops." + target},
            {"inputs", inputs},
            {"outputs", outputs},
            {"metadata", metadata(node)}};
  }

  std::string name_of_node(const ir::Node& node) {
    const ir::Op& op = module_.op(node);
    const bool is_list =
        op.schema == nullptr || (op.schema->result_count() == 1 && op.schema->result(0).type.is_list);
    if (node.outputs.size() == 1 && !is_list) return names_[node.outputs[0]];
    // "split" of "aten.split.Tensor"
    const size_t begin = op.name.find('.') + 1;
    return unique(op.name.substr(begin, op.name.find('.', begin) - begin));
  }

  Json metadata(const ir::Node& node) const {
    Json out = {{"debug_handle", std::to_string(node.debug_handle)}};
    if (node.source == ir::kNone) return out;
    const ir::Source& source = module_.sources[node.source];
    out["stack_trace"] =
        "File \"" + source.file + "\", line " + std::to_string(source.line) + ", in " + source.function;
    out["nn_module_stack"] =
        "L__self__,,;" + source.module_path + "," + source.module_path + "," + source.module_type;
    return out;
  }

  ir::Module& module_;
  const ir::Graph& graph_;
  const Dialect& dialect_;
  std::vector<std::string> names_;
  std::set<std::string> used_;
};

// As Python does, and as its readers expect: these numbers are words without quotes.
std::string text_of(const Json& json) {
  std::string text = json.dump();
  for (const char* word : {"Infinity", "-Infinity", "NaN"}) {
    const std::string marked = Json{{kWord, word}}.dump();
    for (size_t at = 0; (at = text.find(marked, at)) != std::string::npos;)
      text.replace(at, marked.size(), word);
  }
  return text;
}

}  // namespace

std::string edge_program_json(ir::Module& module) {
  return text_of(GraphWriter(module, module.main(), kEdge).write());
}

std::string exported_program_json(ir::Module& module) {
  return text_of(GraphWriter(module, module.main(), kAten).write());
}

}  // namespace etb::record
