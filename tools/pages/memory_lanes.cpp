// SPDX-License-Identifier: Apache-2.0
#include "tools/pages/memory_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace etb::pages {
namespace {

using format::EtdumpAllocation;
using format::EtdumpBlock;
using format::EtdumpEvent;

std::string allocator_of(const EtdumpBlock& block, const EtdumpAllocation& allocation) {
  const auto index = static_cast<size_t>(allocation.allocator_index);
  return index < block.allocators.size() ? block.allocators[index] : fmt::format("allocator {}", index);
}

// An allocation has no time of its own. It was recorded after the end of `before` and before that of `after`, and so
// belongs into the span of `after`, where that began later.
uint64_t time_of(const EtdumpEvent* before, const EtdumpEvent* after) {
  if (before == nullptr) return after->begin_ns;
  return after == nullptr ? before->end_ns : std::max(before->end_ns, after->begin_ns);
}

// Scratch of kernels, which the run time releases after each instruction.
constexpr std::string_view kScratch = "temp allocator";

// Returns the end of the instruction that `event` belongs to.
uint64_t instruction_end(std::span<const EtdumpEvent* const> events) {
  const EtdumpEvent& first = *events.front();
  uint64_t end_ns = first.end_ns;
  for (const EtdumpEvent* event : events) {
    if (event->chain_index != first.chain_index || event->instruction_index != first.instruction_index) break;
    end_ns = std::max(end_ns, event->end_ns);
  }
  return end_ns;
}

std::string place_of(const EtdumpEvent* event) {
  if (event == nullptr) return "";
  if (event->instruction_index < 0) return event->name;
  return fmt::format("instruction {}", event->instruction_index);
}

}  // namespace

void MemoryLanes::add(const EtdumpBlock& block, uint64_t start_ns) {
  std::vector<const EtdumpEvent*> events;  // of the run time, whose clock is the timeline's
  for (const EtdumpEvent& event : block.events)
    if (!event.is_of_delegate()) events.push_back(&event);
  if (events.empty() || block.allocations.empty() || is_cut()) return;
  const auto us_of = [&](uint64_t ns) {
    return (static_cast<double>(ns) - static_cast<double>(start_ns)) / 1e3;
  };
  uint64_t begin_ns = UINT64_MAX, end_ns = 0;
  for (const EtdumpEvent* event : events) {
    begin_ns = std::min(begin_ns, event->begin_ns);
    end_ns = std::max(end_ns, event->end_ns);
  }
  std::map<std::string, uint64_t> taken;
  uint64_t release_ns = 0;  // of the scratch
  auto next = events.begin();
  for (const EtdumpAllocation& allocation : block.allocations) {
    while (next != events.end() && (*next)->position <= allocation.position) ++next;
    const EtdumpEvent* const before = next == events.begin() ? nullptr : *(next - 1);
    const EtdumpEvent* const after = next == events.end() ? nullptr : *next;
    const std::string name = allocator_of(block, allocation);
    if (taken.count(name) == 0) put(name, {us_of(begin_ns), 0, 0, "begin of the run"});
    const uint64_t time_ns = time_of(before, after);
    if (name == kScratch) {
      const bool is_released = after == nullptr ? release_ns < time_ns : release_ns <= time_ns;
      if (taken[name] != 0 && is_released) {
        put(name, {us_of(release_ns), 0, 0, "end of the instruction"});
        taken[name] = 0;
      }
      release_ns = after == nullptr ? end_ns : instruction_end({next, events.end()});
    }
    taken[name] += allocation.nbytes;
    put(name, {us_of(time_ns), taken[name], allocation.nbytes, place_of(after)});
  }
  if (release_ns != 0) put(std::string(kScratch), {us_of(release_ns), 0, 0, "end of the instruction"});
  for (const auto& [name, nbytes] : taken) put(name, {us_of(end_ns), 0, 0, "end of the run"});
}

void MemoryLanes::put(const std::string& name, Json level) {
  if (level_count_++ >= max_levels_) return;
  Json& levels = levels_[name];
  if (levels.is_null()) levels = Json::array();
  levels.push_back(std::move(level));
}

void MemoryLanes::append_to(Json& lanes) {
  for (auto& [name, levels] : levels_)
    lanes.push_back({{"name", "memory: " + name}, {"events", Json::array()}, {"levels", std::move(levels)}});
}

Json allocator_table(std::span<const EtdumpBlock> blocks) {
  struct Sum {
    uint64_t block_count = 0, count = 0, nbytes = 0, most_nbytes = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;  // by block and allocator
  for (const EtdumpBlock& block : blocks) {
    std::map<std::string, uint64_t> here;
    for (const EtdumpAllocation& allocation : block.allocations) {
      const std::string name = allocator_of(block, allocation);
      here[name] += allocation.nbytes;
      ++sums[{block.name, name}].count;
    }
    for (const auto& [name, nbytes] : here) {
      Sum& sum = sums[{block.name, name}];
      ++sum.block_count;
      sum.nbytes += nbytes;
      sum.most_nbytes = std::max(sum.most_nbytes, nbytes);
    }
  }
  if (sums.empty()) return {};
  Json rows = Json::array();
  for (const auto& [key, sum] : sums)
    rows.push_back({key.first, key.second, sum.block_count, sum.count, sum.nbytes, sum.most_nbytes});
  Json part = make_table("Memory by allocator", "\"Default\" is loading, \"Execute\" a run.",
                         {{"block", "text", true},
                          {"allocator", "text", true},
                          {"blocks", "number"},
                          {"allocations", "number"},
                          {"in all", "bytes"},
                          {"most in a block", "bytes"}},
                         std::move(rows));
  part["short"] = "Memory";
  return part;
}

}  // namespace etb::pages
