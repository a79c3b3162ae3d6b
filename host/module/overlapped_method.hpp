// SPDX-License-Identifier: Apache-2.0
// OverlappedMethod: runs a method whose delegates go on while the host does other work.
#pragma once

#include <memory>
#include <vector>

#include "host/module/instruction_order.hpp"
#include "host/runtime/method.hpp"

namespace etb::host {

class OverlappedMethod {
 public:
  // Returns NULL if nothing of the method can overlap, or it has a tracer: a recorded run has one event after another.
  // `method` is loaded and outlives the result.
  static std::unique_ptr<OverlappedMethod> make(Method& method);
  // As find_dependencies, for tests of memory plans.
  static std::vector<std::vector<uint32_t>> dependencies_of(const Method& method);
  OverlappedMethod(const OverlappedMethod&) = delete;
  OverlappedMethod& operator=(const OverlappedMethod&) = delete;

  // As Method::execute and Method::resume, with the same results. All runs have ended when it returns. It reports the
  // error that comes first in the program. Memory of the caller that overlaps other memory of the method makes the run
  // follow the program's order. Resume does not run a delegate again that failed: it returns that error.
  [[nodiscard]] etb_status execute(etb_error* error, const RunLimits& limits) noexcept;
  [[nodiscard]] etb_status resume(etb_error* error, const RunLimits& limits) noexcept;

 private:
  // A delegate call that is started.
  struct Slot {
    uint32_t instruction;
    AsyncRuns* runs;
    DelegateRun run;
    etb_error error;
    bool is_running;
    etb_status status;     // the latest run's: a resumed method still has it
    uint64_t shortest_ns;  // duration of its shortest started run
    uint32_t started_count;
    bool is_short;                       // takes less time than to start it, so it runs to its end
    std::vector<uint32_t> after;         // slots whose runs end before this one's begins
    std::vector<AsyncRuns*> runs_after;  // those of them that go on; as large as `after`
  };
  struct Step {
    uint32_t instruction;
    uint32_t slot;  // to start; kNone: the instruction runs to its end
    std::vector<uint32_t> waits;
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  // A start, and the wait for another thread, take some 10 us.
  static constexpr uint64_t kShortNs = 30000;
  static constexpr uint32_t kRunsToJudge = 4;
  // A method whose delegates are all short runs in order and is measured each so many runs: to read the clock takes as long
  // as a small run.
  static constexpr uint32_t kRunsToMeasure = 16;

  OverlappedMethod(Method& method, InstructionOrder order);
  MethodState& state() noexcept { return *method_.state_; }
  bool is_caller_memory_apart() noexcept;
  // True if this run is one of those in order that are not measured.
  bool is_short_run() noexcept;
  etb_status run_step(const Step& step, etb_error* error, const RunLimits& limits) noexcept;
  etb_status run_to_end(uint32_t instruction, etb_error* error, const RunLimits& limits) noexcept;
  etb_status run_short(Slot& slot, etb_error* error, const RunLimits& limits) noexcept;
  etb_status start(Slot& slot, etb_error* error, const RunLimits& limits) noexcept;
  etb_status start_after_others(Slot& slot) noexcept;
  bool is_behind_others(const Slot& slot) const noexcept;
  etb_status finish(Slot& slot, etb_error* error) noexcept;
  etb_status check_time(const RunLimits& limits, etb_error* error) noexcept;
  etb_status finish_all(uint32_t failed, etb_status status, etb_error* error) noexcept;
  etb_status report(const Slot& slot, etb_status status, etb_error* error) noexcept;

  Method& method_;
  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  std::vector<std::pair<uintptr_t, uintptr_t>> planned_;
  size_t next_ = 0;
  bool is_in_order_ = false;  // this run is
  uint32_t short_run_count_ = 0;
};

}  // namespace etb::host
