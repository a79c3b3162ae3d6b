// SPDX-License-Identifier: Apache-2.0
// The object behind an etb_recording, for the parts of the C API that use one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/format/program_identity.hpp"
#include "etb/recording.h"
#include "host/application/handles.hpp"
#include "host/module/shared_program.hpp"
#include "host/profile/etdump_recording.hpp"

struct etb_recording {
  // Notes the program of a module that was opened. Its digest is computed when the recording is written or the module is
  // closed, and not before: reading the file would change the times of loading and of the first run.
  void add_program(std::string name, const std::shared_ptr<const etb::host::SharedProgram>& program);
  // Computes the digests of the noted programs.
  etb::Status identify_programs();
  // Writes the identity into the recording, if all modules had the same program.
  etb::Status show_program();

  std::unique_ptr<etb::host::EtdumpRecording> recording;
  std::vector<std::byte> bytes;  // of the latest etb_recording_bytes

 private:
  struct Opened {
    std::string name;
    std::weak_ptr<const etb::host::SharedProgram> program;
  };
  std::vector<Opened> opened_;  // without a digest yet
  std::vector<etb::format::ProgramIdentity> programs_;
};
