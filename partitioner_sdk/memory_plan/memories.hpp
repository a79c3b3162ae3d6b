// SPDX-License-Identifier: Apache-2.0
// Plans blocks over several memories: a small fast one before larger slow ones. Each memory gets one arena.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "partitioner_sdk/memory_plan/memory_plan.hpp"

namespace etb::plan {

constexpr uint64_t kUnlimited = UINT64_MAX;

struct Memory {
  std::string name;
  uint64_t nbytes = kUnlimited;
  uint64_t alignment = 16;
  uint64_t cost = 1;  // of one byte read or written
};

struct MemoryUse {
  uint64_t arena_nbytes = 0;
  uint64_t accessed_nbytes = 0;  // by all accesses of one run
};

struct Placement {
  std::vector<uint32_t> memory;     // by block
  std::vector<uint64_t> offsets;    // by block, in the arena of its memory
  std::vector<MemoryUse> uses;      // by memory
  uint64_t lower_bound_nbytes = 0;  // most bytes alive in one step
  std::vector<uint32_t> unplaced;   // blocks without room; a plan with any is useless

  // Bytes of all accesses times the costs of their memories.
  uint64_t cost(std::span<const Memory> memories) const;
};

// Keeps in cheap memories the blocks with the most accesses for the room that they take. `accesses[i]` counts how
// often block i is read or written. Memories have different names and any order of costs; the result is the same
// for the same arguments.
Placement place_blocks(std::span<const Block> blocks, std::span<const uint32_t> accesses,
                       std::span<const Memory> memories);

// Checks as verify_plan, for each memory, and that each arena fits into its memory.
[[nodiscard]] Status verify_placement(std::span<const Block> blocks, const Placement& placement,
                                      std::span<const Memory> memories);

// The step with the most bytes alive, and the blocks alive in it, largest first.
struct PeakStep {
  uint32_t step = 0;
  uint64_t nbytes = 0;
  std::vector<uint32_t> blocks;
};
PeakStep find_peak_step(std::span<const Block> blocks, uint64_t alignment);

}  // namespace etb::plan
