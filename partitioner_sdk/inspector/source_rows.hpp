// SPDX-License-Identifier: Apache-2.0
// The time of a profile by parts of the model: nodes, modules, lines of the Python source, delegates. The rows of lines,
// nodes and delegates add up to the time of the runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "api/format/etdump.hpp"
#include "partitioner_sdk/inspector/record_index.hpp"

namespace etb::inspector {

enum class SourceGrouping : uint8_t {
  kNode,
  kModule,  // each module has the time of its submodules, too
  kLine,
  kDelegate  // each call of a delegate is a row, and the kernels together are one
};

struct SourceRow {
  std::string name;  // "model.py:12", "layer1.0.conv", "aten_add_tensor"; in parentheses for time of no node
  std::string detail;  // function, type of the module, or op
  std::string file;    // with its folders, of a line
  uint32_t line = 0;
  double calls = 0;                   // events in a run
  std::vector<double> us;             // the sum of a run, for each run
  std::vector<double> own_us;         // of modules: without submodules; of delegates: outside of their events
  double shared_us = 0;               // average part that is a share of an event of several rows
  std::vector<std::string> ops = {};  // each once
  std::vector<std::string> backends = {};  // each once

  double average_us() const;
};

struct SourceProfile {
  size_t run_count = 0;
  double run_us = 0;
  std::vector<SourceRow> rows;  // the longest first
};

// An event whose nodes belong to several rows, such as one kernel for a convolution and its activation, is divided
// evenly between them. `record` may be null for kDelegate. As add_up() in other respects.
[[nodiscard]] Result<SourceProfile> add_up_sources(std::span<const format::EtdumpBlock> blocks,
                                                   SourceGrouping grouping, const std::string& block_name,
                                                   size_t first, const RecordIndex* record);

// "model.py:12", without the folders; "" for a node without a source.
std::string line_of(const record::RecordedNode& node);

}  // namespace etb::inspector
