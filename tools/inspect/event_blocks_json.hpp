// SPDX-License-Identifier: Apache-2.0
// Events with the columns of ExecuTorch's Inspector, as JSON and as tab-separated values.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "partitioner_sdk/inspector/event_blocks.hpp"

namespace etb::tools {

nlohmann::ordered_json event_blocks_json(std::span<const inspector::InspectedBlock> blocks,
                                         const inspector::InspectOptions& options);

// The columns and rows that the Inspector's save_data_to_tsv() writes, in its notation.
std::string event_blocks_tsv(std::span<const inspector::InspectedBlock> blocks, inspector::TimeScale target);

// {"file": ..., "line": ..., ...} of a node.
nlohmann::ordered_json node_json(const record::RecordedNode& node);

}  // namespace etb::tools
