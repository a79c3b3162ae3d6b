// SPDX-License-Identifier: Apache-2.0
// Rows of a profile: the events of an ETDump, added up over runs by instruction, operator or event.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "api/format/etdump.hpp"
#include "partitioner_sdk/inspector/record_index.hpp"

namespace etb::inspector {

enum class Grouping : uint8_t {
  kInstruction,  // each instruction is a row, with the events inside of its delegate below it
  kOperator,     // operators of one name are a row
  kEvent         // each event name of each instruction, as ExecuTorch's Inspector has them
};

struct EventRow {
  std::string name;          // "add.out", "DELEGATE_CALL", "Conv2d #1"
  int32_t chain_index = -1;  // -1 with kOperator, and for the whole method
  int32_t instruction_index = -1;
  bool is_inside_delegate = false;  // its time is part of the row before
  double calls = 0;                 // in a run
  std::vector<double> us;           // the sum of a run, for each run
  Origin origin = {};               // of its first event; empty with kOperator and without a record

  double average_us() const;
};

struct Profile {
  size_t run_count = 0;
  double run_us = 0;  // average time of a run; 0 if the file does not state it
  std::vector<double> run_times_us;
  std::vector<EventRow> rows;  // in the order of the first run
};

// Adds up the blocks of this name: "Execute" are the runs. `first` runs are left out, such as those that warm up.
// `record` may be null; rows refer to it. Rejects events that fit no method of the record.
[[nodiscard]] Result<Profile> add_up(std::span<const format::EtdumpBlock> blocks, Grouping grouping,
                                     const std::string& block_name, size_t first = 0,
                                     const RecordIndex* record = nullptr);

// Sorts instructions by their average time, each with the events inside of it, and keeps `count` of them; 0: all.
void keep_longest(std::vector<EventRow>& rows, size_t count);

// "Conv2d #1", or "debug id 7" for an event without a name.
std::string name_inside_delegate(const format::EtdumpEvent& event);

// The events as Chrome's trace viewer and Perfetto read them (JSON). `record` may be null.
[[nodiscard]] Result<std::string> to_perfetto(std::span<const format::EtdumpBlock> blocks,
                                              const RecordIndex* record = nullptr);

}  // namespace etb::inspector
