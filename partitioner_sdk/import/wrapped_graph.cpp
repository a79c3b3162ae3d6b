// SPDX-License-Identifier: Apache-2.0
// Nodes that wrap others: an op with an effect, and graphs of autocast and other regions, whose nodes are inlined.
#include "partitioner_sdk/import/functionalized.hpp"
#include "partitioner_sdk/import/graph_reader.hpp"
#include "partitioner_sdk/import/op_target.hpp"
#include "partitioner_sdk/import/tensor_meta.hpp"
#include "partitioner_sdk/import/union_member.hpp"

namespace etb::pt2 {

using ir::Argument;

// An op with an effect, wrapped: its inputs are a token, the op and the op's arguments, its results another token and the op's.
// Tokens only keep the order of the nodes, which this graph keeps anyway.
void GraphReader::read_effect(Json node, ir::Node out, uint32_t index, Scope& scope,
                              const std::string& where) {
  const Json inputs = node["inputs"], results = node["outputs"];
  Json::Iterator input = inputs.begin();
  if (input != inputs.end()) ++input;
  const std::string_view text =
      input != inputs.end() ? (*input)["arg"]["as_operator"].as_string().value_or("") : std::string_view();
  const OpTarget target = read_target(module_, text);
  if (target.name.empty() || target.is_inlined || module_.op(module_.op(target.name)).schema == nullptr) {
    diagnostics_.add(Code::NOT_SUPPORTED, where + ": wraps '" + shown(text) + "', expected a known op");
    return forget_results(node, scope);
  }
  out.op = module_.op(target.name);
  const ops::Schema& schema = *module_.op(out).schema;
  out.args = module_.op(out).defaults;
  std::vector<bool> is_given(out.args.size(), false);
  size_t position = 0;
  for (++input; input != inputs.end(); ++input, ++position) {
    const std::string_view name = (*input)["name"].as_string().value_or("");
    const int at = name.empty() ? static_cast<int>(position) : schema.find_argument(name);
    if (diagnostics_.is_full()) return;
    if (at < 0 || static_cast<size_t>(at) >= is_given.size())
      diagnostics_.add(Code::NOT_SUPPORTED,
                       where + ": " + std::string(schema.name()) + " has no argument '" + shown(name) + "'");
    else
      read_schema_argument((*input)["arg"], schema, static_cast<size_t>(at), out, is_given, scope, where);
  }
  expect_arguments(schema, is_given, where);
  bool is_token = true;
  for (const Json result : results) {
    const Json member = union_member(result);
    if (is_token)
      scope.insert_or_assign(name_of(member), ir::Nothing{});
    else if (member.key() != "as_none") {
      if (const auto id = define(result, index, scope, where)) out.outputs.push_back(*id);
    }
    is_token = false;
  }
  module_.graphs[index].nodes.push_back(std::move(out));
}

// Returns a block's precision, or nothing if it is disabled. Its first inputs are device, dtype, enabled flag
// and cache flag.
Result<std::optional<ir::Dtype>> GraphReader::read_autocast(Json node) const {
  std::string_view device;
  std::optional<ir::Dtype> dtype = ir::Dtype::BFLOAT16;
  size_t position = 0;
  for (const Json input : node["inputs"]) {
    const Json member = union_member(input["arg"]);
    if (position == 0) device = member.as_string().value_or("");
    if (position == 1 && member.key() == "as_scalar_type") dtype = find_dtype(member.as_int().value_or(-1));
    if (position == 2 && !member.as_bool().value_or(true)) return std::nullopt;
    ++position;
  }
  if (device != "cpu")
    return make_error(Code::NOT_SUPPORTED, "autocast for '" + std::string(device) +
                                               "' chooses other ops than for 'cpu'; export without it");
  if (dtype != ir::Dtype::BFLOAT16 && dtype != ir::Dtype::FLOAT16)
    return make_error(Code::INVALID_DATA, "autocast to an unsupported dtype, expected bfloat16 or float16");
  return dtype;
}

// Marks results as unreadable; otherwise every later use would be one more error.
void GraphReader::forget_results(Json node, Scope& scope) {
  for (const Json output : node["outputs"])
    scope.insert_or_assign(name_of(union_member(output)), ir::Nothing{});
}

// Inlines the nodes of a wrapper's graph: its inputs are the operands, its outputs the node's results.
void GraphReader::inline_graph(Json node, bool is_autocast, uint32_t index, Scope& scope,
                               const std::string& where) {
  const std::optional<ir::Dtype> outer_autocast = autocast_;
  if (is_autocast) {
    auto autocast = read_autocast(node);
    if (!autocast) {
      diagnostics_.add(autocast.error().code, where + ": " + autocast.error().message);
      return forget_results(node, scope);
    }
    autocast_ = *autocast;
  }
  Json body;
  std::vector<std::optional<Argument>> operands;
  for (const Json input : node["inputs"]) {
    const Json member = union_member(input["arg"]);
    if (body) {
      operands.push_back(read_argument(input["arg"], scope, where));
    } else if (member.key() == "as_graph") {
      body = member["graph"];
    }
  }
  if (!body || depth_ >= kMaxDepth) {
    diagnostics_.add(Code::NOT_SUPPORTED,
                     where + (body ? ": graphs nest too deeply" : ": the argument contains no graph"));
    autocast_ = outer_autocast;
    return forget_results(node, scope);
  }
  Scope inner;
  size_t position = 0;
  for (const Json input : body["inputs"]) {
    if (position < operands.size()) {
      inner.emplace(name_of(union_member(input)), operands[position].value_or(ir::Nothing{}));
    }
    ++position;
  }
  ++depth_;
  index_tables(body);
  read_nodes(body, index, inner);
  const Json results = node["outputs"];
  Json::Iterator result = results.begin();
  for (const Json output : body["outputs"]) {
    if (!(result != results.end())) break;
    scope.insert_or_assign(name_of(union_member(*result)),
                           read_argument(output, inner, where).value_or(ir::Nothing{}));
    ++result;
  }
  tables_.pop_back();
  --depth_;
  autocast_ = outer_autocast;
}

}  // namespace etb::pt2
