// SPDX-License-Identifier: Apache-2.0
// Asynchronous runs on the device that the plugin chooses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "api/testing/fence_signal.hpp"
#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

// Three products of 256 x 256.
GpuGraph products() {
  GpuGraph graph;
  uint32_t x = add_input(graph, shape_of({256, 256}));
  const uint32_t w = add_constant(graph, shape_of({256, 256}), "65536");
  for (int i = 0; i < 3; ++i) x = add_linear(graph, x, w);
  graph.outputs = {x};
  return graph;
}

class AsyncRunOfGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!run_.run()) GTEST_SKIP() << tested_plugin().hint << ": " << run_.error();
    expected_ = run_.output();
    run_.clear_output();
    ASSERT_EQ(::pipe2(fds_, O_CLOEXEC), 0);
    gate_.struct_size = ETB_INIT_SIZE(etb_fence);
    gate_.kind = "sync-fd";
    gate_.fd = fds_[0];
  }
  void TearDown() override {
    for (const int fd : fds_)
      if (fd >= 0) ::close(fd);
  }

  FloatRun run_{products(), shape_of({256, 256}), "auto"};
  std::vector<float> expected_;
  int fds_[2] = {-1, -1};
  etb_fence gate_{};  // reached when open_gate() was called
  void open_gate() { ASSERT_EQ(::write(fds_[1], "1", 1), 1); }
};

// On a busy machine few calls return before their run is over.
TEST_F(AsyncRunOfGpu, TheFenceComesAfterTheOutputs) {
  constexpr int kRuns = 20, kMostRuns = 3000;
  int early_count = 0;
  for (int i = 0; i < kRuns || (early_count == 0 && i < kMostRuns); ++i) {
    const auto call = run_.make_call();
    FenceSignal signal(call->args);
    ASSERT_EQ(run_.start(call->args), ETB_OK) << run_.error();
    early_count += signal.count() == 0 ? 1 : 0;
    EXPECT_EQ(signal.wait(), ETB_OK);
    EXPECT_EQ(run_.output(), expected_);
    EXPECT_EQ(signal.count(), 1);
    run_.clear_output();
  }
  EXPECT_GE(early_count, 1) << "no call returned before its run was over";
}

TEST_F(AsyncRunOfGpu, ARunWaitsForItsFences) {
  const auto call = run_.make_call();
  FenceSignal signal(call->args);
  call->args.wait = &gate_;
  call->args.wait_count = 1;
  ASSERT_EQ(run_.start(call->args), ETB_OK) << run_.error();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(signal.count(), 0);
  EXPECT_EQ(run_.destroy_context(), ETB_BUSY);
  EXPECT_EQ(run_.start(call->args), ETB_BUSY);
  EXPECT_FALSE(run_.run());
  open_gate();
  EXPECT_EQ(signal.wait(), ETB_OK);
  EXPECT_EQ(run_.output(), expected_);
}

TEST_F(AsyncRunOfGpu, CancelEndsARunThatWaitsAndOneThatTheDeviceHas) {
  for (int i = 0; i < 10; ++i) {
    const auto call = run_.make_call();
    FenceSignal signal(call->args);
    call->args.wait = &gate_;
    call->args.wait_count = i % 2 == 0 ? 1 : 0;
    ASSERT_EQ(run_.start(call->args), ETB_OK) << run_.error();
    std::this_thread::sleep_for(std::chrono::microseconds(200 * i));
    EXPECT_EQ(run_.cancel(), ETB_OK);
    const etb_status status = signal.wait();
    if (i % 2 == 0 || status != ETB_OK) {
      EXPECT_EQ(status, ETB_CANCELLED);
    } else {
      EXPECT_EQ(run_.output(), expected_);
    }
    run_.clear_output();
  }
  ASSERT_TRUE(run_.run()) << run_.error();
  EXPECT_EQ(run_.output(), expected_);
}

TEST_F(AsyncRunOfGpu, ErrorsReachTheFence) {
  ::close(std::exchange(fds_[1], -1));  // the fence is never reached
  const auto call = run_.make_call();
  FenceSignal signal(call->args);
  call->args.wait = &gate_;
  call->args.wait_count = 1;
  ASSERT_EQ(run_.start(call->args), ETB_OK) << run_.error();
  EXPECT_EQ(signal.wait(), ETB_INVALID_ARGUMENT);
  const auto late = run_.make_call();
  FenceSignal end(late->args);
  late->args.deadline_ns = 1;
  EXPECT_EQ(run_.start(late->args), ETB_DEADLINE_EXCEEDED) << "nothing is submitted";
  EXPECT_EQ(end.count(), 0);
}

TEST_F(AsyncRunOfGpu, EventsComeBeforeTheFence) {
  struct Seen {
    FenceSignal* signal;
    int count = 0, late_count = 0;
  };
  const auto call = run_.make_call();
  FenceSignal signal(call->args);
  Seen seen{&signal};
  const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &seen,
                               [](void* ctx, const etb_event*) -> etb_status {
                                 auto& to = *static_cast<Seen*>(ctx);
                                 ++to.count;
                                 to.late_count += to.signal->count();
                                 return ETB_OK;
                               }};
  call->args.events = &sink;
  ASSERT_EQ(run_.start(call->args), ETB_OK) << run_.error();
  EXPECT_EQ(signal.wait(), ETB_OK);
  EXPECT_EQ(run_.output(), expected_);
  EXPECT_GE(seen.count, 1);
  EXPECT_EQ(seen.late_count, 0);
}

}  // namespace
}  // namespace etb::gpu
