// SPDX-License-Identifier: Apache-2.0
// The options of a recording: which events and values of the runs go into which files.
#pragma once

#include <memory>
#include <string>

#include "host/profile/etdump_recording.hpp"
#include "tools/cli11_fwd.hpp"
#include "tools/command.hpp"

namespace etb::tools {

struct ProfileOptions {
  std::string profile;       // ETDump; "": nothing is recorded
  std::string debug_buffer;  // elements of the values; "": none are recorded
  std::string profile_level = "all";
  std::string debug_level;  // "": all with a debug buffer, else none
  std::string profile_filter, debug_filter;
  std::string profile_ids, debug_ids;
  uint64_t debug_buffer_size = 0;  // 0: 16 GiB
  bool memory = false;
  bool widens_bfloat16 = false;
  bool dump_outputs = false, dump_intermediate_outputs = false;  // as in ExecuTorch's example_runner
};

void add_profile_options(CLI::App& command, ProfileOptions& options);

// Checks the options before anything is loaded. Returns NULL when nothing is recorded. `is_json`: the report goes to
// standard output, too.
[[nodiscard]] Result<std::unique_ptr<host::EtdumpRecording>> start_recording(const ProfileOptions& options,
                                                                             bool is_json,
                                                                             const Session& session);

// Writes the files. Notes say when a limit was reached. `program` is the file that ran; `inspect --etrecord` recognises
// the record of another one. `recording` may be NULL.
[[nodiscard]] Status write_recording(const ProfileOptions& options, const std::string& program,
                                     host::EtdumpRecording* recording, Session& session);

}  // namespace etb::tools
