// SPDX-License-Identifier: Apache-2.0
// The driver: gives the device a payload's commands and the tensors of a run.
#pragma once

#include <memory>

#include "etb/cpp/plugin.hpp"
#include "etb/cpp/run_thread.hpp"
#include "plugins/dsp_stub/payload.hpp"

namespace etb::dsp_stub {

class DspPlugin;

// Timebase of the events: cycles of one context, from its creation.
inline constexpr const char* kCycleTimebase = "org.etbackend.dsp-stub.cycles";

class DspContext;

class DspDelegate {
 public:
  using Context = DspContext;
  static Result<DspDelegate> make(const DspPlugin& plugin, CreateArgs& args);
  DelegateInfo info() const;
  void describe_io(etb_io_req& req) const { req.alignment = 1; }
  const PayloadView& view() const { return view_; }

 private:
  Payload payload_;  // constants and commands stay where the host has them
  PayloadView view_{};
};

// One device core with memories of its own. Asynchronous runs are on a thread, as a second core would be.
class DspContext {
 public:
  explicit DspContext(const DspDelegate& delegate);
  Status execute(const Run& run);
  Status start(const AsyncRun& run) { return second_core_.start(run); }
  Status cancel();

 private:
  Status run_now(const Run& run);
  Status bind(const Run& run, dsp_memories& memories) const;

  const PayloadView* view_;
  std::unique_ptr<uint8_t[]> tcm_, arena_;
  uint64_t cycles_ = 0;  // of all runs before
  StopRequest stop_;
  RunThread second_core_;
};

}  // namespace etb::dsp_stub
