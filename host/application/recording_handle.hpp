// SPDX-License-Identifier: Apache-2.0
// The object behind an etb_recording, for the parts of the C API that use one.
#pragma once

#include <atomic>
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

  std::shared_ptr<etb_recording> self;  // owns the object until etb_recording_close; modules share it
  std::atomic<uint32_t> use_count{0};   // calls and started runs that are under way; see RecordingUse
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

namespace etb::host {

// Uses a recording for one call. A second use at the same time is refused, because a recording serves one module at a
// time, and none of its functions while that module runs.
class RecordingUse {
 public:
  // NULL: no recording.
  explicit RecordingUse(etb_recording* recording) noexcept
      : recording_(recording), is_first_(recording == nullptr || recording->use_count.fetch_add(1) == 0) {}
  RecordingUse(const RecordingUse&) = delete;
  RecordingUse& operator=(const RecordingUse&) = delete;
  ~RecordingUse() {
    if (recording_ != nullptr) recording_->use_count.fetch_sub(1);
  }
  [[nodiscard]] Status check() const {
    if (is_first_) return {};
    return make_error(Code::BUSY, "the recording is used by another call, or by a run that was started");
  }

 private:
  etb_recording* recording_;
  bool is_first_;
};

}  // namespace etb::host
