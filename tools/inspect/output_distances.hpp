// SPDX-License-Identifier: Apache-2.0
// Distances between a program's recorded outputs and the reference outputs of its record.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "partitioner_sdk/inspector/event_blocks.hpp"
#include "tools/inspect/inspection.hpp"

namespace etb::tools {

struct OutputDistance {
  std::string method;
  size_t test_case = 0;
  size_t output = 0;
  double snr_db = 0;  // signal to noise; infinite without a difference
  double mse = 0;
  double cosine = 0;
  double max_abs = 0;
};

// One row for each output of each group of runs. NOT_FOUND without reference outputs in the record, or without outputs in
// the profile; INVALID_DATA if their numbers or sizes differ.
[[nodiscard]] Result<std::vector<OutputDistance>> compare_outputs(
    const Inspection& inspection, std::span<const inspector::InspectedBlock> blocks,
    std::span<const std::byte> debug_buffer);

}  // namespace etb::tools
