// SPDX-License-Identifier: Apache-2.0
#include "host/services/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>

#include "host/services/counting_new.hpp"

namespace etb::host {
namespace {

using Body = std::function<void(uint64_t begin, uint64_t end, uint32_t worker)>;

void run(ThreadPool& pool, uint64_t count, uint64_t grain, const Body& body) {
  const etb_parallel_service& service = *pool.service();
  service.parallel_for(
      service.ctx, count, grain,
      [](void* arg, uint64_t begin, uint64_t end, uint32_t worker) {
        (*static_cast<const Body*>(arg))(begin, end, worker);
      },
      const_cast<Body*>(&body));
}

TEST(ThreadPool, RunsEveryItemOnce) {
  for (uint32_t workers : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(workers);
    for (uint64_t count : {0u, 1u, 2u, 7u, 64u, 1001u}) {
      for (uint64_t grain : {0u, 1u, 5u, 2000u}) {
        std::unique_ptr<std::atomic<int>[]> hits(new std::atomic<int>[count + 1]());
        run(pool, count, grain, [&](uint64_t begin, uint64_t end, uint32_t) {
          for (uint64_t i = begin; i < end; ++i) hits[i].fetch_add(1);
        });
        for (uint64_t i = 0; i < count; ++i)
          ASSERT_EQ(hits[i], 1) << "item " << i << " of " << count << ", grain " << grain << ", workers "
                                << workers;
      }
    }
  }
}

TEST(ThreadPool, KeepsPiecesAtLeastAsLongAsTheGrain) {
  ThreadPool pool(4);
  for (uint64_t count : {10u, 63u, 64u, 65u, 1000u}) {
    run(pool, count, 10,
        [&](uint64_t begin, uint64_t end, uint32_t) { EXPECT_GE(end - begin, 10u) << count; });
  }
}

TEST(ThreadPool, CountsToTheEndOfTheRange) {
  ThreadPool pool(2);
  std::atomic<uint64_t> sum{0};
  run(pool, UINT64_MAX, 1, [&](uint64_t begin, uint64_t end, uint32_t) { sum.fetch_add(end - begin); });
  EXPECT_EQ(sum, UINT64_MAX);
}

TEST(ThreadPool, HonoursItsCount) {
  ThreadPool one(1);
  EXPECT_EQ(one.service()->max_workers(one.service()->ctx), 1u);
  const auto self = std::this_thread::get_id();
  run(one, 1000, 1, [&](uint64_t, uint64_t, uint32_t worker) {
    EXPECT_EQ(std::this_thread::get_id(), self);
    EXPECT_EQ(worker, 0u);
  });
  ThreadPool three(3);
  EXPECT_EQ(three.max_workers(), 3u);
  ThreadPool machine;
  EXPECT_GE(machine.max_workers(), 1u);
}

TEST(ThreadPool, NumbersItsWorkersDenselyAndNeverRunsOneTwice) {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> inside[4] = {};
    std::atomic<uint32_t> seen{0};
    run(pool, 64, 1, [&](uint64_t, uint64_t, uint32_t worker) {
      ASSERT_LT(worker, 4u);
      ASSERT_EQ(inside[worker].fetch_add(1), 0);
      seen.fetch_or(1u << worker);
      inside[worker].fetch_sub(1);
    });
    const uint32_t workers = seen;
    EXPECT_NE(workers, 0u);
  }
}

TEST(ThreadPool, UsesItsThreads) {
  ThreadPool pool(2);
  std::atomic<int> waiting{0};
  // Two pieces that wait for each other end only when two workers run them.
  run(pool, 2, 1, [&](uint64_t, uint64_t, uint32_t) {
    waiting.fetch_add(1);
    while (waiting.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(waiting, 2);
}

TEST(ThreadPool, RunsNestedCallsOnTheirOwnThread) {
  ThreadPool pool(4);
  std::atomic<int> total{0};
  run(pool, 16, 1, [&](uint64_t begin, uint64_t end, uint32_t) {
    const auto self = std::this_thread::get_id();
    for (uint64_t i = begin; i < end; ++i)
      run(pool, 10, 1, [&](uint64_t inner_begin, uint64_t inner_end, uint32_t worker) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        EXPECT_EQ(worker, 0u);
        total.fetch_add(static_cast<int>(inner_end - inner_begin));
      });
  });
  EXPECT_EQ(total, 160);
}

TEST(ThreadPool, ServesManyCallersAtOnce) {
  ThreadPool pool(3);
  std::atomic<uint64_t> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i)
        run(pool, 100, 1, [&](uint64_t begin, uint64_t end, uint32_t) { total.fetch_add(end - begin); });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4u * 300 * 100);
}

TEST(ThreadPool, SeesTheWritesOfItsWorkers) {
  ThreadPool pool(4);
  std::vector<uint64_t> values(4096);
  for (uint64_t round = 1; round < 50; ++round) {
    run(pool, values.size(), 1, [&](uint64_t begin, uint64_t end, uint32_t) {
      for (uint64_t i = begin; i < end; ++i) values[i] += i * round;
    });
    ASSERT_EQ(values[4095], 4095 * round * (round + 1) / 2);
  }
}

TEST(ThreadPool, TakesNothingFromTheHeap) {
  ThreadPool pool(4);
  std::atomic<uint64_t> sum{0};
  const Body body = [&](uint64_t begin, uint64_t end, uint32_t) { sum.fetch_add(end - begin); };
  run(pool, 100, 1, body);
  const uint64_t before = new_count();
  for (int i = 0; i < 100; ++i) run(pool, 100, 1, body);
  EXPECT_EQ(new_count(), before);
}

}  // namespace
}  // namespace etb::host
