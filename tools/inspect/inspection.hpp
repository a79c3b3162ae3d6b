// SPDX-License-Identifier: Apache-2.0
// A profile, and the record that it is joined with, as `etbackend inspect` reads them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/format/etdump.hpp"
#include "partitioner_sdk/inspector/record_index.hpp"
#include "partitioner_sdk/inspector/times.hpp"

namespace etb::tools {

struct Inspection {
  std::string file;                         // as shown
  std::string record_file;                  // "" for none
  std::vector<format::EtdumpBlock> blocks;  // times as recorded
  std::optional<inspector::RecordIndex> record;
  inspector::TimeScale source = inspector::TimeScale::kNs;
  inspector::TimeScale target = inspector::TimeScale::kMs;

  const inspector::RecordIndex* index() const { return record ? &*record : nullptr; }
  // The blocks with their times in nanoseconds; cycles stay cycles.
  std::vector<format::EtdumpBlock> blocks_in_ns() const;
};

// Rejects a file that is no profile, and a record of another program.
[[nodiscard]] Result<Inspection> open_inspection(const std::string& file, const std::string& record_file,
                                                 const std::string& shown_file);

}  // namespace etb::tools
