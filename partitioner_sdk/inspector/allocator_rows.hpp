// SPDX-License-Identifier: Apache-2.0
// The memory that recorded runs took, by allocator.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "api/format/etdump.hpp"

namespace etb::inspector {

struct AllocatorRow {
  std::string block;  // "Default" for loading, "Execute" for runs
  std::string name;   // of the allocator, or its index
  size_t block_count = 0;
  uint64_t allocation_count = 0;  // in all these blocks, as the next one
  uint64_t nbytes = 0;
  uint64_t largest_nbytes = 0;  // of one allocation
};

// In the order of their first allocations. Allocators without an allocation have a row with zeros.
std::vector<AllocatorRow> add_up_allocations(std::span<const format::EtdumpBlock> blocks);

}  // namespace etb::inspector
