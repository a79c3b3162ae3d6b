// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/residuals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace etb::gpu {

namespace {

constexpr uint32_t kNoNode = UINT32_MAX;

class Finder {
 public:
  Finder(const GpuGraph& graph, std::span<const Shape> bounds, const Attentions& attentions,
         const Chains& chains)
      : graph_(graph),
        bounds_(bounds),
        attentions_(attentions),
        chains_(chains),
        producers_(graph.values.size(), kNoNode),
        readers_(graph.values.size()) {
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      producers_[graph.nodes[i].output] = i;
      for (const uint32_t input : graph.nodes[i].inputs) readers_[input].push_back(i);
    }
    for (const uint32_t output : graph.outputs) readers_[output].push_back(kNoNode);  // the host
  }

  // Returns the residual whose sum this node is.
  std::optional<Residual> match(uint32_t sum) const {
    const GpuNode& node = graph_.nodes[sum];
    if (node.op != Operator::kBinary || node.floats[0] != 1 || attentions_.find(sum) != nullptr ||
        node.ints[field::kBinaryFunction] != static_cast<int32_t>(BinaryFunction::kAdd))
      return std::nullopt;
    Residual found;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    found.sum_low = -kInfinity;
    found.sum_high = kInfinity;
    found.nodes = {sum};
    add_clamp(found);
    const Chain* const chain = chains_.find(sum);
    if (chain != nullptr && chain->nodes != found.nodes) return std::nullopt;
    // Prefers the later one of two products: the other one is computed where it was. The index of no node becomes 0.
    const uint32_t a = node.inputs[0], b = node.inputs[1];
    const bool is_first = producers_[a] + 1 >= producers_[b] + 1;
    const uint32_t later = is_first ? a : b, earlier = is_first ? b : a;
    if (!add_product(later, earlier, found) && !add_product(earlier, later, found)) return std::nullopt;
    found.result = graph_.nodes[found.nodes.back()].output;
    return found;
  }

 private:
  bool has_one_reader(uint32_t value) const {
    return readers_[value].size() == 1 && readers_[value][0] != kNoNode;
  }

  // The kernel rounds the product as it rounds the result.
  bool has_same_elements(uint32_t a, uint32_t b) const {
    return graph_.value(a).is_half == graph_.value(b).is_half;
  }

  void add_clamp(Residual& found) const {
    const uint32_t sum = found.nodes.back(), result = graph_.nodes[sum].output;
    if (!has_one_reader(result)) return;
    const GpuNode& node = graph_.nodes[readers_[result][0]];
    if (node.op != Operator::kUnary || std::isnan(node.floats[0]) || std::isnan(node.floats[1]) ||
        node.ints[field::kFunction] != static_cast<int32_t>(UnaryFunction::kClamp) ||
        !has_same_elements(node.output, result) || chains_.find(readers_[result][0]) != chains_.find(sum))
      return;
    found.nodes.push_back(readers_[result][0]);
    found.sum_low = node.floats[0];
    found.sum_high = node.floats[1];
  }

  // Goes back from an operand of the sum to a product, through views of it.
  bool add_product(uint32_t operand, uint32_t added, Residual& found) const {
    const uint32_t sum_result = graph_.nodes[found.nodes[0]].output;
    const auto fits = [&](uint32_t value) {
      return graph_.value(value).type == DataType::kFloat32 &&
             bounds_[value].numel() == bounds_[sum_result].numel();
    };
    if (graph_.value(added).role == ValueRole::kInline || !fits(added) || !fits(operand)) return false;
    std::vector<uint32_t> nodes = found.nodes;
    while (has_one_reader(operand) && producers_[operand] != kNoNode &&
           has_same_elements(operand, sum_result)) {
      const uint32_t producer = producers_[operand];
      const GpuNode& node = graph_.nodes[producer];
      nodes.insert(nodes.begin(), producer);
      if (node.op == Operator::kMatmul || node.op == Operator::kConvolution) {
        if (attentions_.find(producer) != nullptr) return false;
        found.nodes = std::move(nodes);
        found.product = producer;
        found.added = added;
        return true;
      }
      if (node.op != Operator::kReshape) return false;
      operand = node.inputs[0];
    }
    return false;
  }

  const GpuGraph& graph_;
  std::span<const Shape> bounds_;
  const Attentions& attentions_;
  const Chains& chains_;
  std::vector<uint32_t> producers_;             // by value: a node
  std::vector<std::vector<uint32_t>> readers_;  // by value: nodes
};

// Takes the chains of these nodes out of the list.
void remove_chains(Chains& chains, const Residuals& residuals) {
  Chains kept;
  kept.of_node.assign(chains.of_node.size(), kNoChain);
  for (Chain& chain : chains.chains) {
    if (residuals.find(chain.nodes[0]) != nullptr) continue;
    for (const uint32_t node : chain.nodes) kept.of_node[node] = static_cast<uint32_t>(kept.chains.size());
    kept.chains.push_back(std::move(chain));
  }
  chains = std::move(kept);
}

}  // namespace

Residuals find_residuals(const GpuGraph& graph, std::span<const Shape> bounds, const Attentions& attentions,
                         Chains& chains) {
  Residuals found;
  found.of_node.assign(graph.nodes.size(), kNoResidual);
  const Finder finder(graph, bounds, attentions, chains);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    auto residual = finder.match(i);
    if (!residual) continue;
    for (const uint32_t node : residual->nodes) found.of_node[node] = static_cast<uint32_t>(found.all.size());
    found.all.push_back(*std::move(residual));
  }
  remove_chains(chains, found);
  return found;
}

Status check_sizes(const GpuGraph& graph, const Residual& residual, std::span<const Shape> shapes) {
  const uint64_t count = shapes[residual.result].numel();
  if (shapes[graph.nodes[residual.product].output].numel() == count &&
      shapes[residual.added].numel() == count)
    return {};
  return make_error(Code::NOT_SUPPORTED,
                    "value " + std::to_string(residual.result) +
                        ": a sum that broadcasts for these sizes, but not for the largest "
                        "ones\nhint: set the option fusion to off");
}

}  // namespace etb::gpu
