// SPDX-License-Identifier: Apache-2.0
// Places the tensors of a method in several memories, and explains why they do not fit.
#include <algorithm>
#include <set>

#include "partitioner_sdk/emit/method_emitter.hpp"

namespace etb::emit {

namespace {

constexpr size_t kNamedTensors = 8;

std::string bytes_text(uint64_t nbytes) { return std::to_string(nbytes) + " bytes"; }

uint64_t sum_of(std::span<const plan::Memory> memories) {
  uint64_t sum = 0;
  for (const plan::Memory& memory : memories)
    sum = memory.nbytes > plan::kUnlimited - sum ? plan::kUnlimited : sum + memory.nbytes;
  return sum;
}

uint64_t largest_of(std::span<const plan::Memory> memories) {
  uint64_t largest = 0;
  for (const plan::Memory& memory : memories) largest = std::max(largest, memory.nbytes);
  return largest;
}

}  // namespace

// An instruction in a loop counts once: how often it runs is not known.
std::vector<uint32_t> MethodEmitter::count_accesses() const {
  std::vector<uint32_t> accesses(blocks_.size(), 0);
  const auto add_value = [&](ValueIndex value, std::set<size_t>& used) {
    const auto block = block_of_.find(value);
    if (block != block_of_.end()) used.insert(block->second);
  };
  for (const format::InstructionSpec& instruction : method_.instructions) {
    std::set<size_t> used;
    for (const ValueIndex value : instruction.args) {
      add_value(value, used);
      const format::ValueSpec& spec = method_.values[static_cast<size_t>(value)];
      if (const auto* list = std::get_if<format::TensorListSpec>(&spec))
        for (const int32_t item : list->items) add_value(item, used);
      if (const auto* list = std::get_if<format::OptionalTensorListSpec>(&spec))
        for (const int32_t item : list->items) add_value(item, used);
    }
    for (const size_t block : used) ++accesses[block];
  }
  return accesses;
}

std::string MethodEmitter::block_text(uint32_t block) const {
  const ValueIndex value = block_values_[block];
  const auto& tensor = std::get<format::TensorSpec>(method_.values[static_cast<size_t>(value)]);
  std::string text = tensor_names_.at(value) + " [";
  for (size_t i = 0; i < tensor.sizes.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(tensor.sizes[i]);
  return text + "] of " + bytes_text(blocks_[block].nbytes);
}

std::string MethodEmitter::step_text(uint32_t step) const {
  if (step >= method_.instructions.size()) return "the end of the method";
  std::string text = "instruction " + std::to_string(step);
  const uint32_t handle = debug_handles_[step];
  for (const ir::Graph& graph : module_.graphs)
    for (const ir::Node& node : graph.nodes) {
      if (handle == 0 || node.debug_handle != handle) continue;
      const std::string at = ir::format_source(module_, node.source);
      return text + " (" + module_.op(node).name + (at.empty() ? "" : ", " + at) + ")";
    }
  return text;
}

tl::unexpected<Error> MethodEmitter::too_large(const plan::Placement& placement,
                                               std::span<const plan::Memory> memories) const {
  const plan::PeakStep peak = plan::find_peak_step(blocks_, kArenaAlignment);
  const uint64_t room = sum_of(memories);
  const auto largest =
      std::max_element(placement.unplaced.begin(), placement.unplaced.end(),
                       [&](uint32_t a, uint32_t b) { return blocks_[a].nbytes < blocks_[b].nbytes; });
  std::string text;
  if (blocks_[*largest].nbytes > largest_of(memories))
    text = "tensor " + block_text(*largest) + " is larger than every memory";
  else if (peak.nbytes > room)
    text = "its tensors do not fit into the memories";
  else
    text = "no placement was found that has room for " + block_text(*largest);
  text += "; the memories have " + bytes_text(room) + " in all, the peak is " + bytes_text(peak.nbytes) +
          " at " + step_text(peak.step) + ":";
  uint64_t rest = 0;
  for (size_t i = 0; i < peak.blocks.size(); ++i) {
    if (i < kNamedTensors)
      text += "\n  " + block_text(peak.blocks[i]);
    else
      rest += blocks_[peak.blocks[i]].nbytes;
  }
  if (peak.blocks.size() > kNamedTensors)
    text += "\n  and " + std::to_string(peak.blocks.size() - kNamedTensors) + " more of " + bytes_text(rest);
  return make_error(Code::OUT_OF_MEMORY, std::move(text));
}

void MethodEmitter::report_memories(const plan::Placement& placement, const std::vector<uint32_t>& accesses) {
  const auto& memories = data_.memories;
  memories_.memories.assign(memories.begin(), memories.end());
  memories_.uses = placement.uses;
  memories_.shared_state_nbytes = has_shared_state_ ? data_.shared_state.nbytes() : 0;
  uint64_t cheapest = plan::kUnlimited;
  for (const plan::Memory& memory : memories) cheapest = std::min(cheapest, memory.cost);
  for (uint32_t i = 0; i < blocks_.size(); ++i) {
    const plan::Memory& memory = memories[placement.memory[i]];
    if (memory.cost == cheapest || blocks_[i].nbytes == 0) continue;
    memories_.spills.push_back({block_text(i), memory.name, blocks_[i].nbytes, accesses[i]});
  }
  std::stable_sort(memories_.spills.begin(), memories_.spills.end(), [](const auto& a, const auto& b) {
    return a.nbytes * a.accesses > b.nbytes * b.accesses;
  });
}

Status MethodEmitter::place_in_memories() {
  std::vector<plan::Memory> memories(data_.memories.begin(), data_.memories.end());
  // State that methods share has an arena of its own, in the costliest memory.
  if (has_shared_state_) {
    const auto last =
        std::max_element(memories.begin(), memories.end(),
                         [](const plan::Memory& a, const plan::Memory& b) { return a.cost <= b.cost; });
    const uint64_t nbytes = data_.shared_state.nbytes();
    if (last->nbytes < nbytes)
      return make_error(Code::OUT_OF_MEMORY, "the state that methods share has " + bytes_text(nbytes) +
                                                 ", memory '" + last->name + "' has " +
                                                 bytes_text(last->nbytes));
    if (last->nbytes != plan::kUnlimited) last->nbytes -= nbytes;
  }
  const std::vector<uint32_t> accesses = count_accesses();
  const plan::Placement placement = plan::place_blocks(blocks_, accesses, memories);
  if (!placement.unplaced.empty()) return too_large(placement, memories);
  method_.arena_sizes = {0};
  for (const plan::MemoryUse& use : placement.uses) {
    method_.arena_sizes.push_back(static_cast<int64_t>(use.arena_nbytes));
    plan_.arena_nbytes += use.arena_nbytes;
  }
  // The bound counts the padding of last blocks, which arenas here need not have.
  plan_.lower_bound_nbytes = std::min(placement.lower_bound_nbytes, plan_.arena_nbytes);
  if (has_shared_state_) method_.arena_sizes.push_back(static_cast<int64_t>(data_.shared_state.nbytes()));
  for (size_t i = 0; i < blocks_.size(); ++i) {
    auto& tensor = std::get<format::TensorSpec>(method_.values[static_cast<size_t>(block_values_[i])]);
    tensor.memory_id = placement.memory[i] + 1;
    tensor.memory_offset = placement.offsets[i];
  }
  report_memories(placement, accesses);
  return plan::verify_placement(blocks_, placement, memories);
}

}  // namespace etb::emit
