// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/memory_plan/memory_plan.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace etb::plan {

namespace {

uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

uint32_t step_count(std::span<const Block> blocks) {
  uint32_t count = 0;
  for (const Block& block : blocks) count = std::max(count, block.last + 1);
  return count;
}

uint64_t most_live(std::span<const Block> blocks, uint64_t alignment) {
  std::vector<int64_t> change(size_t{step_count(blocks)} + 1, 0);
  for (const Block& block : blocks) {
    const auto nbytes = static_cast<int64_t>(align_up(block.nbytes, alignment));
    change[block.first] += nbytes;
    change[size_t{block.last} + 1] -= nbytes;
  }
  int64_t live = 0, most = 0;
  for (const int64_t step : change) {
    live += step;
    most = std::max(most, live);
  }
  return static_cast<uint64_t>(most);
}

// By block: others that it must not overlap.
using ApartLists = std::vector<std::vector<uint32_t>>;

ApartLists list_by_block(std::span<const Apart> apart, size_t block_count) {
  ApartLists lists(apart.empty() ? 0 : block_count);
  for (const auto& [a, b] : apart) {
    lists[a].push_back(b);
    lists[b].push_back(a);
  }
  return lists;
}

// Finds the placed blocks that another must not overlap: those alive in its first step, those that begin later in it, and
// those that are kept apart. The cost depends on the found blocks only, not on the whole arena.
class Neighbours {
 public:
  Neighbours(std::span<const Block> blocks, const ApartLists& apart)
      : blocks_(blocks),
        apart_(apart),
        live_(step_count(blocks)),
        starts_(live_.size()),
        is_placed_(apart.size()) {}
  void add(uint32_t index) {
    const Block& block = blocks_[index];
    for (uint32_t step = block.first; step <= block.last; ++step) live_[step].push_back(index);
    starts_[block.first].push_back(index);
    if (!apart_.empty()) is_placed_[index] = true;
  }
  void collect(uint32_t index, std::vector<uint32_t>& out) const {
    const Block& block = blocks_[index];
    out = live_[block.first];
    for (uint32_t step = block.first + 1; step <= block.last; ++step) {
      out.insert(out.end(), starts_[step].begin(), starts_[step].end());
    }
    if (apart_.empty()) return;
    std::copy_if(apart_[index].begin(), apart_[index].end(), std::back_inserter(out),
                 [&](uint32_t other) { return is_placed_[other]; });
  }

 private:
  std::span<const Block> blocks_;
  const ApartLists& apart_;
  std::vector<std::vector<uint32_t>> live_, starts_;
  std::vector<bool> is_placed_;
};

enum class Fit { kSmallest, kFirst };

// Returns the smallest or first gap between its neighbours that holds the block, else the end of all.
uint64_t find_gap(std::vector<std::pair<uint64_t, uint64_t>>& taken, uint64_t nbytes, Fit fit) {
  std::sort(taken.begin(), taken.end());
  uint64_t end = 0, best = 0, best_nbytes = UINT64_MAX;
  for (const auto& [from, to] : taken) {
    if (from > end && from - end >= nbytes && from - end < best_nbytes) {
      if (fit == Fit::kFirst) return end;
      best = end;
      best_nbytes = from - end;
    }
    end = std::max(end, to);
  }
  return best_nbytes == UINT64_MAX ? end : best;
}

// Places blocks in the given order, each in a gap. Adds the neighbours that it looked at to `work`.
std::vector<uint64_t> place(std::span<const Block> blocks, const ApartLists& apart,
                            const std::vector<uint32_t>& order, uint64_t alignment, Fit fit, uint64_t& work) {
  Neighbours neighbours(blocks, apart);
  std::vector<uint64_t> offsets(blocks.size(), 0);
  std::vector<uint32_t> near;
  std::vector<std::pair<uint64_t, uint64_t>> taken;
  for (const uint32_t index : order) {
    if (blocks[index].nbytes == 0) continue;
    neighbours.collect(index, near);
    work += near.size();
    taken.clear();
    for (const uint32_t other : near) {
      taken.emplace_back(offsets[other], offsets[other] + align_up(blocks[other].nbytes, alignment));
    }
    offsets[index] = find_gap(taken, align_up(blocks[index].nbytes, alignment), fit);
    neighbours.add(index);
  }
  return offsets;
}

uint64_t arena_of(std::span<const Block> blocks, const std::vector<uint64_t>& offsets, uint64_t alignment) {
  uint64_t end = 0;
  for (size_t i = 0; i < blocks.size(); ++i)
    end = std::max(end, offsets[i] + align_up(blocks[i].nbytes, alignment));
  return end;
}

// Tries orders for placing the blocks and keeps the best plan.
class Search {
 public:
  Search(std::span<const Block> blocks, uint64_t alignment, std::span<const Apart> apart)
      : blocks_(blocks), apart_(list_by_block(apart, blocks.size())), alignment_(alignment) {
    best_.lower_bound_nbytes = most_live(blocks, alignment);
    best_.arena_nbytes = UINT64_MAX;
  }

