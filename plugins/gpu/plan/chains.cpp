// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/chains.hpp"

#include <map>
#include <optional>

#include "plugins/gpu/plan/attention.hpp"
#include "plugins/gpu/plan/half_storage.hpp"
#include "plugins/gpu/plan/node_dispatch.hpp"
#include "plugins/gpu/plan/strided_dims.hpp"

namespace etb::gpu {

namespace {

constexpr uint32_t kNumberSlot = 15;  // slot of the second number of a step
constexpr uint32_t kFirstResultSlot = kMaxChainOperands;

// A number of the payload, which a step has among its numbers.
bool is_number(const GpuValue& value) {
  return value.role == ValueRole::kInline && value.type == DataType::kFloat32 && value.floats.size() == 1 &&
         value.shape.numel() == 1;
}

// Encodes the nodes of a chain. Returns nothing if they are more than the kernel has room for.
std::optional<Chain> encode(const GpuGraph& graph, const std::vector<uint32_t>& nodes) {
  if (nodes.size() > kMaxChainSteps) return std::nullopt;
  Chain chain;
  chain.nodes = nodes;
  std::map<uint32_t, uint32_t> slots;  // by value
  for (uint32_t n = 0; n < nodes.size(); ++n) slots[graph.nodes[nodes[n]].output] = kFirstResultSlot + n;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    const GpuNode& node = graph.nodes[nodes[n]];
    const bool is_binary = node.op == Operator::kBinary;
    auto step = static_cast<uint32_t>(node.ints[0]) + (is_binary ? kBinaryCodes : 0);
    chain.numbers[2 * n] = node.floats[0];
    if (!is_binary) chain.numbers[2 * n + 1] = node.floats[1];
    uint32_t number = kNoValue;  // the value in the step's second number
    for (uint32_t i = 0; i < node.inputs.size(); ++i) {
      const uint32_t input = node.inputs[i];
      uint32_t slot = kNumberSlot;
      if (is_binary && is_number(graph.value(input)) && (number == kNoValue || number == input)) {
        number = input;
        chain.numbers[2 * n + 1] = graph.value(input).floats[0];
      } else if (const auto known = slots.find(input); known != slots.end()) {
        slot = known->second;
      } else {
        if (chain.operand_count == kMaxChainOperands) return std::nullopt;
        slot = slots[input] = chain.operand_count;
        chain.operands[chain.operand_count++] = input;
      }
      step |= slot << (8 + 4 * i);
    }
    const bool is_last = n + 1 == nodes.size();  // the kernel rounds what it stores
    if (!is_last && graph.value(node.output).is_half) step |= kRoundsBit;
    if (computes_in_half(graph, node)) step |= kInHalfStepBit;
    chain.code.steps[n] = step;
  }
  if (chain.operand_count == 0) return std::nullopt;  // numbers only
  std::fill(chain.operands.begin() + chain.operand_count, chain.operands.end(), chain.operands[0]);
  return chain;
}

// True if an operand has fewer elements than the result.
bool broadcasts(const Chain& chain, uint32_t result, std::span<const Shape> shapes) {
  return std::any_of(chain.operands.begin(), chain.operands.end(),
                     [&](uint32_t operand) { return shapes[operand].numel() != shapes[result].numel(); });
}

class Finder {
 public:
  Finder(const GpuGraph& graph, std::span<const Shape> bounds, std::span<const uint32_t> attention_of)
      : graph_(graph),
        bounds_(bounds),
        attention_of_(attention_of),
        readers_(graph.values.size()),
        is_output_(graph.values.size(), false) {
    for (uint32_t i = 0; i < graph.nodes.size(); ++i)
      for (const uint32_t input : graph.nodes[i].inputs) readers_[input].push_back(i);
    for (const uint32_t output : graph.outputs) is_output_[output] = true;
  }

  // Goes through the nodes from the last one: the readers of a result come first.
  Chains find() {
    found_.of_node.assign(graph_.nodes.size(), kNoChain);
    for (auto i = static_cast<uint32_t>(graph_.nodes.size()); i-- > 0;) {
      if (is_in_attention(i) || !is_element_node(graph_.nodes[i]) || join(i)) continue;
      if (auto chain = encode(graph_, {i})) {
        found_.of_node[i] = static_cast<uint32_t>(found_.chains.size());
        found_.chains.push_back(*std::move(chain));
      }
    }
    keep_worthwhile();
    return std::move(found_);
  }

