// SPDX-License-Identifier: Apache-2.0
// Plugins that change the state of the process are reported.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <stdexcept>
#include <thread>

#include "host/testing/layer_fixture.hpp"
#include "host/testing/report_matcher.hpp"

namespace etb::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Query = etb_status (*)(etb_delegate*, etb_delegate_info*, etb_error*);

std::vector<Violation> query(Query wrong, bool whole_process, uint32_t ident_flags = 0) {
  ValidateOptions options;
  options.whole_process = whole_process;
  LayerFixture fixture(options);
  fixture.toy.ident.flags = ident_flags;
  fixture.toy.delegate.query = wrong;
  if (fixture.start() != ETB_OK) return {};
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  fixture.delegates().query(fixture.delegate(), &info, nullptr);
  fixture.stop();
  return fixture.found();
}

etb_status right(etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
  return toy_tables().delegate.query(delegate, info, error);
}

// proves: ABI-HYG-01
TEST(ValidateProcess, ReportsAChangedRoundingMode) {
  const auto found = query(
      [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
        std::fesetround(FE_TOWARDZERO);
        return right(delegate, info, error);
      },
      false);
  std::fesetround(FE_TONEAREST);
  EXPECT_THAT(found, ElementsAre(Report("ABI-HYG-01", Side::PLUGIN, "floating-point control word")));
}

TEST(ValidateProcess, AllowsExceptionFlagsOfArithmetic) {
  const auto found = query(
      [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
        std::feraiseexcept(FE_INEXACT | FE_OVERFLOW);
        return right(delegate, info, error);
      },
      false);
  std::feclearexcept(FE_ALL_EXCEPT);
  EXPECT_THAT(found, IsEmpty());
}

// proves: ABI-HYG-01
TEST(ValidateProcess, ReportsAChangedSignalMask) {
  const auto found = query(
      [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
        sigset_t mask;
        sigemptyset(&mask);
        sigaddset(&mask, SIGUSR2);
        pthread_sigmask(SIG_BLOCK, &mask, nullptr);
        return right(delegate, info, error);
      },
      false);
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  EXPECT_THAT(found, ElementsAre(Report("ABI-HYG-01", Side::PLUGIN, "signal 12 is blocked now")));
}

// proves: ABI-HYG-01
TEST(ValidateProcess, ReportsASignalHandler) {
  const auto found = query(
      [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
        signal(SIGUSR1, [](int) {});
        return right(delegate, info, error);
      },
      true);
  signal(SIGUSR1, SIG_DFL);
  EXPECT_THAT(found, ElementsAre(Report("ABI-HYG-01", Side::PLUGIN, "a signal handler")));
}

// proves: ABI-HYG-01
TEST(ValidateProcess, ReportsAChangedEnvironment) {
  const auto found = query(
      [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
        setenv("ETB_TEST_VARIABLE", "1", 1);
        return right(delegate, info, error);
      },
      true);
  unsetenv("ETB_TEST_VARIABLE");
  EXPECT_THAT(found, ElementsAre(Report("ABI-HYG-01", Side::PLUGIN, "the environment: ETB_TEST_VARIABLE")));
}

TEST(ValidateProcess, DoesNotReportVariablesInAnotherOrder) {
  setenv("ETB_TEST_FIRST", "1", 1);
  setenv("ETB_TEST_SECOND", "2", 1);
  const auto found = query(
      [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
        unsetenv("ETB_TEST_FIRST");
        setenv("ETB_TEST_FIRST", "1", 1);
        return right(delegate, info, error);
      },
      true);
  unsetenv("ETB_TEST_FIRST");
  unsetenv("ETB_TEST_SECOND");
  EXPECT_THAT(found, IsEmpty());
}

// proves: ABI-HYG-01
TEST(ValidateProcess, ReportsAChangedWorkingDirectoryAndLocale) {
  char before[4096];
  ASSERT_NE(getcwd(before, sizeof(before)), nullptr);
  auto found = query(
      [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
        EXPECT_EQ(chdir("/"), 0);
        return right(delegate, info, error);
      },
      true);
  ASSERT_EQ(chdir(before), 0);
  EXPECT_THAT(found, ElementsAre(Report("ABI-HYG-01", Side::PLUGIN, "the working directory")));
  found = query(
      [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
        std::setlocale(LC_NUMERIC, "C.UTF-8");
        return right(delegate, info, error);
      },
      true);
  std::setlocale(LC_NUMERIC, "C");
  EXPECT_THAT(found, ElementsAre(Report("ABI-HYG-01", Side::PLUGIN, "the locale")));
}

std::thread g_thread;
std::atomic<bool> g_stop{false};

etb_status start_thread(etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
  g_stop = false;
  g_thread = std::thread([] {
    while (!g_stop) std::this_thread::yield();
  });
  return right(delegate, info, error);
}

// proves: ABI-HYG-02
TEST(ValidateProcess, ReportsThreadsThatWereNotDeclared) {
  auto found = query(&start_thread, true);
  g_stop = true;
  g_thread.join();
  EXPECT_THAT(found, ElementsAre(Report("ABI-HYG-02", Side::PLUGIN, "started 1 threads")));
  found = query(&start_thread, true, ETB_PLUGIN_OWN_THREADS);
  g_stop = true;
  g_thread.join();
  EXPECT_THAT(found, IsEmpty()) << "declared";
}

// proves: ABI-CALL-03
TEST(ValidateProcess, StopsAnException) {
  const auto found = query(
      [](etb_delegate*, etb_delegate_info*, etb_error*) -> etb_status { throw std::runtime_error("lost"); },
      false);
  EXPECT_THAT(found, ElementsAre(Report("ABI-CALL-03", Side::PLUGIN, "exception")));
}

}  // namespace
}  // namespace etb::host
