// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/inspector/allocator_rows.hpp"

#include <algorithm>

#include "api/format/etdump_program.hpp"

namespace etb::inspector {
namespace {

AllocatorRow& row_of(std::vector<AllocatorRow>& rows, const std::string& block, const std::string& name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const AllocatorRow& row) {
    return row.block == block && row.name == name;
  });
  if (found != rows.end()) return *found;
  rows.push_back({block, name});
  return rows.back();
}

}  // namespace

std::vector<AllocatorRow> add_up_allocations(std::span<const format::EtdumpBlock> blocks) {
  std::vector<AllocatorRow> rows;
  for (const format::EtdumpBlock& block : blocks) {
    for (const std::string& name : block.allocators)
      if (!format::is_program_name(name)) ++row_of(rows, block.name, name).block_count;
    for (const format::EtdumpAllocation& allocation : block.allocations) {
      const auto index = static_cast<size_t>(allocation.allocator_index);
      const bool has_name = allocation.allocator_index >= 0 && index < block.allocators.size();
      AllocatorRow& row = row_of(
          rows, block.name,
          has_name ? block.allocators[index] : "allocator " + std::to_string(allocation.allocator_index));
      ++row.allocation_count;
      row.nbytes += allocation.nbytes;
      row.largest_nbytes = std::max(row.largest_nbytes, allocation.nbytes);
    }
  }
  return rows;
}

}  // namespace etb::inspector
