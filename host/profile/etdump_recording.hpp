// SPDX-License-Identifier: Apache-2.0
// EtdumpRecording: a recording of the runs of a module, with memory that grows, and its files.
//
//   ETB_ASSIGN(auto recording, etb::host::EtdumpRecording::make({}));
//   options.tracer = &recording->tracer();  // of Module::open
//   ...
//   ETB_TRY(recording->write("run.etdp"));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/format/etdump.hpp"
#include "api/format/output_file.hpp"
#include "host/profile/etdump_tracer.hpp"

namespace etb::host {

// As EtdumpFilter: a rule that is not set accepts everything.
struct FilterText {
  std::string pattern =
      {};  // a regular expression (ECMAScript) that a part of the name matches; "": any name
  int64_t first_id = INT64_MIN, last_id = INT64_MAX;
};

struct RecordingOptions {
  ProfileLevel profile_level = ProfileLevel::kAll;
  DebugLevel debug_level = DebugLevel::kNone;
  bool allocations = false;
  bool widens_bfloat16 = false;
  FilterText event_filter = {}, value_filter = {};
  // The debug buffer: a file that is written while the program runs; "": memory.
  std::string debug_path = {};
  uint64_t max_debug_bytes = uint64_t{16} << 30;  // later values are only counted
  uint64_t max_log_bytes = uint64_t{512} << 20;   // later events are only counted; some 10 million fit
};

class EtdumpRecording {
 public:
  // INVALID_ARGUMENT for a pattern that is no regular expression; the error of a file that cannot be written.
  [[nodiscard]] static Result<std::unique_ptr<EtdumpRecording>> make(const RecordingOptions& options);
  ~EtdumpRecording();
  EtdumpRecording(const EtdumpRecording&) = delete;
  EtdumpRecording& operator=(const EtdumpRecording&) = delete;

  // Used by one method at a time.
  EtdumpTracer& tracer() noexcept;
  // Forgets what was recorded. A debug buffer in a file keeps what it has.
  void clear() noexcept;

  // Writes the identity of the program as the name of an allocator into the first block: a text that official readers do
  // not show. It replaces the one of an earlier call; "" takes that back. Call it after the runs.
  void show_program(const std::string& name) noexcept;

  [[nodiscard]] Result<std::vector<std::byte>> to_bytes() const;
  [[nodiscard]] Result<std::vector<format::EtdumpBlock>> to_blocks() const;
  [[nodiscard]] Status write(const std::string& path) const;
  // Ends the file of the debug buffer and names it: later values are only counted. Does nothing for one in memory.
  [[nodiscard]] Status commit_debug_file();
  // The debug buffer in memory; empty for one in a file.
  std::span<const std::byte> debug_bytes() const noexcept;

  // Events and values that were not stored.
  uint64_t dropped_event_count() const noexcept;
  uint64_t dropped_value_count() const noexcept;

 private:
  struct State;
  explicit EtdumpRecording(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace etb::host
