// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/compile/graph_lowering.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "api/format/content_name.hpp"
#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/graph/shapes.hpp"

namespace etb::gpu {

namespace {

// Adds a copy of a value, for an output that is an input, a constant or another output.
uint32_t add_copy(GpuGraph& graph, uint32_t id, uint32_t rank) {
  GpuNode copy{Operator::kReshape, {id}, static_cast<uint32_t>(graph.values.size())};
  for (uint32_t d = 0; d < rank; ++d) copy.ints.push_back(kCopiedSize - static_cast<int32_t>(d));
  graph.values.emplace_back();
  graph.nodes.push_back(std::move(copy));
  return graph.nodes.back().output;
}

// Returns the most bytes of constants among the plans of all devices and options, which pack and widen weights in other ways. `plan`: that
// of kRegisters for the graph, with float32.
uint64_t most_constant_bytes(const GpuGraph& graph, const ExecutionPlan& plan) {
  uint64_t most = plan.memory.constant_bytes;
  const auto count = [&](KernelFamily family, HalfStorage halves) {
    const auto other = make_execution_plan(graph, family, kMostOffsetAlignment, Fusion::kOn, halves);
    if (other) most = std::max(most, other->memory.constant_bytes);
  };
  count(KernelFamily::kRegisters, HalfStorage::kOn);
  for (const KernelFamily family : {KernelFamily::kTiles, KernelFamily::kVectors, KernelFamily::kGroups})
    for (const HalfStorage halves : {HalfStorage::kOff, HalfStorage::kOn}) count(family, halves);
  return most;
}

}  // namespace

Status GraphLowering::add_inputs() {
  for (uint32_t i = 0; i < state_.image.input_count(); ++i) {
    const etb_graph_input input = state_.image.input(i);
    if (input.constant == graph::kNone || input.updated_by != graph::kNone)
      ETB_TRY(enter(state_, i, Entered::kAny));
  }
  return {};
}

Status GraphLowering::lower(const Node& node) {
  const Op* op = find_op(node.op_name());
  const OpRow* row = detail::find_row(op_rows(), node.op_name());
  if (op == nullptr || row == nullptr)
    return reject("op", std::string(node.op_name()) + ": not in the op table");
  if (const Claim claim = detail::check_row(node, *row); !claim.is_claimed)
    return reject(claim.reason, claim.text);
  if (node.output_count() == 0) return reject("op", "no result");
  LoweringContext context(state_, node);
  const size_t first_node = state_.graph.nodes.size();
  ETB_TRY(op->lower(context));
  add_handle(node, first_node);
  return {};
}

void GraphLowering::add_handle(const Node& node, size_t first_node) {
  if (node.debug_handle() == 0) return;
  for (size_t i = first_node; i < state_.graph.nodes.size(); ++i)
    handles_[state_.graph.nodes[i].output].insert(node.debug_handle());
  // A node may have become a part of an earlier one.
  for (const Value& result : node.results())
    if (const auto found = state_.ids.find(result.id()); found != state_.ids.end())
      handles_[found->second].insert(node.debug_handle());
}

Status GraphLowering::check(std::span<const uint32_t> values) const {
  std::vector<Shape> shapes;
  for (const GpuValue& value : state_.graph.values) shapes.push_back(value.shape);
  if (Status inferred = infer_shapes(state_.graph, shapes); !inferred)
    return reject("attribute", inferred.error().message);
  for (const uint32_t value : values) {
    const auto found = state_.ids.find(value);
    if (found == state_.ids.end()) continue;
    const etb_graph_spec spec = state_.image.value(value).spec();
    const Shape& shape = shapes[found->second];
    bool fits = shape.rank == spec.rank;
    for (uint32_t d = 0; fits && d < shape.rank; ++d) fits = spec.sizes[d] == int64_t{shape.sizes[d]};
    if (!fits)
      return reject(spec.dynamic_dims != 0 ? "dynamic" : "attribute",
                    "result whose sizes do not follow from those of the operands");
  }
  GpuGraph graph = state_.graph;
  for (uint32_t i = 0; i < graph.values.size(); ++i)
    if (graph.value(i).role == ValueRole::kResult) graph.outputs.push_back(i);
  const auto plan = make_execution_plan(std::move(graph));
  if (!plan) return reject("attribute", plan.error().message);
  if (const Status fits = check_ranges(*plan, value_limit_); !fits)
    return reject("attribute", fits.error().message);
  return {};
}

Status GraphLowering::add_outputs() {
  std::vector<bool> is_output(state_.graph.values.size(), false);
  for (uint32_t i = 0; i < state_.image.output_count(); ++i) {
    const Value value = state_.image.output(i);
    const auto found = state_.ids.find(value.id());
    if (found == state_.ids.end())
      return reject("op", "'" + std::string(value.name()) + "': an output that no node computes");
    uint32_t id = found->second;
    if (state_.graph.value(id).type != DataType::kFloat32) return reject("dtype", "an output of integers");
    const bool is_result = state_.graph.value(id).role == ValueRole::kResult;
    if (!is_result || (id < is_output.size() && is_output[id])) {
      id = add_copy(state_.graph, id, value.spec().rank);
    } else {
      is_output[id] = true;
    }
    state_.graph.values[id].host = host_numbers_of(value.spec().dtype);
    state_.graph.outputs.push_back(id);
  }
  return {};
}

// Returns the debug handles of all nodes, ascending.
std::vector<uint32_t> GraphLowering::debug_handles() const {
  std::set<uint32_t> handles;
  for (uint32_t i = 0; i < state_.image.node_count(); ++i)
    handles.insert(state_.image.node(i).debug_handle());
  handles.erase(0);
  return {handles.begin(), handles.end()};
}

// Returns the handles of the nodes whose results an output is: that of a copy at the end has no node of its own.
std::set<uint32_t> GraphLowering::handles_of_output(uint32_t id) const {
  std::set<uint32_t> handles;
  for (uint32_t k = 0; k < state_.image.output_count(); ++k) {
    if (state_.graph.outputs[k] != id) continue;
    const uint32_t value = state_.image.output(k).id();
    for (uint32_t i = 0; i < state_.image.node_count(); ++i) {
      const Node node = state_.image.node(i);
      const bool makes = value >= node.first_output() && value < node.first_output() + node.output_count();
      if (makes && node.debug_handle() != 0) handles.insert(node.debug_handle());
    }
  }
  return handles;
}

// The plan merges nodes: what it no longer has is a part of the node that reads it. The event of a fusion is that of its last
// node. The others have events, too, for a delegate without fusion. Which nodes are one depends on the device.
void GraphLowering::add_node_events(const ExecutionPlan& plan, Artifact& artifact) const {
  std::map<uint32_t, const GpuNode*> producers;
  for (const GpuNode& node : state_.graph.nodes) producers[node.output] = &node;
  std::set<uint32_t> planned;
  for (const GpuNode& node : plan.graph.nodes) planned.insert(node.output);
  const auto handles_of = [&](const GpuNode& node) {
    std::set<uint32_t> handles;
    for (uint32_t value = node.output;;) {
      if (const auto found = handles_.find(value); found != handles_.end())
        handles.insert(found->second.begin(), found->second.end());
      const auto producer = producers.find(value);
      if (producer == producers.end() || producer->second->inputs.empty()) break;
      value = producer->second->inputs[0];
      if (producers.count(value) == 0 || planned.count(value) != 0) break;
    }
    return handles.empty() ? handles_of_output(node.output) : handles;
  };
  std::vector<Fusions> fusions;
  for (const KernelFamily family : {KernelFamily::kRegisters, KernelFamily::kTiles, KernelFamily::kVectors})
    fusions.push_back(find_fusions(plan.graph, plan.bounds, family, true));
  for (uint32_t i = 0; i < plan.graph.nodes.size(); ++i) {
    const GpuNode& node = plan.graph.nodes[i];
    std::set<uint32_t> handles = handles_of(node);
    for (const Fusions& each : fusions)
      if (each.computed_at(i) == i)
        for (const uint32_t inner : each.nodes_with(i)) handles.merge(handles_of(plan.graph.nodes[inner]));
    if (!handles.empty())
      artifact.debug_map.push_back({.name = event_name(node), .handles = {handles.begin(), handles.end()}});
  }
}

// Results have names of their own, for a recording of values. One result may be that of several nodes, such as a
// convolution and its activation.
void GraphLowering::add_results(Artifact& artifact) const {
  std::map<uint32_t, std::set<uint32_t>> by_result;
  for (uint32_t i = 0; i < state_.image.node_count(); ++i) {
    const Node node = state_.image.node(i);
    for (uint32_t k = 0; k < node.output_count(); ++k) {
      const auto id = state_.ids.find(node.first_output() + k);
      if (node.debug_handle() != 0 && id != state_.ids.end())
        by_result[id->second].insert(node.debug_handle());
    }
  }
  for (const auto& [id, nodes] : by_result)
    artifact.debug_map.push_back({.name = result_name(id), .handles = {nodes.begin(), nodes.end()}});
}

Result<Artifact> GraphLowering::finish() {
  Artifact artifact;
  std::map<std::string, bool> named;
  for (auto& [id, value] : state_.constants) {
    std::optional<Payload> owner;
    ETB_ASSIGN(auto bytes, constant_bytes(state_, value, owner));
    const auto part = state_.parts.find(id);
    if (part != state_.parts.end()) {
      if (bytes.size() < part->second.offset + part->second.nbytes)
        return make_error(Code::INVALID_DATA, "a constant without all its elements");
      bytes = bytes.subspan(part->second.offset, part->second.nbytes);
    }
    std::string& key = state_.graph.values[id].key;
    key = format::content_name(bytes);
    if (!named.emplace(key, true).second) continue;
    const etb_graph_input input = state_.image.input(value);
    Artifact::NamedBlob blob;
    blob.key = key;
    blob.alignment = 16;
    if (part != state_.parts.end()) {
      blob.value.assign(bytes.begin(), bytes.end());
    } else {
      blob.constant_key = etb_graph_get_constant(&state_.image.view(), input.constant).key;
    }
    artifact.named_blobs.push_back(std::move(blob));
  }
  artifact.format_version = payload_version(state_.graph);
  artifact.payload = write_payload(state_.graph);
  // Checks that our own delegate accepts the payload. The claims reject a node that the plan refuses.
  ETB_ASSIGN(const GpuGraph read, read_payload(artifact.payload));
  Result<ExecutionPlan> planned = make_execution_plan(read);
  if (!planned) return reject("attribute", planned.error().message);
  const ExecutionPlan plan = std::move(*planned);
  if (const Status fits = check_ranges(plan, value_limit_); !fits)
    return reject("attribute", fits.error().message);
  artifact.resident_bytes = most_constant_bytes(read, plan);
  // The commands of all nodes are submitted together: without time stamps a run is one event.
  if (std::vector<uint32_t> handles = debug_handles(); !handles.empty())
    artifact.debug_map.push_back({.name = kRunEvent, .handles = std::move(handles)});
  add_node_events(plan, artifact);
  add_results(artifact);
  return artifact;
}

}  // namespace etb::gpu