  // Neighbours that all attempts looked at.
  uint64_t work() const { return work_; }
  bool is_done() const { return best_.arena_nbytes == best_.lower_bound_nbytes; }

  // Returns the resulting offsets.
  std::vector<uint64_t> attempt(const std::vector<uint32_t>& order, Fit fit = Fit::kSmallest) {
    std::vector<uint64_t> offsets = place(blocks_, apart_, order, alignment_, fit, work_);
    const uint64_t nbytes = arena_of(blocks_, offsets, alignment_);
    if (nbytes < best_.arena_nbytes) {
      best_.arena_nbytes = nbytes;
      best_.offsets = offsets;
    }
    return offsets;
  }

  // Blocks that end above the bound were placed too late, so they move ahead in the order, repeatedly
  // ("squeaky wheel optimisation"). Each move has a random length, from a fixed seed, so that the search does
  // not cycle.
  void improve(std::vector<uint32_t> order, size_t attempts) {
    random_ = 1;
    for (size_t i = 0; i < attempts && !is_done(); ++i) {
      const std::vector<uint64_t> offsets = attempt(order);
      for (size_t at = 0; at < order.size(); ++at) {
        const uint32_t block = order[at];
        if (offsets[block] + align_up(blocks_[block].nbytes, alignment_) <= best_.lower_bound_nbytes)
          continue;
        move_ahead(order, at, at * (next_random() >> 16) / 320);
      }
    }
  }

  // Walks over orders that are no worse than the one before. A block at the end of the arena moves ahead;
  // sometimes two others swap. Walks from one order with different seeds end in different orders.
  void walk(std::vector<uint32_t> order, size_t attempts, uint32_t seed) {
    random_ = seed;
    std::vector<uint64_t> offsets = attempt(order, Fit::kFirst);
    uint64_t nbytes = arena_of(blocks_, offsets, alignment_);
    std::vector<size_t> highest;
    for (size_t i = 0; i < attempts && !is_done(); ++i) {
      highest.clear();
      for (size_t at = 0; at < order.size(); ++at) {
        const Block& block = blocks_[order[at]];
        if (offsets[order[at]] + align_up(block.nbytes, alignment_) == nbytes) highest.push_back(at);
      }
      std::vector<uint32_t> changed = order;
      const size_t from = highest[next_random() % highest.size()];
      move_ahead(changed, from, next_random() % (from + 1));
      if (next_random() % 2 == 0)
        std::swap(changed[next_random() % changed.size()], changed[next_random() % changed.size()]);
      std::vector<uint64_t> found = attempt(changed, Fit::kFirst);
      const uint64_t found_nbytes = arena_of(blocks_, found, alignment_);
      if (found_nbytes > nbytes) continue;
      order = std::move(changed);
      offsets = std::move(found);
      nbytes = found_nbytes;
    }
  }

  Plan take() { return std::move(best_); }

 private:
  // The generator of Numerical Recipes without its low bits, which are hardly random.
  uint32_t next_random() {
    random_ = random_ * 1664525u + 1013904223u;
    return random_ >> 8;
  }
  static void move_ahead(std::vector<uint32_t>& order, size_t from, size_t to) {
    const auto at = [&](size_t index) { return order.begin() + static_cast<std::ptrdiff_t>(index); };
    std::rotate(at(to), at(from), at(from) + 1);
  }

