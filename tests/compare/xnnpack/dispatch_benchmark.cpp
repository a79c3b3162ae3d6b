// SPDX-License-Identifier: Apache-2.0
// Measures the overhead of an empty parallel loop: on the host's pool, and on pthreadpool's own threads.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>

#include "host/services/thread_pool.hpp"
#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb {
namespace {

// Waits between two loops, in microseconds, on the calling thread. Waiting threads may fall asleep meanwhile.
void pass(int64_t microseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Times one loop per iteration, without the wait before it.
template <class Loop>
void measure(benchmark::State& state, Loop loop) {
  for (auto _ : state) {
    pass(state.range(1));
    const auto begin = std::chrono::steady_clock::now();
    loop();
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
}

void host_pool(benchmark::State& state) {
  const auto workers = static_cast<uint32_t>(state.range(0));
  host::ThreadPool pool(workers);
  measure(state, [&] {
    pool.parallel_for(
        workers, 1, [](void*, uint64_t, uint64_t, uint32_t) {}, nullptr);
  });
}

void pthreadpool_of_its_own(benchmark::State& state) {
  const auto workers = static_cast<size_t>(state.range(0));
  const std::unique_ptr<pthreadpool, xnnpack::Deleter<pthreadpool_destroy>> pool(pthreadpool_create(workers));
  measure(state, [&] {
    pthreadpool_parallelize_1d(
        pool.get(), [](void*, size_t) {}, nullptr, workers, 0);
  });
}

void arguments(benchmark::internal::Benchmark* made) {
  made->ArgNames({"threads", "pause_us"})
      ->ArgsProduct({{2}, {0, 10, 100, 1000}})
      ->UseManualTime()
      ->MinTime(0.2);
}

BENCHMARK(host_pool)->Apply(arguments);
BENCHMARK(pthreadpool_of_its_own)->Apply(arguments);

}  // namespace
}  // namespace etb
