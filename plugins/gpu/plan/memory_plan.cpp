// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/memory_plan.hpp"

#include <algorithm>

namespace etb::gpu {

namespace {

uint64_t round_up(uint64_t number, uint64_t to) { return (number + to - 1) / to * to; }

uint64_t padded(uint64_t nbytes) { return std::max<uint64_t>(round_up(nbytes, 16), 16); }

// A value of the arena, from the node that writes it to the last one that reads it.
struct Block {
  uint32_t value = kNoValue;
  size_t first = 0, last = 0;
  uint64_t nbytes = 0, offset = 0;
};

std::vector<Block> find_blocks(const GpuGraph& graph, const Fusions& fusions, std::span<const Shape> shapes,
                               std::span<const uint32_t> aliases, const MemoryPlan& plan) {
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> block_of(graph.values.size(), kNone);
  std::vector<Block> blocks;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const GpuNode& node = graph.nodes[i];
    const uint32_t computed_at = fusions.computed_at(i);
    const auto keep = [&](uint32_t value) {
      if (const size_t block = block_of[aliases[value]]; block != kNone)
        blocks[block].last = std::max<size_t>(blocks[block].last, computed_at);
    };
    for (const uint32_t input : node.inputs) keep(input);
    if (const Attention* const attention = fusions.attentions.find(i); attention != nullptr)
      for (const uint32_t operand : attention->operands()) keep(operand);
    if (computed_at != i) continue;
    if (const Attention* const attention = fusions.attentions.find(i);
        attention != nullptr && attention->turns_k)
      blocks.push_back({attention->key_columns, i, i, padded(shapes[attention->k].numel() * sizeof(float))});
    const uint32_t output = node.output;
    if (aliases[output] != output || plan.locations[output].memory != Memory::kNone) continue;
    block_of[output] = blocks.size();
    blocks.push_back({output, i, i, padded(shapes[output].numel() * element_nbytes(graph.value(output)))});
  }
  return blocks;
}

// Places large blocks first, each at the lowest offset where no block that lives at the same time is.
uint64_t place(std::vector<Block>& blocks, uint64_t alignment) {
  std::vector<Block*> order;
  for (Block& block : blocks) order.push_back(&block);
  std::stable_sort(order.begin(), order.end(),
                   [](const Block* a, const Block* b) { return a->nbytes > b->nbytes; });
  std::vector<const Block*> placed;  // by offset
  uint64_t total = 0;
  for (Block* block : order) {
    uint64_t offset = 0;
    for (const Block* other : placed) {
      if (other->last < block->first || block->last < other->first) continue;
      if (offset + block->nbytes <= other->offset) break;
      offset = std::max(offset, round_up(other->offset + other->nbytes, alignment));
    }
    block->offset = offset;
    total = std::max(total, offset + block->nbytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), block,
                                   [](const Block* a, const Block* b) { return a->offset < b->offset; }),
                  block);
  }
  return total;
}

}  // namespace

std::vector<uint32_t> find_aliases(const GpuGraph& graph) {
  std::vector<uint32_t> aliases(graph.values.size());
  for (uint32_t i = 0; i < aliases.size(); ++i) aliases[i] = i;
  std::vector<bool> is_output(graph.values.size(), false);
  for (const uint32_t output : graph.outputs) is_output[output] = true;
  const auto has_same_elements = [&](const GpuNode& node) {
    return graph.value(node.output).is_half == graph.value(node.inputs[0]).is_half;
  };
  for (const GpuNode& node : graph.nodes)
    if (node.op == Operator::kReshape && !is_output[node.output] && has_same_elements(node))
      aliases[node.output] = aliases[node.inputs[0]];
  return aliases;
}

Result<MemoryPlan> plan_memory(const GpuGraph& graph, const Fusions& fusions, std::span<const Shape> shapes,
                               std::span<const uint32_t> aliases, std::span<const PackedConstant> constants,
                               uint64_t alignment) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 40;
  MemoryPlan plan;
  plan.locations.resize(graph.values.size());
  for (const auto* ids : {&graph.inputs, &graph.outputs}) {
    for (const uint32_t id : *ids) {
      const GpuValue& value = graph.value(id);
      const bool has_elements = value.role != ValueRole::kInput || value.host != HostNumbers::kSize;
      const uint64_t nbytes = padded(has_elements ? shapes[id].numel() * element_nbytes(value) : 0);
      plan.locations[id] = {Memory::kTransfer, plan.transfer_bytes, nbytes};
      plan.transfer_bytes = round_up(plan.transfer_bytes + nbytes, alignment);
    }
  }
  for (const PackedConstant& constant : constants) {
    const GpuValue& value = graph.value(constant.value);
    const uint64_t nbytes = padded(packed_numel(constant, value) * element_nbytes(value));
    plan.locations[constant.value] = {Memory::kConstants, plan.constant_bytes, nbytes};
    plan.constant_bytes = round_up(plan.constant_bytes + nbytes, alignment);
  }
  std::vector<Block> blocks = find_blocks(graph, fusions, shapes, aliases, plan);
  plan.arena_bytes = place(blocks, alignment);
  for (const Block& block : blocks)
    plan.locations[block.value] = {Memory::kArena, block.offset, block.nbytes};
  for (uint32_t i = 0; i < aliases.size(); ++i)
    if (aliases[i] != i) plan.locations[i] = plan.locations[aliases[i]];
  if (std::max({plan.transfer_bytes, plan.arena_bytes, plan.constant_bytes}) > kMostBytes)
    return make_error(Code::OUT_OF_MEMORY, "payload: values of more than 2^40 bytes");
  return plan;
}

}  // namespace etb::gpu
