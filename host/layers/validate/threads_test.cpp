// SPDX-License-Identifier: Apache-2.0
// Hosts that call at the wrong time are reported.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "host/testing/layer_fixture.hpp"
#include "host/testing/report_matcher.hpp"

namespace etb::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// State that the wrong toys of this file wait for. Global, because the tests of one program run one after
// another.
std::atomic<int> entered{0};
std::atomic<bool> let_go{false};

void wait_inside() {
  ++entered;
  while (!let_go) std::this_thread::yield();
}

void wait_until_entered() {
  while (entered == 0) std::this_thread::yield();
}

class ValidateThreads : public ::testing::Test {
 protected:
  ValidateThreads() {
    entered = 0;
    let_go = false;
  }
};

// proves: ABI-THREAD-02
TEST_F(ValidateThreads, ReportsTwoRunsOfOneContextAtOnce) {
  LayerFixture fixture(strict());
  fixture.toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    wait_inside();
    return toy_tables().delegate.execute(context, args, error);
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_context* const context = fixture.context();
  std::thread other([&] { fixture.delegates().execute(context, &fixture.run.args, nullptr); });
  wait_until_entered();
  ToyRun run;
  etb_error error = ETB_ERROR_INIT;
  EXPECT_EQ(fixture.delegates().execute(context, &run.args, &error), ETB_INVALID_STATE) << "strict: refused";
  EXPECT_THAT(error.text, ::testing::HasSubstr("ABI-THREAD-02"));
  EXPECT_EQ(entered, 1) << "and did not reach the plugin";
  let_go = true;
  other.join();
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-THREAD-02", Side::HOST, "[serial:context]")));
  EXPECT_EQ(fixture.execute(), ETB_OK) << "afterwards it may run again";
  EXPECT_THAT(fixture.found(), IsEmpty());
}

// proves: ABI-THREAD-03
TEST_F(ValidateThreads, ReportsTwoInitsAtOnce) {
  LayerFixture fixture(strict());
  fixture.toy.plugin.init = [](const etb_host* host, const etb_option* options, uint64_t count,
                               etb_plugin** out, etb_error* error) {
    if (entered == 0) wait_inside();
    return toy_tables().plugin.init(host, options, count, out, error);
  };
  std::thread other([&] { fixture.start(); });
  wait_until_entered();
  // Initialises the same chain again, like a host that initialises on two threads.
  etb_plugin* plugin = nullptr;
  etb_error error = ETB_ERROR_INIT;
  EXPECT_EQ(fixture.table().init(&fixture.host(), nullptr, 0, &plugin, &error), ETB_INVALID_STATE);
  let_go = true;
  other.join();
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-THREAD-03", Side::HOST, "[init]")));
}

// proves: ABI-EXEC-03
TEST_F(ValidateThreads, ReportsMoreContextsAtOnceThanTheDelegateRuns) {
  LayerFixture fixture(strict());
  fixture.toy.delegate.query = [](etb_delegate*, etb_delegate_info* info, etb_error*) -> etb_status {
    info->input_count = info->output_count = info->max_contexts = 1;
    return ETB_OK;
  };
  fixture.toy.delegate.execute = [](etb_context*, const etb_exec_args*, etb_error*) -> etb_status {
    wait_inside();
    return ETB_OK;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  ASSERT_EQ(fixture.delegates().query(fixture.delegate(), &info, nullptr), ETB_OK);
  etb_context* second = nullptr;
  ASSERT_EQ(fixture.delegates().context_create(fixture.delegate(), nullptr, 0, &second, nullptr), ETB_OK);
  etb_context* const first = fixture.context();
  std::thread other([&] { fixture.delegates().execute(first, &fixture.run.args, nullptr); });
  wait_until_entered();
  ToyRun run;
  EXPECT_EQ(fixture.delegates().execute(second, &run.args, nullptr), ETB_INVALID_STATE);
  let_go = true;
  other.join();
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-EXEC-03", Side::HOST, "max_contexts is 1")));
  EXPECT_EQ(fixture.delegates().context_destroy(second, nullptr), ETB_OK);
}

// proves: ABI-EXEC-05 ABI-THREAD-02
TEST_F(ValidateThreads, CountsAnAsynchronousRunUntilItIsSignalled) {
  LayerFixture fixture(strict());
  static const etb_fence* pending;
  fixture.toy.delegate.execute_async = [](etb_context*, const etb_exec_args* args, etb_error*) -> etb_status {
    pending = args->signal;
    return ETB_OK;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  int signals = 0;
  fixture.run.signal_by_call([](void* handle, etb_status) { ++*static_cast<int*>(handle); }, &signals);
  ASSERT_EQ(fixture.delegates().execute_async(fixture.context(), &fixture.run.args, nullptr), ETB_OK);
  EXPECT_EQ(fixture.execute(), ETB_INVALID_STATE);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-THREAD-02", Side::HOST)));
  std::thread([] { pending->signal(pending->handle, ETB_OK); }).join();
  EXPECT_EQ(fixture.execute(), ETB_OK);
  pending->signal(pending->handle, ETB_OK);
  EXPECT_EQ(signals, 1) << "the host hears of it once";
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-EXEC-05", Side::PLUGIN, "again")));
}

// proves: ABI-EXEC-05
TEST_F(ValidateThreads, ReportsAnAsynchronousRunWithoutAFence) {
  LayerFixture fixture(strict());
  fixture.toy.delegate.execute_async = [](etb_context*, const etb_exec_args*, etb_error*) -> etb_status {
    ADD_FAILURE() << "the call reached the plugin";
    return ETB_OK;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  fixture.run.args.signal_count = 0;
  EXPECT_EQ(fixture.delegates().execute_async(fixture.context(), &fixture.run.args, fixture.fresh_error()),
            ETB_INVALID_ARGUMENT);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-EXEC-05", Side::HOST, "signal_count is 0")));
}

// proves: ABI-EXEC-05
TEST_F(ValidateThreads, ReportsASignalOfARunThatFailed) {
  LayerFixture fixture;
  fixture.toy.delegate.execute_async = [](etb_context*, const etb_exec_args* args,
                                          etb_error* error) -> etb_status {
    args->signal->signal(args->signal->handle, ETB_OK);
    error->code = ETB_UNAVAILABLE;
    error->text[0] = 'x';
    return ETB_UNAVAILABLE;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  fixture.run.signal_by_call([](void*, etb_status) {});
  EXPECT_EQ(fixture.delegates().execute_async(fixture.context(), &fixture.run.args, nullptr),
            ETB_UNAVAILABLE);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-EXEC-05", Side::PLUGIN, "signalled a fence")));
}

}  // namespace
}  // namespace etb::host
