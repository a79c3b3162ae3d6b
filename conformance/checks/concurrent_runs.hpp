// SPDX-License-Identifier: Apache-2.0
// Runs on several threads at the same time.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "conformance/checks/check.hpp"

namespace etb::conformance {

inline constexpr uint32_t kThreads = 4;

// Calls body(t) on each thread, `calls` times or until a text is not empty. The threads begin together.
template <class Body>
std::string at_once(int calls, Body body) {
  std::string first;
  std::mutex lock;
  std::atomic<uint32_t> waiting{kThreads};
  std::atomic<bool> has_failed{false};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (--waiting; waiting != 0;) std::this_thread::yield();
      for (int i = 0; i < calls && !has_failed; ++i) {
        const std::string text = body(t);
        if (text.empty()) continue;
        const std::lock_guard guard(lock);
        first = text;
        has_failed = true;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return first;
}

// Returns the inputs of thread t: the case's own elements, rotated by t, so that results differ between threads.
std::vector<TensorData> rotated(std::vector<TensorData> inputs, uint32_t t);

// Runs two delegates, each with several contexts, in a loop without pauses. Contexts of dynamic cases run with
// different sizes. Returns false if it made a finding. A delegate that cannot be created with `options` is no finding.
bool run_without_pauses(CheckContext& context, Subject& subject, const ClaimedCase& item,
                        std::chrono::milliseconds time, const std::vector<etb_option>& options = {});

}  // namespace etb::conformance
