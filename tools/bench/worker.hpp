// SPDX-License-Identifier: Apache-2.0
// Worker: the process of a variant, and the messages between it and the benchmark.
#pragma once

#include "tools/bench/child.hpp"
#include "tools/bench/subject.hpp"

namespace etb::bench {

class Worker {
 public:
  // Starts the variant: loads it and runs it once. Fills the members of `result` that a start determines.
  [[nodiscard]] static Result<Worker> start(const Setup& setup, const std::atomic<bool>& interrupted,
                                            VariantResult& result);

  // Sets the memory of `grows`, if it is not null. Many stored times are part of the memory, too.
  [[nodiscard]] Result<Turn> run(uint32_t count, uint32_t settling, VariantResult* grows = nullptr);

  // Processor time since its start.
  double cpu_seconds() const { return bench::cpu_seconds(child_.pid()); }

 private:
  Worker(Child child, const std::atomic<bool>& interrupted, uint64_t timeout_ms)
      : child_(std::move(child)), interrupted_(&interrupted), timeout_ms_(timeout_ms) {}

  Child child_;
  const std::atomic<bool>* interrupted_;
  uint64_t timeout_ms_;
};

// Runs the variant `runs` times in a process of its own, with a profile.
[[nodiscard]] Result<std::vector<ProfileRow>> profile(const Setup& setup, uint32_t runs,
                                                      const std::atomic<bool>& interrupted);

// Runs `job` in a process of its own, and returns its error.
[[nodiscard]] Status run_apart(const std::function<Status()>& job, const std::atomic<bool>& interrupted);

}  // namespace etb::bench
