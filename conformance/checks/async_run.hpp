// SPDX-License-Identifier: Apache-2.0
// Asynchronous runs as the checks start them, and the fences before and after them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "conformance/checks/check.hpp"

namespace etb::conformance {

// Receives the signals of one fence, on any thread.
class Signals {
 public:
  // `run`: its outputs are copied when the first signal comes. It outlives the signal.
  etb_fence fence(const PreparedRun& run);

  // Waits for the first signal. False if none came in this time.
  bool wait(std::chrono::milliseconds most);
  int count();
  etb_status status();
  // Returns the outputs as they were at the first signal.
  std::vector<TensorData> outputs();
  // Returns the number of the first signal, among those of all fences of the process.
  uint64_t number();

 private:
  void take(etb_status status);

  const PreparedRun* run_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
  uint64_t number_ = 0;
  etb_status status_ = ETB_OK;
  std::vector<TensorData> outputs_;
};

// A fence of kind "sync-fd".
class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  etb_fence fence() const;
  void open();

 private:
  int fds_[2] = {-1, -1};
};

// One asynchronous run with several fences, on a context of the session.
struct AsyncRun {
  static constexpr int kFences = 3;

  AsyncRun(ReadyCase& ready, const std::vector<TensorData>& inputs, const RunOptions& options = {});

  void start(ReadyCase& ready) { start(ready, ready.session.context()); }
  void start(ReadyCase& ready, etb_context* context);

  std::unique_ptr<PreparedRun> run;
  Signals signals[kFences];
  std::vector<etb_fence> fences;
  etb_error error = ETB_ERROR_INIT;
  etb_status started = ETB_OK;
};

// True if the plugin has asynchronous runs. Otherwise the check is skipped.
bool has_async(CheckContext& context, Subject& subject);

// True if the run was started. Otherwise the check fails, or is skipped where fences are not supported.
bool expect_started(CheckContext& context, ReadyCase& ready, const AsyncRun& run);

// Waits for all fences. False, with a finding, if one is missing, signalled twice or with another status. The run then stays in
// memory, and the session is abandoned: the plugin may still write to them.
bool expect_signalled(CheckContext& context, ReadyCase& ready, std::unique_ptr<AsyncRun>& run);

// As expect_signalled(), and the run must end with ETB_OK and these outputs, when it is signalled and afterwards.
bool expect_outputs(CheckContext& context, ReadyCase& ready, std::unique_ptr<AsyncRun>& run,
                    const std::vector<TensorData>& expected);

// The checks of async_flight.cpp.
void wait_fences(CheckContext& context);
void unknown_fences(CheckContext& context);
void contexts_in_flight(CheckContext& context);
void cancelled_in_flight(CheckContext& context);
void stopped_in_flight(CheckContext& context);
void destroyed_in_flight(CheckContext& context);
void profiled_in_flight(CheckContext& context);
void priorities_in_flight(CheckContext& context);

}  // namespace etb::conformance
