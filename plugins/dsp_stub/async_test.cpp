// SPDX-License-Identifier: Apache-2.0
// Asynchronous runs on the second core.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "api/testing/fence_signal.hpp"
#include "plugins/dsp_stub/testing/dsp_fixture.hpp"

namespace etb::dsp_stub {
namespace {

constexpr std::chrono::milliseconds kMoment{30};

class DspStubAsync : public DspStub {
 protected:
  void SetUp() override {
    DspStub::SetUp();
    ASSERT_EQ(compile(sums_model().image(), bytes_), ETB_OK) << error_.text;
    const auto known = read_payload(bytes_);
    ASSERT_TRUE(known) << known.error().message;
    known_ = *known;
    ASSERT_EQ(create(bytes_, &delegate_), ETB_OK) << error_.text;
    context_ = make_context();
    CallOfRun call(known_, 1);
    ASSERT_EQ(table_->delegate->execute(context_, &call.args, &error_), ETB_OK) << error_.text;
    expected_ = call.output();
  }
  void TearDown() override {
    EXPECT_EQ(table_->delegate->context_destroy(context_, &error_), ETB_OK) << error_.text;
    EXPECT_EQ(table_->delegate->destroy(delegate_, &error_), ETB_OK) << error_.text;
    DspStub::TearDown();
  }

  etb_context* make_context() {
    etb_context* made = nullptr;
    EXPECT_EQ(table_->delegate->context_create(delegate_, nullptr, 0, &made, &error_), ETB_OK);
    return made;
  }
  etb_status start(etb_context* context, CallOfRun& call) {
    return table_->delegate->execute_async(context, &call.args, &error_);
  }

