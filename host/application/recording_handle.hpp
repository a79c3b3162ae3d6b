// SPDX-License-Identifier: Apache-2.0
// The object behind an etb_recording, for the parts of the C API that use one.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/format/program_identity.hpp"
#include "etb/recording.h"
#include "host/application/handles.hpp"
#include "host/module/shared_program.hpp"
#include "host/profile/etdump_recording.hpp"

struct etb_recording {
  using Program = std::shared_ptr<const etb::host::SharedProgram>;

  // Notes the program of a module that was opened. Its digest is computed when the recording is written or the module is
  // closed, and not before: reading the file would change the times of loading and of the first run.
  void add_program(std::string name, const Program& program);
  // Computes the digest of a program that ends, while it can still be read. Does nothing after etb_recording_close.
  void keep_digest_of(const Program& program);
  // Writes the identity into the recording if all modules had the same program, and takes it out if they no longer do.
  // A program that cannot be read has no identity; then the recording is complete, and no reader recognises it.
  void show_program();
  // Forgets the programs of closed modules.
  void forget_ended_programs();

  std::shared_ptr<etb_recording> self;  // owns the object until etb_recording_close; modules share it
  std::atomic<bool> is_closed{false};
  std::atomic<uint32_t> use_count{0};  // calls and started runs that are under way; see RecordingUse
  std::unique_ptr<etb::host::EtdumpRecording> recording;
  std::vector<std::byte> bytes;  // of the latest etb_recording_bytes

 private:
  struct Noted {
    std::string name;
    std::weak_ptr<const etb::host::SharedProgram> program;
    std::string sha256 = {};  // "": not computed, or not readable
  };
  void compute_digest(Noted& noted);

  // Modules are closed on any thread, so these have a lock of their own.
  std::mutex mutex_;
  std::vector<Noted> programs_;
};

namespace etb::host {

// Uses a recording for one call. A second use at the same time is refused, because a recording serves one module at a
// time, and none of its functions while that module runs.
class RecordingUse {
 public:
  // NULL: no recording.
  explicit RecordingUse(etb_recording* recording) noexcept
      : recording_(recording), is_free_(recording == nullptr || take(recording->use_count)) {}
  RecordingUse(const RecordingUse&) = delete;
  RecordingUse& operator=(const RecordingUse&) = delete;
  ~RecordingUse() {
    if (recording_ != nullptr && is_free_) recording_->use_count.fetch_sub(1);
  }
  [[nodiscard]] Status check() const {
    if (is_free_) return {};
    return make_error(Code::BUSY, "the recording is used by another call, or by a run that was started");
  }

 private:
  // A refused use does not count: it would refuse the next call of the module that runs.
  static bool take(std::atomic<uint32_t>& count) noexcept {
    uint32_t none = 0;
    return count.compare_exchange_strong(none, 1);
  }

  etb_recording* recording_;
  bool is_free_;
};

}  // namespace etb::host
