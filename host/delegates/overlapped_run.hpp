// SPDX-License-Identifier: Apache-2.0
// OverlappedRun: runs of a PluginDelegate that go on while the host does other work.
#pragma once

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "etb/cpp/result.hpp"
#include "host/delegates/delegate_thread.hpp"
#include "host/delegates/end_signal.hpp"
#include "host/delegates/run_watchdog.hpp"
#include "host/delegates/stop_flag.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

class PluginDelegate;

struct AsyncSupport {
  std::shared_ptr<DelegateThread> thread;  // NULL: the plugin has asynchronous runs of its own
};

// Uses the plugin's execute_async if it has one, else a thread. Does not use the heap unless a run fails.
class OverlappedRun final : public AsyncRuns {
 public:
  OverlappedRun(PluginDelegate& delegate, AsyncSupport support);
  ~OverlappedRun() = default;

  etb_status start(const DelegateRun& run) noexcept override;
  etb_status finish() noexcept override;
  uint64_t latest_ns() const noexcept override { return end_ns_ - begin_ns_; }
  bool can_follow() const noexcept override;
  bool allow_followers() noexcept override { return end_signal_.open(); }
  etb_status start_after(const DelegateRun& run, std::span<AsyncRuns* const> after) noexcept override;
  void stop() noexcept override;
  int end_descriptor() const noexcept override;

 private:
  struct Job : DelegateThread::Job {
    OverlappedRun* run_of;
  };
  // Fences to wait for: those of more runs are waited for by the host.
  static constexpr size_t kMaxFences = 8;

  etb_status begin(const DelegateRun& run) noexcept;
  static void run(DelegateThread::Job& job) noexcept;
  static void ETB_CALL signal(void* handle, etb_status status);
  void end(Status status) noexcept;
  uint64_t now_ns() const noexcept;

  PluginDelegate& delegate_;
  AsyncSupport support_;
  const DelegateRun* run_ = nullptr;  // NULL: no run is under way
  etb_exec_args args_{};
  etb_cancel_token cancel_{};
  std::optional<StopFlag> stop_flag_;
  std::optional<RunWatchdog::Watch> watch_;
  etb_fence fence_{};
  std::array<etb_fence, kMaxFences> fences_before_{};
  bool refuses_fences_ = false;
  EndSignal end_signal_;  // open: other delegates' runs may follow
  Job job_{};

  std::mutex mutex_;  // guards the members below
  std::condition_variable ended_;
  bool has_ended_ = false;
  Status status_;
  uint64_t begin_ns_ = 0, end_ns_ = 0;
};

}  // namespace etb::host
