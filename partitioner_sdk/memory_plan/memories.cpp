// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/memory_plan/memories.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace etb::plan {

namespace {

uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Placements of a block, each compared with all others: about 50 ms.
constexpr size_t kWork = 20'000'000;
constexpr size_t kMostAttempts = 400;

// The blocks that compete for one memory.
struct Contest {
  std::span<const Block> blocks;
  std::span<const uint64_t> values;  // gain by keeping a block here
  const Memory& memory;
};

struct Kept {
  std::vector<std::optional<uint64_t>> offsets;  // by block; none: the block goes to a later memory
  uint64_t value = 0;
};

// Finds the lowest gap between the kept blocks that live at the same time.
std::optional<uint64_t> find_room(const Contest& contest, const Kept& kept, uint32_t index,
                                  std::vector<std::pair<uint64_t, uint64_t>>& taken) {
  const Block& block = contest.blocks[index];
  const uint64_t alignment = contest.memory.alignment;
  taken.clear();
  for (uint32_t i = 0; i < contest.blocks.size(); ++i) {
    const Block& other = contest.blocks[i];
    if (kept.offsets[i] && other.first <= block.last && block.first <= other.last)
      taken.emplace_back(*kept.offsets[i], *kept.offsets[i] + align_up(other.nbytes, alignment));
  }
  std::sort(taken.begin(), taken.end());
  uint64_t end = 0;
  const uint64_t nbytes = align_up(block.nbytes, alignment);
  for (const auto& [from, to] : taken) {
    if (from > end && from - end >= nbytes) break;
    end = std::max(end, to);
  }
  const uint64_t limit = contest.memory.nbytes;
  if (end > limit || block.nbytes > limit - end) return {};
  return end;
}

Kept keep_in_order(const Contest& contest, const std::vector<uint32_t>& order) {
  Kept kept;
  kept.offsets.resize(contest.blocks.size());
  std::vector<std::pair<uint64_t, uint64_t>> taken;
  for (const uint32_t index : order) {
    kept.offsets[index] = find_room(contest, kept, index, taken);
    if (kept.offsets[index]) kept.value += contest.values[index];
  }
  return kept;
}

std::vector<std::vector<uint32_t>> make_orders(const Contest& contest) {
  const auto nbytes = [&](uint32_t i) { return static_cast<double>(contest.blocks[i].nbytes); };
  const auto life = [&](uint32_t i) {
    return static_cast<double>(contest.blocks[i].last - contest.blocks[i].first + 1);
  };
  const auto value = [&](uint32_t i) { return static_cast<double>(contest.values[i]); };
  std::vector<uint32_t> order(contest.blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::vector<std::vector<uint32_t>> orders;
  const auto add = [&](const auto& key) {
    orders.push_back(order);
    std::stable_sort(orders.back().begin(), orders.back().end(),
                     [&](uint32_t a, uint32_t b) { return key(a) > key(b); });
  };
  add([&](uint32_t i) { return value(i) / (nbytes(i) * life(i)); });
  add(value);
  add([&](uint32_t i) { return value(i) / life(i); });
  add(nbytes);
  add([&](uint32_t i) { return -static_cast<double>(contest.blocks[i].first); });
  return orders;
}

// Moves blocks without room ahead in the order, and walks over results that are no worse.
class Walk {
 public:
  Walk(const Contest& contest, std::vector<uint32_t> order, Kept start)
      : contest_(contest), order_(std::move(order)), kept_(std::move(start)) {}

  void step() {
    std::vector<size_t> left;
    for (size_t at = 0; at < order_.size(); ++at)
      if (!kept_.offsets[order_[at]]) left.push_back(at);
    if (left.empty()) return;
    std::vector<uint32_t> changed = order_;
    const size_t from = left[next_random() % left.size()], to = next_random() % (from + 1);
    std::rotate(changed.begin() + static_cast<std::ptrdiff_t>(to),
                changed.begin() + static_cast<std::ptrdiff_t>(from),
                changed.begin() + static_cast<std::ptrdiff_t>(from) + 1);
    Kept found = keep_in_order(contest_, changed);
    if (found.value < kept_.value) return;
    order_ = std::move(changed);
    kept_ = std::move(found);
  }

  Kept& kept() { return kept_; }

 private:
  uint32_t next_random() {
    random_ = random_ * 1664525u + 1013904223u;
    return random_ >> 8;
  }

  const Contest& contest_;
  std::vector<uint32_t> order_;
  Kept kept_;
  uint32_t random_ = 1;
};

Kept choose(const Contest& contest) {
  const std::vector<std::vector<uint32_t>> orders = make_orders(contest);
  size_t best = 0;
  std::vector<Kept> results;
  for (const std::vector<uint32_t>& order : orders) {
    results.push_back(keep_in_order(contest, order));
    if (results.back().value > results[best].value) best = results.size() - 1;
  }
  const size_t count = contest.blocks.size();
  const size_t attempts = std::min(kMostAttempts, kWork / std::max<size_t>(count * count, 1));
  Walk walk(contest, orders[best], std::move(results[best]));
  for (size_t i = 0; i < attempts; ++i) walk.step();
  return std::move(walk.kept());
}

// Blocks of a plan by their index in all blocks.
struct Selection {
  std::vector<uint32_t> indices;
  std::vector<Block> blocks;

  void add(uint32_t index, const Block& block) {
    indices.push_back(index);
    blocks.push_back(block);
  }
};

class Placer {
 public:
  Placer(std::span<const Block> blocks, std::span<const uint32_t> accesses, std::span<const Memory> memories)
      : blocks_(blocks), accesses_(accesses), memories_(memories) {
    order_.resize(memories.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return memories[a].cost < memories[b].cost; });
  }

  enum class Goal { kFewCostlyAccesses, kMostBytes };

  Placement run(Goal goal) {
    out_ = {};
    out_.memory.assign(blocks_.size(), order_[0]);
    out_.offsets.assign(blocks_.size(), 0);
    out_.uses.assign(memories_.size(), {});
    Selection left;
    for (uint32_t i = 0; i < blocks_.size(); ++i)
      if (blocks_[i].nbytes != 0) left.add(i, blocks_[i]);
    out_.lower_bound_nbytes = find_peak_step(left.blocks, 16).nbytes;
    for (size_t rank = 0; rank < order_.size() && !left.indices.empty(); ++rank)
      left = fill(rank, left, goal);
    out_.unplaced = std::move(left.indices);
    for (uint32_t i = 0; i < blocks_.size(); ++i)
      out_.uses[out_.memory[i]].accessed_nbytes += blocks_[i].nbytes * accesses_[i];
    return std::move(out_);
  }

 private:
  // Returns the blocks that stay without room.
  Selection fill(size_t rank, const Selection& left, Goal goal) {
    const uint32_t id = order_[rank];
    const Memory& memory = memories_[id];
    const Plan whole = make_plan(left.blocks, memory.alignment);
    if (whole.arena_nbytes <= memory.nbytes) {
      for (size_t i = 0; i < left.indices.size(); ++i) put(left.indices[i], id, whole.offsets[i]);
      out_.uses[id].arena_nbytes = whole.arena_nbytes;
      return {};
    }
    const std::vector<uint64_t> values = values_of(rank, left, goal);
    const Kept kept = choose({left.blocks, values, memory});
    Selection here, rest;
    std::vector<uint64_t> offsets;
    for (uint32_t i = 0; i < left.indices.size(); ++i) {
      (kept.offsets[i] ? here : rest).add(left.indices[i], left.blocks[i]);
      if (kept.offsets[i]) offsets.push_back(*kept.offsets[i]);
    }
    const Plan again = make_plan(here.blocks, memory.alignment);
    uint64_t end = 0;
    for (size_t i = 0; i < offsets.size(); ++i) end = std::max(end, offsets[i] + here.blocks[i].nbytes);
    if (again.arena_nbytes <= end) offsets = again.offsets;
    for (size_t i = 0; i < here.indices.size(); ++i) put(here.indices[i], id, offsets[i]);
    out_.uses[id].arena_nbytes = std::min(end, again.arena_nbytes);
    return rest;
  }

  // A block that fits into no later memory has precedence.
  std::vector<uint64_t> values_of(size_t rank, const Selection& left, Goal goal) const {
    uint64_t largest_later = 0;
    for (size_t later = rank + 1; later < order_.size(); ++later)
      largest_later = std::max(largest_later, memories_[order_[later]].nbytes);
    std::vector<uint64_t> values;
    uint64_t sum = 1;
    for (size_t i = 0; i < left.indices.size(); ++i) {
      const Block& block = left.blocks[i];
      const uint64_t factor = goal == Goal::kMostBytes ? uint64_t{block.last} - block.first + 1
                                                       : uint64_t{accesses_[left.indices[i]]};
      values.push_back(std::min(block.nbytes, uint64_t{1} << 40) * factor);
      sum += values.back();
    }
    for (size_t i = 0; i < values.size(); ++i)
      if (left.blocks[i].nbytes > largest_later) values[i] += sum;
    return values;
  }

  void put(uint32_t index, uint32_t memory, uint64_t offset) {
    out_.memory[index] = memory;
    out_.offsets[index] = offset;
  }

  std::span<const Block> blocks_;
  std::span<const uint32_t> accesses_;
  std::span<const Memory> memories_;
  std::vector<uint32_t> order_;  // ids, cheapest first
  Placement out_;
};

}  // namespace