  std::span<const Block> blocks_;
  ApartLists apart_;
  uint64_t alignment_;
  Plan best_;
  uint64_t work_ = 0;
  uint32_t random_ = 1;
};

// Placements of a block that cost about 10 ms, each next to up to 32 others. Where more live at the same time, such
// as the activations that wait for the gradient of a network in training, a placement counts as several.
constexpr size_t kImproveBudget = 60000;
constexpr size_t kUsualNeighbours = 32;
constexpr uint32_t kWalks = 8;

}  // namespace

Plan make_plan(std::span<const Block> blocks, uint64_t alignment, std::span<const Apart> apart) {
  std::vector<uint32_t> by_size(blocks.size());
  std::iota(by_size.begin(), by_size.end(), 0u);
  std::vector<uint32_t> by_time = by_size, by_life = by_size;
  const auto life = [&](uint32_t i) { return blocks[i].last - blocks[i].first; };
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](uint32_t a, uint32_t b) { return blocks[a].nbytes > blocks[b].nbytes; });
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](uint32_t a, uint32_t b) { return blocks[a].first < blocks[b].first; });
  std::stable_sort(by_life.begin(), by_life.end(), [&](uint32_t a, uint32_t b) { return life(a) > life(b); });
  Search search(blocks, alignment, apart);
  // Large blocks first is nearly always best. The others win on chains of growing blocks or of very unequal
  // lives.
  size_t tried = 0;
  for (const auto* order : {&by_size, &by_time, &by_life}) {
    if (search.is_done()) break;
    search.attempt(*order);
    ++tried;
  }
  const size_t work = tried == 0 ? 0 : static_cast<size_t>(search.work()) / tried;
  const size_t attempts = kImproveBudget / std::max(blocks.size() + 1, work / kUsualNeighbours);
  for (const auto* order : {&by_size, &by_life}) search.improve(*order, attempts);
  // The order by life suits state, which lives all the time.
  for (uint32_t seed = 1; seed <= kWalks && attempts != 0 && !search.is_done(); ++seed)
    search.walk(seed % 2 == 0 ? by_life : by_size, attempts, seed);
  return search.take();
}

Status verify_plan(std::span<const Block> blocks, const Plan& plan, uint64_t alignment,
                   std::span<const Apart> apart) {
  const auto fail = [](const std::string& why) { return make_error(Code::INTERNAL, "memory plan: " + why); };
  if (plan.offsets.size() != blocks.size()) return fail("not one offset a block");
  const uint32_t steps = step_count(blocks);
  std::vector<std::vector<uint32_t>> starts(steps), ends(steps);
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    if (plan.offsets[i] % alignment != 0) return fail("block " + std::to_string(i) + " is not aligned");
    if (plan.offsets[i] > plan.arena_nbytes || blocks[i].nbytes > plan.arena_nbytes - plan.offsets[i]) {
      return fail("block " + std::to_string(i) + " reaches outside the arena");
    }
    if (blocks[i].nbytes == 0) continue;
    starts[blocks[i].first].push_back(i);
    ends[blocks[i].last].push_back(i);
  }
  const auto end_of = [&](uint32_t block) { return plan.offsets[block] + blocks[block].nbytes; };
  for (const auto& [a, b] : apart)
    if (plan.offsets[a] < end_of(b) && plan.offsets[b] < end_of(a))
      return fail("blocks " + std::to_string(a) + " and " + std::to_string(b) +
                  " overlap, which are kept apart");
  // Live blocks by offset: a new one need only be compared with its two neighbours.
  std::map<uint64_t, uint32_t> live;
  for (uint32_t step = 0; step < steps; ++step) {
    for (const uint32_t index : starts[step]) {
      const auto [at, is_new] = live.emplace(plan.offsets[index], index);
      const auto clashes = [&](uint32_t low, uint32_t high) {
        return plan.offsets[low] + blocks[low].nbytes > plan.offsets[high];
      };
      uint32_t other = index;
      if (!is_new) other = at->second;
      if (is_new && at != live.begin() && clashes(std::prev(at)->second, index))
        other = std::prev(at)->second;
      if (is_new && std::next(at) != live.end() && clashes(index, std::next(at)->second))
        other = std::next(at)->second;
      if (other != index) {
        return fail("blocks " + std::to_string(other) + " and " + std::to_string(index) +
                    " overlap in step " + std::to_string(step));
      }
    }
    for (const uint32_t index : ends[step]) live.erase(plan.offsets[index]);
  }
  return {};
}

}  // namespace etb::plan
