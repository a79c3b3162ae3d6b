// SPDX-License-Identifier: Apache-2.0
// For tests: the host's threads.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "etb/host.h"

namespace etb {

// A parallel/1 service: one thread per item, one call for all items, or items in reverse order.
struct Workers {
  enum class Temper { kThreads, kBusy, kBackwards };
  uint32_t count = 4;
  Temper temper = Temper::kThreads;
  std::atomic<int> call_count{0};

  using Task = void(ETB_CALL*)(void* arg, uint64_t begin, uint64_t end, uint32_t worker);
  void parallel_for(uint64_t items, Task task, void* arg) {
    ++call_count;
    if (temper == Temper::kBusy) return task(arg, 0, items, 0);
    if (temper == Temper::kBackwards) {
      for (uint64_t i = items; i-- > 0;) task(arg, i, i + 1, 0);
      return;
    }
    std::vector<std::thread> threads;
    for (uint64_t i = 1; i < items; ++i)
      threads.emplace_back([=] { task(arg, i, i + 1, static_cast<uint32_t>(i)); });
    task(arg, 0, 1, 0);
    for (std::thread& thread : threads) thread.join();
  }

  etb_parallel_service service{ETB_INIT_SIZE(etb_parallel_service), 0, this,
                               [](void* self) { return static_cast<Workers*>(self)->count; },
                               [](void* self, uint64_t items, uint64_t, Task task, void* arg) {
                                 static_cast<Workers*>(self)->parallel_for(items, task, arg);
                               }};
};

}  // namespace etb
