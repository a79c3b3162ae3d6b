// SPDX-License-Identifier: Apache-2.0
// The events of a profile as ExecuTorch's Inspector has them: equal runs are one block, an event has a time for each run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/format/etdump.hpp"
#include "partitioner_sdk/inspector/record_index.hpp"
#include "partitioner_sdk/inspector/times.hpp"

namespace etb::inspector {

struct InspectedEvent {
  std::string name;           // the id of an event inside a delegate
  std::vector<double> times;  // in the target scale, one for each run; empty for a value without a time
  std::vector<uint64_t> start_times;  // as recorded
  int32_t instruction_index = -1;
  bool is_inside_delegate = false;
  std::optional<int32_t> delegate_debug_id;  // of an event inside a delegate without a name
  Origin origin;
  std::vector<std::string> metadata;                         // one for each run, or none
  std::vector<const format::EtdumpDebugEvent*> values = {};  // of the first run
};

struct InspectedBlock {
  std::string name;
  int32_t bundled_input_index = -1;
  std::string method;  // found by the record; "" without one
  size_t run_count = 0;
  std::vector<InspectedEvent> events;
  std::vector<const format::EtdumpDebugEvent*> outputs;  // of the program, in the first run
};

struct InspectOptions {
  TimeScale source = TimeScale::kNs;
  TimeScale target = TimeScale::kMs;
  size_t skipped_runs = 0;  // first blocks named "Execute" that are left out, such as those that warm up
};

// `record` may be null. The result refers to `blocks` and to the record. An event that a run has several times, as in
// a loop, has the sum of its times. Rejects events that fit no method of the record.
[[nodiscard]] Result<std::vector<InspectedBlock>> inspect_blocks(std::span<const format::EtdumpBlock> blocks,
                                                                 const RecordIndex* record,
                                                                 const InspectOptions& options);

// Returns the sum of the average times of the events whose nodes are inside a module of this name, or whose path
// contains it. Calls are left out whose parts have times of their own: OPERATOR_CALL beside its kernel, and
// DELEGATE_CALL beside events of the delegate.
double find_total_for_module(std::span<const InspectedBlock> blocks, std::string_view module);

}  // namespace etb::inspector
