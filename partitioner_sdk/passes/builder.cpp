// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/builder.hpp"

#include <algorithm>
#include <numeric>

namespace etb::passes {

Builder::Builder(ir::Module& module, ir::Graph& graph)
    : module_(module), graph_(graph), old_nodes_(std::move(graph.nodes)), replaced_(graph.values.size()) {
  graph_.nodes.clear();
  nodes_.reserve(old_nodes_.size());
  std::iota(replaced_.begin(), replaced_.end(), ValueId{0});
}

void Builder::substitute(ir::Node& node) const {
  for (Argument& argument : node.args) {
    ir::for_each_value(argument, [&](ValueId& id) { id = current(id); });
  }
}

void Builder::replace(ValueId old, ValueId by) {
  replaced_[old] = by;
  if (graph_.values[by].name.empty()) graph_.values[by].name = graph_.values[old].name;
}

void Builder::fail(Code code, std::string why) {
  if (has_failed()) return;
  const std::string at = ir::format_source(module_, source_);
  if (!at.empty()) why.insert(std::min(why.find("\nhint: "), why.size()), " (" + at + ")");
  error_ = {code, std::move(why), {}, 0};
}

std::vector<Argument> Builder::complete(ir::OpId op, std::vector<Argument> args,
                                        const std::vector<Named>& named) {
  const ir::Op& row = module_.op(op);
  if (row.schema == nullptr) {
    fail(Code::INTERNAL, "op '" + row.name + "' has no schema");
    return args;
  }
  for (size_t i = args.size(); i < row.defaults.size(); ++i) args.push_back(row.defaults[i]);
  for (const Named& argument : named) {
    const int position = row.schema->find_argument(argument.name);
    if (position < 0) {
      fail(Code::INTERNAL, row.name + " has no argument '" + std::string(argument.name) + "'");
    } else {
      args[static_cast<size_t>(position)] = argument.value;
    }
  }
  return args;
}

std::vector<ValueId> Builder::add(ir::OpId op, std::vector<Argument> args) {
  auto specs = infer::infer(module_, graph_, op, args);
  if (!specs) fail(specs.error().code, specs.error().message);
  ir::Node node{op, std::move(args), {}, source_, debug_handle_};
  if (specs) {
    for (TensorSpec& spec : *specs) {
      node.outputs.push_back(graph_.add_value({{}, ir::ValueKind::kTensor, std::move(spec), {}}));
    }
  }
  // Callers read results without checking for an error.
  const ops::Schema* schema = module_.op(op).schema;
  const size_t count = std::max<size_t>(schema == nullptr ? 1 : schema->result_count(), 1);
  while (node.outputs.size() < count && !specs) node.outputs.push_back(graph_.add_value({}));
  if (node.outputs.empty()) node.outputs.push_back(graph_.add_value({}));
  nodes_.push_back(node);
  return node.outputs;
}

std::vector<ValueId> Builder::add_declared(ir::OpId op, std::vector<Argument> args,
                                           std::span<const TensorSpec> specs) {
  ir::Node node{op, std::move(args), {}, source_, debug_handle_};
  for (const TensorSpec& spec : specs)
    node.outputs.push_back(graph_.add_value({{}, ir::ValueKind::kTensor, spec, {}}));
  nodes_.push_back(node);
  return node.outputs;
}

std::vector<ValueId> Builder::call_all(std::string_view op, std::vector<Argument> args) {
  const ir::OpId id = module_.op(op);
  args = complete(id, std::move(args), {});
  std::vector<ValueId> results;
  if (!has_failed() && expand(id, args, results)) return results;
  return add(id, std::move(args));
}

std::vector<ValueId> Builder::call_all(std::string_view op, std::vector<Argument> args,
                                       const std::vector<Named>& named) {
  return call_all(op, complete(module_.op(op), std::move(args), named));
}

std::vector<ValueId> Builder::call_sized(std::string_view op, std::vector<Argument> args,
                                         std::vector<TensorSpec> results) {
  const ir::OpId id = module_.op(op);
  ir::Node node{id, complete(id, std::move(args), {}), {}, source_, debug_handle_};
  for (TensorSpec& result : results) {
    result.strides = ir::contiguous_strides(module_.symbols, result.sizes);
    node.outputs.push_back(graph_.add_value({{}, ir::ValueKind::kTensor, std::move(result), {}}));
  }
  nodes_.push_back(node);
  return node.outputs;
}

ValueId Builder::add_constant(Dtype dtype, std::vector<int64_t> sizes, std::vector<std::byte> elements) {
  const std::string name = "_lifted_tensor_constant" + std::to_string(module_.constants.size());
  ir::Input input;
  input.kind = ir::InputKind::kConstant;
  input.target = name;
  TensorSpec made{dtype, Dims(sizes.begin(), sizes.end()), {}};
  made.strides = ir::contiguous_strides(module_.symbols, made.sizes);
  input.constant = module_.add_constant(name, dtype, std::move(sizes), std::move(elements));
  input.value = graph_.add_value({name, ir::ValueKind::kTensor, std::move(made), {}});
  graph_.inputs.push_back(input);
  return input.value;
}

Status Builder::finish() {
  graph_.nodes = std::move(nodes_);
  for (ir::Output& output : graph_.outputs) {
    ir::for_each_value(output.value, [&](ValueId& id) { id = current(id); });
  }
  if (has_failed()) return tl::make_unexpected(error_);
  return {};
}

}  // namespace etb::passes
