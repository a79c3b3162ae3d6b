// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/emit/in_place.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "api/ops/argument_reader.hpp"
#include "ops/index_put.hpp"

namespace etb::emit {

namespace {

using ir::ValueId;
using IndexPut = ops::index_put_default<ops::NoReader>::Index;

// Returns by value: number of reads by nodes and outputs.
std::vector<uint32_t> count_reads(const ir::Graph& graph) {
  std::vector<uint32_t> counts(graph.values.size(), 0);
  const auto count = [&](const ir::Argument& argument) {
    ir::for_each_value(argument, [&](ValueId id) { ++counts[id]; });
  };
  for (const ir::Node& node : graph.nodes)
    for (const ir::Argument& argument : node.args) count(argument);
  for (const ir::Output& output : graph.outputs) count(output.value);
  return counts;
}

// Maps the value of a buffer after the run to its value before.
std::map<ValueId, ValueId> find_updates(const ir::Graph& graph) {
  std::map<ValueId, ValueId> updates;
  for (const ir::Output& output : graph.outputs) {
    const auto* after = ir::get_if<ir::ValueRef>(output.value);
    if (output.kind != ir::OutputKind::kBufferMutation || after == nullptr) continue;
    for (const ir::Input& input : graph.inputs)
      if (input.kind != ir::InputKind::kUser && input.target == output.target)
        updates.emplace(after->id, input.value);
  }
  return updates;
}

// True if exactly one output returns the value. Otherwise it needs its own storage.
bool is_returned_once(const ir::Graph& graph, ValueId id) {
  return std::count_if(graph.outputs.begin(), graph.outputs.end(), [&](const ir::Output& output) {
           const auto* ref = ir::get_if<ir::ValueRef>(output.value);
           return ref != nullptr && ref->id == id;
         }) == 1;
}

// True for arguments of the official in-place kernel (executorch 1.5.1): one index of rank 1, as many values
// as it selects, no accumulation.
bool is_taken_by_kernel(const ir::Graph& graph, const ir::Node& node) {
  const auto* self = ir::get_if<ir::ValueRef>(node.args[IndexPut::self]);
  const auto* indices = ir::get_if<ir::ValueList>(node.args[IndexPut::indices]);
  const auto* values = ir::get_if<ir::ValueRef>(node.args[IndexPut::values]);
  const auto* accumulates = ir::get_if<bool>(node.args[IndexPut::accumulate]);
  if (self == nullptr || indices == nullptr || values == nullptr || accumulates == nullptr || *accumulates)
    return false;
  const auto is_given = [](ValueId id) { return id != ir::kNoValue; };
  if (std::count_if(indices->ids.begin(), indices->ids.end(), is_given) != 1) return false;
  const auto at = std::find_if(indices->ids.begin(), indices->ids.end(), is_given);
  const ir::TensorSpec& index = graph.values[*at].spec;
  if (index.rank() != 1 || (index.dtype != ir::Dtype::INT64 && index.dtype != ir::Dtype::INT32)) return false;
  ir::Dims rows = graph.values[self->id].spec.sizes;
  rows[static_cast<size_t>(at - indices->ids.begin())] = index.sizes[0];
  return rows == graph.values[values->id].spec.sizes;
}

}  // namespace

std::set<const ir::Node*> find_in_place_updates(const ir::Module& module) {
  std::set<const ir::Node*> found;
  const auto op = module.find_op("aten.index_put.default");
  if (!op) return found;
  const ir::Graph& graph = module.main();
  const std::map<ValueId, ValueId> updates = find_updates(graph);
  std::vector<uint32_t> reads_left = count_reads(graph);
  for (const ir::Node& node : graph.nodes) {
    for (const ir::Argument& argument : node.args)
      ir::for_each_value(argument, [&](ValueId id) { --reads_left[id]; });
    if (node.op != *op) continue;
    const auto* self = ir::get_if<ir::ValueRef>(node.args[IndexPut::self]);
    const auto update = updates.find(node.outputs[0]);
    if (self == nullptr || update == updates.end() || update->second != self->id) continue;
    if (!is_taken_by_kernel(graph, node)) continue;
    uint32_t reads_here = 0;
    for (const ir::Argument& argument : node.args)
      ir::for_each_value(argument, [&](ValueId id) { reads_here += id == self->id ? 1 : 0; });
    if (reads_here == 1 && reads_left[self->id] == 0 && is_returned_once(graph, node.outputs[0]))
      found.insert(&node);
  }
  return found;
}

}  // namespace etb::emit
