// SPDX-License-Identifier: Apache-2.0
// The memory of recorded runs over time: bytes taken from each allocator since the begin of the run, of scratch since
// the begin of the instruction. ETDump files record no release.
#pragma once

#include <map>
#include <string>

#include "api/format/etdump.hpp"
#include "tools/pages/document.hpp"

namespace etb::pages {

class MemoryLanes {
 public:
  // Levels after the first `max_levels` of all lanes are left out.
  explicit MemoryLanes(size_t max_levels) : max_levels_(max_levels) {}

  // Adds a run to the lanes. `start_ns` is the zero of the timeline.
  void add(const format::EtdumpBlock& block, uint64_t start_ns);

  // Appends a lane for each allocator to `lanes`: {name, events: [], levels: [[us, bytes, bytes taken, place]]}.
  void append_to(Json& lanes);

  bool is_cut() const { return level_count_ > max_levels_; }

 private:
  // Appends a level to the lane of an allocator.
  void put(const std::string& name, Json level);

  std::map<std::string, Json> levels_;  // by allocator
  size_t max_levels_;
  size_t level_count_ = 0;
};

// Returns the part "Memory by allocator" of all blocks, loading too, or null where none has an allocation.
Json allocator_table(std::span<const format::EtdumpBlock> blocks);

}  // namespace etb::pages
