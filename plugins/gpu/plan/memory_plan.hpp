// SPDX-License-Identifier: Apache-2.0
// Locations of the values of a graph in device memory, planned once for the upper bounds of all sizes.
#pragma once

#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "plugins/gpu/graph/graph.hpp"
#include "plugins/gpu/plan/fusions.hpp"
#include "plugins/gpu/plan/packing.hpp"

namespace etb::gpu {

enum class Memory : uint8_t {
  kNone,       // a constant that no node reads as it is, and an inner result of a chain
  kTransfer,   // inputs and outputs, which the host reads and writes; one per context
  kArena,      // between nodes; one per context. Values that do not live at the same time share bytes
  kConstants,  // packed constants; one per delegate
};

struct Location {
  Memory memory = Memory::kNone;
  uint64_t offset = 0;
  uint64_t nbytes = 0;  // a multiple of 16, at least 16: kernels read groups of four elements

  bool overlaps(const Location& other) const {
    return memory == other.memory && offset < other.offset + other.nbytes && other.offset < offset + nbytes;
  }
};

struct MemoryPlan {
  std::vector<Location> locations;  // by value
  uint64_t transfer_bytes = 0, arena_bytes = 0, constant_bytes = 0;
};

// By value: itself, or the value whose memory it shows: a reshape that is no output has no memory of its own.
std::vector<uint32_t> find_aliases(const GpuGraph& graph);

// `shapes`: upper bounds of all values. `alignment`: of offsets, a power of two.
[[nodiscard]] Result<MemoryPlan> plan_memory(const GpuGraph& graph, const Fusions& fusions,
                                             std::span<const Shape> shapes, std::span<const uint32_t> aliases,
                                             std::span<const PackedConstant> constants, uint64_t alignment);

}  // namespace etb::gpu
