// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/graph_reader.hpp"

#include <algorithm>
#include <charconv>

#include "partitioner_sdk/import/autocast.hpp"
#include "partitioner_sdk/import/functionalized.hpp"
#include "partitioner_sdk/import/literal.hpp"
#include "partitioner_sdk/import/op_target.hpp"
#include "partitioner_sdk/import/source_location.hpp"
#include "partitioner_sdk/import/tensor_meta.hpp"
#include "partitioner_sdk/import/union_member.hpp"

namespace etb::pt2 {

namespace {

using ir::Argument;
using ir::Dim;
using ir::ValueId;

}  // namespace

void GraphReader::index_tables(Json graph) {
  Tables& tables = tables_.emplace_back();
  const auto fill = [&](const char* key, Table& table) {
    for (const Json row : graph[key]) table.emplace(row.key(), row);
  };
  fill("tensor_values", tables.tensors);
  fill("sym_int_values", tables.ints);
  fill("sym_float_values", tables.floats);
  fill("sym_bool_values", tables.bools);
}

void GraphReader::read_method(Json graph, Scope& out_scope) {
  module_.graphs.emplace_back().name = "forward";
  index_tables(graph);
  read_inputs(graph, 0, out_scope);
  read_nodes(graph, 0, out_scope);
  tables_.pop_back();
}

uint32_t GraphReader::read_subgraph(Json graph, std::string name) {
  const auto index = static_cast<uint32_t>(module_.graphs.size());
  module_.graphs.emplace_back().name = std::move(name);
  if (++depth_ > kMaxDepth) {
    diagnostics_.add(Code::NOT_SUPPORTED, "graphs nest deeper than " + std::to_string(kMaxDepth));
  } else {
    Scope scope;
    index_tables(graph);
    read_inputs(graph, index, scope);
    read_nodes(graph, index, scope);
    const std::string where = "outputs of graph '" + shown(module_.graphs[index].name) + "'";
    for (const Json output : graph["outputs"]) {
      if (diagnostics_.is_full()) break;
      auto value = read_argument(output, scope, where);
      if (value) module_.graphs[index].outputs.push_back({*std::move(value), ir::OutputKind::kUser, {}});
    }
    tables_.pop_back();
  }
  --depth_;
  return index;
}

void GraphReader::read_inputs(Json graph, uint32_t index, Scope& scope) {
  for (const Json input : graph["inputs"]) {
    if (diagnostics_.is_full()) return;
    const Json member = union_member(input);
    // A literal is a Python argument that was specialised. The nodes contain its value already.
    const bool is_value =
        member.key() == "as_tensor" || (member.key().substr(0, 7) == "as_sym_" && member["as_name"]);
    if (!is_value) continue;
    if (const auto id = define(input, index, scope, "inputs of the graph")) {
      module_.graphs[index].inputs.push_back({*id, ir::InputKind::kUser, {}, ir::kNone});
    }
  }
}

void GraphReader::read_nodes(Json graph, uint32_t index, Scope& scope) {
  for (const Json node : graph["nodes"]) {
    if (diagnostics_.is_full()) return;
    read_node(node, index, scope);
  }
}

void GraphReader::read_node(Json node, uint32_t index, Scope& scope) {
  ir::Node out;
  out.source = module_.add_source(read_source(node["metadata"]));
  out.debug_handle = next_debug_handle_++;
  if (handles_ == Handles::kOfFile) {
    const std::string_view digits = node["metadata"]["debug_handle"].as_string().value_or("");
    std::from_chars(digits.data(), digits.data() + digits.size(), out.debug_handle);
  }
  const std::string_view text = node["target"].as_string().value_or("");
  const std::string at = shown(ir::format_source(module_, out.source));
  const std::string name = shown(node["name"].as_string().value_or(""));
  const std::string where =
      (name.empty() ? "" : name + " = ") + shown(text) + (at.empty() ? "" : " (" + at + ")");
  if (is_functionalized(text)) return read_functionalized(node, std::move(out), index, scope, where);
  const OpTarget target = read_target(module_, text);
  if (target.name == "with_effects") return read_effect(node, std::move(out), index, scope, where);
  if (target.is_inlined) return inline_graph(node, target.name == "wrap_with_autocast", index, scope, where);
  if (target.is_skipped) return forget_results(node, scope);
  if (target.name.empty()) {
    diagnostics_.add(Code::NOT_SUPPORTED, where + ": unknown op" + advice_for(text));
  } else {
    out.op = module_.op(target.name);
    read_schema_arguments(node, out, scope, where);
    if (autocast_ && !apply_autocast(module_, index, out, *autocast_))
      diagnostics_.add(
          Code::NOT_SUPPORTED,
          where + ": runs in float32 under autocast, which is not supported; cast its operands in the model");
  }
  // Defines the results even so; otherwise every later use would be one more error.
  read_results(node, out, index, scope, where);
  if (!target.name.empty()) module_.graphs[index].nodes.push_back(std::move(out));
}

void GraphReader::read_schema_arguments(Json node, ir::Node& out, const Scope& scope,
                                        const std::string& where, const WrittenArguments* written) {
  const ops::Schema* schema = module_.op(out).schema;
  if (schema == nullptr) {
    for (const Json input : node["inputs"]) {
      if (diagnostics_.is_full()) return;
      if (auto value = read_argument(input["arg"], scope, where)) out.args.push_back(*std::move(value));
    }
    return;
  }
  out.args = module_.op(out).defaults;
  std::vector<bool> is_given(out.args.size(), false);
  if (written != nullptr)
    for (const auto& [position, base] : written->positions) is_given[position] = true;
  for (const Json input : node["inputs"]) {
    if (diagnostics_.is_full()) return;
    const std::string_view name = input["name"].as_string().value_or("");
    const int position = argument_position(*schema, name);
    if (position < 0) {
      if (written != nullptr) continue;
      diagnostics_.add(Code::NOT_SUPPORTED, where + ": " + std::string(schema->name()) +
                                                " has no argument '" + std::string(name) + "'");
      continue;
    }
    read_schema_argument(input["arg"], *schema, static_cast<size_t>(position), out, is_given, scope, where);
  }
  expect_arguments(*schema, is_given, where);
}

void GraphReader::read_schema_argument(Json argument, const ops::Schema& schema, size_t at, ir::Node& out,
                                       std::vector<bool>& is_given, const Scope& scope,
                                       const std::string& where) {
  is_given[at] = true;
  auto value = read_argument(argument, scope, where);
  if (!value) return;
  const ops::Argument row = schema.argument(static_cast<uint32_t>(at));
  // The archive writes an empty list without a type, and one number for a list of equal numbers.
  const auto* list = ir::get_if<ir::ValueList>(*value);
  if (list != nullptr && list->ids.empty() && row.type.base == ops::BaseType::kInt) *value = ir::Dims{};
  if (row.type.is_list && row.type.list_size != 0 && ir::get_if<Dim>(*value) != nullptr) {
    *value = ir::Dims(row.type.list_size, *ir::get_if<Dim>(*value));
  }
  out.args[at] = *std::move(value);
}

void GraphReader::expect_arguments(const ops::Schema& schema, const std::vector<bool>& is_given,
                                   const std::string& where) {
  for (uint32_t i = 0; i < schema.argument_count(); ++i) {
    const ops::Argument row = schema.argument(i);
    if (!is_given[i] && !row.has_default) {
      diagnostics_.add(Code::INVALID_DATA, where + ": argument '" + std::string(row.name) + "' is missing");
    }
  }
}

void GraphReader::read_results(Json node, ir::Node& out, uint32_t index, Scope& scope,
                               const std::string& where) {
  for (const Json output : node["outputs"]) {
    if (diagnostics_.is_full()) return;
    const Json member = union_member(output);
    if (member.key() == "as_none") {
      out.outputs.push_back(add_absent_result(out, index));
    } else if (member.key() == "as_tensors") {
      for (const Json item : member) {
        if (diagnostics_.is_full()) return;
        if (const auto id = define(item, index, scope, where)) out.outputs.push_back(*id);
      }
    } else if (const auto id = define(output, index, scope, where)) {
      out.outputs.push_back(*id);
    }
  }
}

// Returns a result that the op's output mask leaves out: empty, of the first operand's dtype, read by no node.
ValueId GraphReader::add_absent_result(const ir::Node& node, uint32_t index) {
  ir::Graph& graph = module_.graphs[index];
  ir::Value value;
  const auto* operand = node.args.empty() ? nullptr : ir::get_if<ir::ValueRef>(node.args[0]);
  value.spec.dtype = operand == nullptr ? ir::Dtype::FLOAT32 : graph.values[operand->id].spec.dtype;
  value.spec.sizes = {Dim(0)};
  value.spec.strides = {Dim(1)};
  return graph.add_value(std::move(value));
}

std::optional<ir::Value> GraphReader::read_value(std::string_view kind, std::string_view name,
                                                 const std::string& where) {
  ir::Value value;
  value.name = name;
  const Tables& tables = tables_.back();
  const auto find = [&](const Table& table) {
    const auto found = table.find(name);
    return found == table.end() ? Json() : found->second;
  };
  if (kind == "as_tensor") {
    const Json meta = find(tables.tensors);
    auto spec =
        meta ? read_tensor_meta(meta, module_.symbols)
             : Result<ir::TensorSpec>(make_error(Code::INVALID_DATA, "the archive does not describe it"));
    if (!spec) {
      diagnostics_.add(with_context(std::move(spec).error(), where + ": tensor '" + std::string(name) + "'"));
      return std::nullopt;
    }
    value.spec = *std::move(spec);
    return value;
  }
  if (kind == "as_sym_int") {
    value.kind = ir::ValueKind::kInt;
    const Json row = find(tables.ints);
    auto dim = read_sym_int(row, module_.symbols);
    if (dim) {
      value.dim = *dim;
    } else if (dim.error().code == Code::NOT_SUPPORTED) {
      // Computed through floats or conditions: becomes a new symbol, whose value is known after its node has
      // run.
      value.dim = module_.symbols.add_symbol({"opaque_" + std::to_string(next_opaque_symbol_++), INT64_MIN,
                                              ir::kUnbounded, row["as_expr"]["hint"]["as_int"].as_int()});
    } else {
      diagnostics_.add(with_context(std::move(dim).error(), where + ": '" + std::string(name) + "'"));
      return std::nullopt;
    }
    return value;
  }
  if (kind == "as_sym_float" || kind == "as_sym_bool") {
    value.kind = kind == "as_sym_float" ? ir::ValueKind::kFloat : ir::ValueKind::kBool;
    return value;
  }
  diagnostics_.add(Code::NOT_SUPPORTED,
                   where + ": values of kind '" + std::string(kind) + "' are not supported");
  return std::nullopt;
}

std::optional<ValueId> GraphReader::define(Json result, uint32_t index, Scope& scope,
                                           const std::string& where) {
  Json member = union_member(result);
  std::string_view kind = member.key();
  // Items of a list have no union around them.
  if (!member || (kind != "as_tensor" && kind.substr(0, 7) != "as_sym_")) {
    kind = result["name"] ? "as_tensor" : kind;
    member = result["name"] ? result : member;
  }
  const auto name = (member["name"] ? member["name"] : member["as_name"]).as_string();
  if (!name) {
    diagnostics_.add(Code::NOT_SUPPORTED,
                     where + ": results of kind '" + std::string(kind) + "' are not supported");
    return std::nullopt;
  }
  // Checked before the description is read: many names may share one description with many sizes.
  if (scope.find(*name) != scope.end()) {
    diagnostics_.add(Code::INVALID_DATA, where + ": '" + std::string(*name) + "' is defined twice");
    return std::nullopt;
  }
  auto value = read_value(kind, *name, where);
  if (!value) {
    scope.emplace(*name, ir::Nothing{});
    return std::nullopt;
  }
  const bool is_int = value->kind == ir::ValueKind::kInt;
  const Dim dim = value->dim;
  const ValueId id = module_.graphs[index].add_value(*std::move(value));
  scope.emplace(*name, is_int ? Argument(dim) : Argument(ir::ValueRef{id}));
  return id;
}

std::optional<Argument> GraphReader::look_up(std::string_view name, const Scope& scope,
                                             const std::string& where) {
  const auto found = scope.find(name);
  if (found == scope.end()) {
    diagnostics_.add(Code::INVALID_DATA,
                     where + ": uses '" + std::string(name) + "', which is not defined before");
    return std::nullopt;
  }
  // The definition's error was reported already.
  if (ir::get_if<ir::Nothing>(found->second) != nullptr) return std::nullopt;
  return found->second;
}

std::optional<ValueId> GraphReader::read_tensor(Json item, const Scope& scope, const std::string& where) {
  const auto value = look_up(item["name"].as_string().value_or(""), scope, where);
  if (!value) return std::nullopt;
  const auto* ref = ir::get_if<ir::ValueRef>(*value);
  if (ref == nullptr) {
    diagnostics_.add(Code::INVALID_DATA, where + ": expected a tensor");
    return std::nullopt;
  }
  return ref->id;
}

std::optional<Argument> GraphReader::read_values(Json list, const Scope& scope, const std::string& where,
                                                 bool has_none) {
  ir::ValueList values;
  for (const Json item : list) {
    const Json member = has_none ? union_member(item) : item;
    if (has_none && member.key() == "as_none") {
      values.ids.push_back(ir::kNoValue);
      continue;
    }
    const auto id = read_tensor(member, scope, where);
    if (!id) return std::nullopt;
    values.ids.push_back(*id);
  }
  return Argument(std::move(values));
}

std::optional<Argument> GraphReader::read_dims(Json list, const Scope& scope, const std::string& where) {
  ir::Dims dims;
  for (const Json item : list) {
    if (const auto value = item["as_int"].as_int()) {
      dims.emplace_back(*value);
      continue;
    }
    const auto value = look_up(item["as_name"].as_string().value_or(""), scope, where);
    const Dim* dim = value ? ir::get_if<Dim>(*value) : nullptr;
    if (dim == nullptr) {
      if (value) diagnostics_.add(Code::INVALID_DATA, where + ": expected a symbolic int");
      return std::nullopt;
    }
    dims.push_back(*dim);
  }
  return Argument(std::move(dims));
}

std::optional<Argument> GraphReader::read_argument(Json argument, const Scope& scope,
                                                   const std::string& where) {
  const Json member = union_member(argument);
  const std::string_view kind = member.key();
  if (const LiteralReader read = find_literal_reader(kind)) {
    Result<Argument> literal = read(member);
    if (literal) return *std::move(literal);
    diagnostics_.add(literal.error().code, where + ": " + literal.error().message);
    return std::nullopt;
  }
  if (kind == "as_tensor") {
    const auto id = read_tensor(member, scope, where);
    return id ? std::optional<Argument>(ir::ValueRef{*id}) : std::nullopt;
  }
  if (kind == "as_tensors") return read_values(member, scope, where, false);
  if (kind == "as_optional_tensors") return read_values(member, scope, where, true);
  if (kind == "as_optional_tensor") return read_argument(member, scope, where);
  if (kind == "as_sym_ints") return read_dims(member, scope, where);
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
    const Json value = union_member(member);
    if (value.key() == "as_name") return look_up(value.as_string().value_or(""), scope, where);
    return read_argument(member, scope, where);
  }
  if (kind == "as_graph") {
    const std::string name(member["name"].as_string().value_or("graph"));
    return Argument(
        ir::GraphRef{read_subgraph(member["graph"], name + "_" + std::to_string(module_.graphs.size()))});
  }
  diagnostics_.add(Code::NOT_SUPPORTED,
                   where + ": arguments of kind '" + std::string(kind) + "' are not supported");
  return std::nullopt;
}

}  // namespace etb::pt2