  std::vector<std::byte> bytes_;
  PayloadView known_;
  etb_delegate* delegate_ = nullptr;
  etb_context* context_ = nullptr;
  std::vector<int8_t> expected_;
};

TEST_F(DspStubAsync, TheFenceComesAfterTheOutputs) {
  EXPECT_NE(table_->ident->flags & ETB_PLUGIN_OWN_THREADS, 0u);
  for (int i = 0; i < 20; ++i) {
    CallOfRun call(known_, 1);
    FenceSignal signal(call.args);
    ASSERT_EQ(start(context_, call), ETB_OK) << error_.text;
    EXPECT_EQ(signal.wait(), ETB_OK);
    EXPECT_EQ(call.output(), expected_);
    EXPECT_EQ(signal.count(), 1);
  }
}

TEST_F(DspStubAsync, EachContextHasACore) {
  std::vector<etb_context*> contexts = {make_context(), make_context(), make_context()};
  std::vector<std::unique_ptr<CallOfRun>> calls;
  std::vector<std::unique_ptr<FenceSignal>> signals;
  for (size_t i = 0; i < contexts.size(); ++i) {
    calls.push_back(std::make_unique<CallOfRun>(known_, i == 1 ? 2 : 1));
    signals.push_back(std::make_unique<FenceSignal>(calls[i]->args));
    ASSERT_EQ(start(contexts[i], *calls[i]), ETB_OK) << error_.text;
  }
  for (size_t i = 0; i < contexts.size(); ++i) {
    EXPECT_EQ(signals[i]->wait(), ETB_OK);
    EXPECT_EQ(calls[i]->output() == expected_, i != 1) << i;
    EXPECT_EQ(table_->delegate->context_destroy(contexts[i], &error_), ETB_OK);
  }
}

// A fence to wait for: it is reached when the descriptor becomes readable.
etb_fence fence_of(int fd) {
  etb_fence fence{};
  fence.struct_size = ETB_INIT_SIZE(etb_fence);
  fence.kind = "sync-fd";
  fence.fd = fd;
  return fence;
}

// Also: what a context in flight answers.
TEST_F(DspStubAsync, ARunWaitsForItsFences) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  CallOfRun call(known_, 1);
  FenceSignal signal(call.args);
  etb_fence wait = fence_of(fds[0]);
  call.args.wait = &wait;
  call.args.wait_count = 1;
  ASSERT_EQ(start(context_, call), ETB_OK) << error_.text;
  std::this_thread::sleep_for(kMoment);
  EXPECT_EQ(signal.count(), 0);
  EXPECT_EQ(table_->delegate->context_destroy(context_, &error_), ETB_BUSY);
  EXPECT_EQ(start(context_, call), ETB_BUSY);
  ASSERT_EQ(::write(fds[1], "1", 1), 1);
  EXPECT_EQ(signal.wait(), ETB_OK);
  EXPECT_EQ(call.output(), expected_);
  ::close(fds[0]), ::close(fds[1]);
}

TEST_F(DspStubAsync, FencesThatItCannotWaitForAreRejected) {
  CallOfRun call(known_, 1);
  FenceSignal signal(call.args);
  etb_fence wait{};
  wait.struct_size = ETB_INIT_SIZE(etb_fence);
  wait.kind = "timeline";
  call.args.wait = &wait;
  call.args.wait_count = 1;
  EXPECT_EQ(start(context_, call), ETB_NOT_SUPPORTED);
  EXPECT_THAT(error_.text, testing::HasSubstr("wait fence 0: kind 'timeline', expected 'sync-fd'"));
  call.args.wait_count = 0;
  call.args.signal_count = 0;
  EXPECT_EQ(start(context_, call), ETB_INVALID_ARGUMENT);
  std::this_thread::sleep_for(kMoment);
  EXPECT_EQ(signal.count(), 0);
}

// A descriptor that ends, as when the other device is lost.
TEST_F(DspStubAsync, ErrorsReachTheFence) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  ::close(fds[1]);
  CallOfRun call(known_, 1);
  FenceSignal signal(call.args);
  etb_fence wait = fence_of(fds[0]);
  call.args.wait = &wait;
  call.args.wait_count = 1;
  ASSERT_EQ(start(context_, call), ETB_OK) << error_.text;
  EXPECT_EQ(signal.wait(), ETB_INVALID_ARGUMENT);
  ::close(fds[0]);
  CallOfRun late(known_, 1);
  late.args.deadline_ns = 1;
  FenceSignal end(late.args);
  ASSERT_EQ(start(context_, late), ETB_OK) << error_.text;
  EXPECT_EQ(end.wait(), ETB_DEADLINE_EXCEEDED);
}

TEST_F(DspStubAsync, CancelEndsARunThatWaitsAndOneThatRuns) {
  ASSERT_NE(table_->delegate->caps & ETB_DELEGATE_CAP_CANCEL, 0u);
  int fds[2], cancelled_count = 0;
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  etb_fence wait = fence_of(fds[0]);
  for (int i = 0; i < 20; ++i) {
    CallOfRun call(known_, 1);
    FenceSignal signal(call.args);
    call.args.wait = &wait;
    call.args.wait_count = i == 0 ? 1 : 0;
    ASSERT_EQ(start(context_, call), ETB_OK) << error_.text;
    std::this_thread::sleep_for(std::chrono::microseconds(100 * i));
    EXPECT_EQ(table_->delegate->cancel(context_, &error_), ETB_OK);
    const etb_status status = signal.wait();
    if (status == ETB_CANCELLED)
      ++cancelled_count;
    else
      EXPECT_EQ(call.output(), expected_);
  }
  EXPECT_GE(cancelled_count, 1);
  EXPECT_EQ(table_->delegate->cancel(context_, &error_), ETB_OK);  // nothing to do
  CallOfRun call(known_, 1);
  EXPECT_EQ(table_->delegate->execute(context_, &call.args, &error_), ETB_OK) << error_.text;
  EXPECT_EQ(call.output(), expected_);
  ::close(fds[0]), ::close(fds[1]);
}

}  // namespace
}  // namespace etb::dsp_stub