 private:
  bool is_in_attention(uint32_t node) const {
    return node < attention_of_.size() && attention_of_[node] != kNoAttention;
  }
  bool is_element_node(const GpuNode& node) const {
    if (node.op != Operator::kUnary && node.op != Operator::kBinary) return false;
    // x < x is a constant, and lavapipe of Mesa 22.3 then takes 0 + -0 for -0 in the next step.
    const bool is_constant = node.op == Operator::kBinary && node.inputs[0] == node.inputs[1] &&
                             node.ints[0] == static_cast<int32_t>(BinaryFunction::kLess);
    if (is_constant) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](uint32_t id) { return graph_.value(id).type == DataType::kFloat32; });
  }

  // Adds a node to the chain of all its readers.
  bool join(uint32_t index) {
    const uint32_t result = graph_.nodes[index].output;
    if (is_output_[result] || readers_[result].empty()) return false;
    const uint32_t chain = found_.of_node[readers_[result][0]];
    if (chain == kNoChain) return false;
    for (const uint32_t reader : readers_[result])
      if (found_.of_node[reader] != chain) return false;
    std::vector<uint32_t> nodes = found_.chains[chain].nodes;
    if (bounds_[graph_.nodes[nodes.back()].output].numel() != bounds_[result].numel()) return false;
    nodes.insert(nodes.begin(), index);
    auto longer = encode(graph_, nodes);
    if (!longer) return false;
    found_.chains[chain] = *std::move(longer);
    found_.of_node[index] = chain;
    return true;
  }

  // Drops chains of one node, and those of codes that save the fewest dispatches.
  void keep_worthwhile() {
    std::map<ChainCode, size_t> saved;
    for (const Chain& chain : found_.chains) saved[chain.code] += chain.nodes.size() - 1;
    std::vector<std::pair<size_t, ChainCode>> order;
    for (const auto& [code, count] : saved)
      if (count > 0) order.emplace_back(count, code);
    std::sort(order.begin(), order.end(), std::greater<>());
    if (order.size() > kMaxChainCodes) order.resize(kMaxChainCodes);
    Chains kept;
    kept.of_node.assign(graph_.nodes.size(), kNoChain);
    for (Chain& chain : found_.chains) {
      const auto is_code = [&](const auto& each) { return each.second == chain.code; };
      if (std::none_of(order.begin(), order.end(), is_code)) continue;
      for (const uint32_t node : chain.nodes) kept.of_node[node] = static_cast<uint32_t>(kept.chains.size());
      chain.broadcasts = broadcasts(chain, graph_.nodes[chain.nodes.back()].output, bounds_);
      kept.chains.push_back(std::move(chain));
    }
    found_ = std::move(kept);
  }

  const GpuGraph& graph_;
  std::span<const Shape> bounds_;
  std::span<const uint32_t> attention_of_;
  std::vector<std::vector<uint32_t>> readers_;  // by value: nodes
  std::vector<bool> is_output_;                 // by value
  Chains found_;
};

void add_numbers(Dispatch& dispatch, const Chain& chain) {
  for (const float number : chain.numbers) dispatch.add_float(number);
}

}  // namespace

Chains find_chains(const GpuGraph& graph, std::span<const Shape> bounds,
                   std::span<const uint32_t> attention_of) {
  return Finder(graph, bounds, attention_of).find();
}

// Each element of the result is computed from the elements of operands that broadcast to it. So the steps may have fewer
// elements for some sizes of a run, and the result is the same.
void dispatch_chain(const NodeDispatch& context, const Chain& chain) {
  const Shape& out = context.result();
  const bool has_broadcast = chain.broadcasts || broadcasts(chain, context.node.output, context.shapes);
  Dispatch& dispatch = context.add_empty(has_broadcast ? Kernel::kChainBroadcast : Kernel::kChain);
  dispatch.chain = chain.code;
  for (const uint32_t operand : chain.operands) dispatch.bind(operand);
  dispatch.bind(context.node.output);
  if (!has_broadcast) {
    const uint64_t groups = (out.numel() + 3) / 4;
    dispatch.add(static_cast<uint32_t>(groups));
    add_numbers(dispatch, chain);
    dispatch.set_linear(groups);
    return;
  }
  std::array<Strides, kMaxChainOperands + 1> views;
  for (uint32_t k = 0; k < kMaxChainOperands; ++k)
    views[k] = broadcast_strides(context.shapes[chain.operands[k]], out);
  views.back() = dense_strides(out);
  const StridedDims<kMaxChainOperands + 1> dims(out, views);
  uint32_t masks = 0;
  for (uint32_t k = 0; k < kMaxChainOperands; ++k)
    for (uint32_t d = 0; d < dims.rank; ++d)
      if (dims.strides[k][d] != 0) masks |= 1u << (kMaxRank * k + d);
  dispatch.add(static_cast<uint32_t>(dims.groups_of_four()));
  dispatch.add(dims.rank);
  dispatch.add(masks);
  for (const uint32_t size : dims.sizes) dispatch.add(size);
  add_numbers(dispatch, chain);
  dispatch.set_linear(dims.groups_of_four());
}

}  // namespace etb::gpu