uint64_t Placement::cost(std::span<const Memory> memories) const {
  uint64_t sum = 0;
  for (size_t i = 0; i < uses.size(); ++i) sum += uses[i].accessed_nbytes * memories[i].cost;
  return sum;
}

Placement place_blocks(std::span<const Block> blocks, std::span<const uint32_t> accesses,
                       std::span<const Memory> memories) {
  Placer placer(blocks, accesses, memories);
  Placement found = placer.run(Placer::Goal::kFewCostlyAccesses);
  if (found.unplaced.empty()) return found;
  Placement packed = placer.run(Placer::Goal::kMostBytes);
  return packed.unplaced.empty() ? packed : found;
}

Status verify_placement(std::span<const Block> blocks, const Placement& placement,
                        std::span<const Memory> memories) {
  if (!placement.unplaced.empty()) return make_error(Code::INTERNAL, "memory plan: a block has no room");
  for (uint32_t id = 0; id < memories.size(); ++id) {
    const Memory& memory = memories[id];
    std::vector<Block> own;
    Plan plan;
    plan.arena_nbytes = placement.uses[id].arena_nbytes;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (placement.memory[i] != id) continue;
      own.push_back(blocks[i]);
      plan.offsets.push_back(placement.offsets[i]);
    }
    if (plan.arena_nbytes > memory.nbytes)
      return make_error(Code::INTERNAL, "memory plan: the arena of '" + memory.name + "' is too large");
    const Status status = verify_plan(own, plan, memory.alignment);
    if (!status) return tl::make_unexpected(with_context(status.error(), "memory '" + memory.name + "'"));
  }
  return {};
}

PeakStep find_peak_step(std::span<const Block> blocks, uint64_t alignment) {
  uint32_t steps = 0;
  for (const Block& block : blocks) steps = std::max(steps, block.last + 1);
  std::vector<uint64_t> begins(size_t{steps} + 1, 0), ends(size_t{steps} + 1, 0);
  for (const Block& block : blocks) {
    begins[block.first] += align_up(block.nbytes, alignment);
    ends[block.last] += align_up(block.nbytes, alignment);
  }
  PeakStep peak;
  uint64_t live = 0;
  for (uint32_t step = 0; step < steps; ++step) {
    live += begins[step];
    if (live > peak.nbytes) peak = {step, live, {}};
    live -= ends[step];
  }
  for (uint32_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].nbytes != 0 && blocks[i].first <= peak.step && peak.step <= blocks[i].last)
      peak.blocks.push_back(i);
  std::stable_sort(peak.blocks.begin(), peak.blocks.end(),
                   [&](uint32_t a, uint32_t b) { return blocks[a].nbytes > blocks[b].nbytes; });
  return peak;
}

}  // namespace etb::plan
