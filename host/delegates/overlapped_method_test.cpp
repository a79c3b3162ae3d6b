// SPDX-License-Identifier: Apache-2.0
// Methods whose delegates go on while other instructions run. Two runs meet only if both are under way at once, so no test
// depends on time.
#include "host/module/overlapped_method.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <random>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "host/testing/delegate_program.hpp"
#include "host/testing/heap_calls.hpp"
#include "host/testing/linked_only.hpp"
#include "host/testing/method_fixture.hpp"
#include "host/testing/overlapped_plugins.hpp"

namespace etb::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Each delegate adds one to its input.
struct Branches : DelegateProgram {
  Branches() : DelegateProgram({{"BackendA", 1, 0, {}}, {"BackendB", 1, 0, {}}}) {}
};

// A clock that goes on at each reading: so long do runs seem to take.
constexpr uint64_t kLongNs = 1000000;
std::atomic<uint64_t> clock_ns{0}, clock_step_ns{kLongNs};
const PlatformHooks kClock{nullptr, [](void*) { return clock_ns += clock_step_ns; }, nullptr};

class Overlapped : public testing::Test {
 protected:
  void SetUp() override {
    present = most_present = wanted = async_calls = 0;
    fails_a = fails_b = false;
    awaited_fences = refused_fences = stopped_runs = 0;
    refuses_fences = a_waits_for_b = is_cancelled = false;
  }

  void load(const Branches& branches, const PlatformHooks* platform = &kDefaultPlatformHooks) {
    overlapped_.reset();
    delegates_.allow_async_runs();
    fixture_.emplace(branches.program);
    fixture_->options.delegates = &delegates_;
    fixture_->options.platform = platform;
    ASSERT_EQ(fixture_->load(), ETB_OK) << fixture_->error.text;
    overlapped_ = OverlappedMethod::make(fixture_->method);
  }
  etb_status run() {
    FloatVector x({1, 2, 3, 4});
    EXPECT_EQ(fixture_->method.set_input(0, x.value(), &fixture_->error), ETB_OK) << fixture_->error.text;
    fixture_->error = ETB_ERROR_INIT;
    return overlapped_->execute(&fixture_->error, {});
  }
  std::vector<float> output() const { return floats(fixture_->method.output(0)); }

  Registry registry_{linked_only(kOverlappedPlugins)};
  PluginDelegates delegates_{registry_};
  std::optional<AddFixture> fixture_;
  std::unique_ptr<OverlappedMethod> overlapped_;
};

// u = a(x), v = b(x), sum = u + v
Branches two_branches() {
  Branches made;
  const int32_t u = made.add_vector(48), v = made.add_vector(64);
  made.call(0, 0, u);
  made.call(1, 0, v);
  made.sum(u, v, 2);
  return made;
}

TEST_F(Overlapped, TwoDevicesWorkAtOnce) {
  load(two_branches());
  ASSERT_NE(overlapped_, nullptr);
  wanted = 2;
  for (int i = 0; i < 3; ++i) {
    most_present = 0;
    ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
    EXPECT_EQ(most_present, 2) << "each run waited for the other";
    EXPECT_THAT(output(), ElementsAre(4, 6, 8, 10));
  }
}

// u = a(x), v = b(u), sum = x + x, w = v + sum
Branches chain_beside_kernel() {
  Branches made;
  const int32_t u = made.add_vector(48), v = made.add_vector(64), w = made.add_vector(80);
  made.call(0, 0, u);
  made.call(1, u, v);
  made.sum(0, 0, 2);
  made.sum(v, 2, w);
  made.method().outputs = {w};
  return made;
}

TEST_F(Overlapped, ADeviceBeginsWhenAnotherEndsWithoutTheHost) {
  load(chain_beside_kernel());
  ASSERT_NE(overlapped_, nullptr);
  wanted = 1;
  a_waits_for_b = true;
  for (int i = 1; i <= 3; ++i) {
    async_calls = 0;
    ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
    EXPECT_EQ(awaited_fences, i);
    EXPECT_THAT(output(), ElementsAre(5, 8, 11, 14));
  }
}

TEST_F(Overlapped, ARunBehindAFailedOneIsStopped) {
  load(chain_beside_kernel());
  ASSERT_NE(overlapped_, nullptr);
  wanted = 1;
  fails_a = a_waits_for_b = true;
  EXPECT_EQ(run(), ETB_UNAVAILABLE);
  EXPECT_STREQ(fixture_->error.text,
               "method 'forward', chain 0, instruction 0: delegate 'BackendA': a is lost");
  EXPECT_EQ(stopped_runs, 1);
  EXPECT_EQ(present, 0) << "all runs have ended";
  fails_a = false;
  async_calls = 0;
  ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
  EXPECT_EQ(awaited_fences, 1);
  EXPECT_THAT(output(), ElementsAre(5, 8, 11, 14));
}

TEST_F(Overlapped, ThePluginMayRefuseFences) {
  load(chain_beside_kernel());
  ASSERT_NE(overlapped_, nullptr);
  wanted = 1;
  refuses_fences = true;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
    EXPECT_THAT(output(), ElementsAre(5, 8, 11, 14));
  }
  EXPECT_EQ(refused_fences, 1) << "it is not asked again";
}

#if ETB_COUNTS_HEAP
TEST_F(Overlapped, ARunDoesNotUseTheHeap) {
  clock_step_ns = kLongNs;
  for (const bool is_chain : {false, true}) {
    load(is_chain ? chain_beside_kernel() : two_branches(), &kClock);
    ASSERT_NE(overlapped_, nullptr);
    wanted = is_chain ? 1 : 2;
    ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
    const int before = heap_calls;
    for (int i = 0; i < 50; ++i) {
      most_present = 0;
      ASSERT_EQ(overlapped_->execute(&fixture_->error, {}), ETB_OK);
    }
    EXPECT_EQ(heap_calls, before);
    EXPECT_EQ(awaited_fences, is_chain ? 51 : 0);
  }
}
#endif

// u = b(x), sum = x + x, v = sum + u, or the first two exchanged. The device starts first either way.
Branches kernel_beside_device(bool is_kernel_first = false) {
  Branches made;
  const int32_t u = made.add_vector(48), v = made.add_vector(64);
  if (is_kernel_first) made.sum(0, 0, 2);
  made.call(1, 0, u);
  if (!is_kernel_first) made.sum(0, 0, 2);
  made.sum(2, u, v);
  made.method().outputs = {v};
  return made;
}

TEST_F(Overlapped, AKernelRunsBesideADevice) {
  load(kernel_beside_device());
  ASSERT_NE(overlapped_, nullptr);
  wanted = 1;
  ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
  EXPECT_EQ(async_calls, 1);
  EXPECT_THAT(output(), ElementsAre(4, 7, 10, 13));
}

// A run that ends at once is not worth a start.
TEST_F(Overlapped, AShortRunIsNotStartedForLong) {
  clock_step_ns = 1;
  load(kernel_beside_device(), &kClock);
  ASSERT_NE(overlapped_, nullptr);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(run(), ETB_OK);
  EXPECT_EQ(async_calls, 4);
  clock_step_ns = kLongNs;  // each run takes a millisecond from here on
  for (int i = 0; i < 20; ++i) ASSERT_EQ(run(), ETB_OK);
  EXPECT_EQ(async_calls, 4 + 10)
      << "short runs are measured each 16th time, and the first long run is not started";
}

TEST_F(Overlapped, AChainHasNothingToOverlap) {
  Branches made;
  const int32_t u = made.add_vector(48), v = made.add_vector(64);
  made.call(0, 0, u);
  made.call(1, u, v);
  made.method().outputs = {v};
  load(made);
  EXPECT_EQ(overlapped_, nullptr);
}

// The result of the second branch takes the memory of the first one's input, so the branches are in order.
TEST_F(Overlapped, ReusedMemoryKeepsTheOrder) {
  Branches made;
  const int32_t u = made.add_vector(48), t = made.add_vector(64), v = made.add_vector(64);
  made.sum(0, 0, t);   // t = 2 x
  made.call(0, t, u);  // u = t + 1
  made.call(1, 0, v);  // v = x + 1, over t
  made.sum(u, v, 2);
  load(made);
  if (overlapped_ != nullptr) {
    wanted = 1;
    ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
    EXPECT_EQ(most_present, 1);
    EXPECT_THAT(output(), ElementsAre(5, 8, 11, 14));
  }
}

TEST_F(Overlapped, AnErrorNamesTheFirstInstructionThatFailed) {
  load(two_branches());
  ASSERT_NE(overlapped_, nullptr);
  wanted = 2;
  fails_a = fails_b = true;
  EXPECT_EQ(run(), ETB_UNAVAILABLE);
  EXPECT_STREQ(fixture_->error.text,
               "method 'forward', chain 0, instruction 0: delegate 'BackendA': a is lost");
  EXPECT_EQ(present, 0) << "all runs have ended";
  fails_a = false;
  EXPECT_EQ(run(), ETB_UNAVAILABLE);
  EXPECT_THAT(fixture_->error.text, HasSubstr("instruction 1: delegate 'BackendB': "));
  fails_b = false;
  ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
  EXPECT_THAT(output(), ElementsAre(4, 6, 8, 10));
}

// As after a kernel that had too little scratch: the failure of a run that ended meanwhile is not forgotten.
TEST_F(Overlapped, AResumedRunStillFails) {
  load(kernel_beside_device(true));
  ASSERT_NE(overlapped_, nullptr);
  FloatVector x({1, 2, 3, 4});
  ASSERT_EQ(fixture_->method.set_input(0, x.value(), &fixture_->error), ETB_OK) << fixture_->error.text;
  fails_b = true;
  RunLimits limits;
  limits.max_instructions = 1;  // the start; the sum comes too late
  EXPECT_EQ(overlapped_->execute(&fixture_->error, limits), ETB_OUT_OF_RESOURCES) << fixture_->error.text;
  EXPECT_EQ(overlapped_->resume(&fixture_->error, {}), ETB_UNAVAILABLE);
  EXPECT_THAT(fixture_->error.text, HasSubstr("instruction 1: delegate 'BackendB': "));
  fails_b = false;
  EXPECT_EQ(overlapped_->execute(&fixture_->error, {}), ETB_OK) << fixture_->error.text;
}

TEST_F(Overlapped, ACancelledRunSaysSo) {
  load(two_branches());
  ASSERT_NE(overlapped_, nullptr);
  FloatVector x({1, 2, 3, 4});
  ASSERT_EQ(fixture_->method.set_input(0, x.value(), &fixture_->error), ETB_OK);
  std::atomic<bool> cancel{true};
  RunLimits limits;
  limits.cancel = &cancel;
  EXPECT_EQ(overlapped_->execute(&fixture_->error, limits), ETB_CANCELLED) << fixture_->error.text;
  cancel = false;
  EXPECT_EQ(overlapped_->execute(&fixture_->error, limits), ETB_OK) << fixture_->error.text;
}

// Without memory of its own for the input and the output, a caller may pass the same for both.
TEST_F(Overlapped, MemoryOfTheCallerThatOverlapsKeepsTheOrder) {
  Branches made = two_branches();
  for (const size_t value : {0u, 2u}) std::get<format::TensorSpec>(made.method().values[value]).memory_id = 0;
  load(made);
  ASSERT_NE(overlapped_, nullptr);
  FloatVector x({1, 2, 3, 4});
  ASSERT_EQ(fixture_->method.set_input(0, x.value(), &fixture_->error), ETB_OK) << fixture_->error.text;
  ASSERT_EQ(
      fixture_->method.set_output_memory(0, std::as_writable_bytes(std::span(x.elements)), &fixture_->error),
      ETB_OK)
      << fixture_->error.text;
  wanted = 1;
  ASSERT_EQ(overlapped_->execute(&fixture_->error, {}), ETB_OK) << fixture_->error.text;
  EXPECT_EQ(most_present, 1);
  EXPECT_THAT(x.elements, ElementsAre(4, 6, 8, 10));
  FloatVector y({0, 0, 0, 0});
  x.elements = {1, 2, 3, 4};
  ASSERT_EQ(
      fixture_->method.set_output_memory(0, std::as_writable_bytes(std::span(y.elements)), &fixture_->error),
      ETB_OK);
  wanted = 2, most_present = 0;
  ASSERT_EQ(overlapped_->execute(&fixture_->error, {}), ETB_OK) << fixture_->error.text;
  EXPECT_EQ(most_present, 2);
  EXPECT_THAT(y.elements, ElementsAre(4, 6, 8, 10));
}

// Calls and sums over vectors that share memory at random.
Branches random_program(std::mt19937_64& random) {
  Branches made;
  std::vector<int32_t> vectors{0};
  for (uint64_t i = 0; i < 10; ++i) vectors.push_back(made.add_vector(16 * (random() % 6)));
  const auto offset_of = [&](int32_t value) {
    return std::get<format::TensorSpec>(made.method().values[value]).memory_offset;
  };
  while (made.method().instructions.size() < 12) {
    const int32_t x = vectors[random() % vectors.size()], y = vectors[random() % vectors.size()],
                  to = vectors[random() % vectors.size()];
    if (offset_of(x) == offset_of(to) || offset_of(y) == offset_of(to))
      continue;  // rejected when it is loaded
    const uint64_t kind = random() % 3;
    if (kind < 2)
      made.call(static_cast<int32_t>(kind), x, to);
    else
      made.sum(x, y, to);
  }
  made.method().outputs = {vectors.back()};
  return made;
}

TEST_F(Overlapped, RandomProgramsHaveTheResultsOfTheirOrder) {
  const uint64_t seed = 11;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  size_t overlapped_count = 0;
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE("program " + std::to_string(i));
    const Branches program = random_program(random);
    std::vector<std::vector<std::byte>> memory;
    for (const bool in_order : {true, false}) {
      fixture_.reset();
      overlapped_.reset();
      load(program);
      overlapped_count += !in_order && overlapped_ != nullptr ? 1 : 0;
      FloatVector x({1, 2, 3, 4});
      ASSERT_EQ(fixture_->method.set_input(0, x.value(), &fixture_->error), ETB_OK) << fixture_->error.text;
      wanted = 1;
      const etb_status status = in_order || overlapped_ == nullptr
                                    ? fixture_->method.execute(&fixture_->error)
                                    : overlapped_->execute(&fixture_->error, {});
      ASSERT_EQ(status, ETB_OK) << fixture_->error.text;
      memory.emplace_back(fixture_->arenas[0].begin(), fixture_->arenas[0].end());
    }
    EXPECT_EQ(memory[0], memory[1]);
  }
  EXPECT_GT(overlapped_count, 100u);
  EXPECT_GT(awaited_fences, 10);
  EXPECT_GT(fixture_->arenas[0].size(), 0u);
}

TEST_F(Overlapped, AModuleOverlapsOnRequest) {
  const auto bytes = format::build_program(two_branches().program);
  KernelRegistry kernels;
  ASSERT_EQ(kernels.add(kAddTable), ETB_OK);
  for (const bool is_async : {false, true}) {
    PluginDelegates delegates(registry_);
    if (is_async) delegates.allow_async_runs();
    ModuleOptions options;
    options.kernels = &kernels;
    options.delegates = &delegates;
    options.async = is_async;
    auto module = Module::from_bytes(bytes, options);
    ASSERT_TRUE(module) << module.error().message;
    wanted = is_async ? 2 : 1;
    most_present = 0;
    FloatVector x({1, 2, 3, 4});
    const auto outputs = module->forward({x.value()});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_EQ(most_present, wanted);
    EXPECT_THAT(floats((*outputs)[0]), ElementsAre(4, 6, 8, 10));
  }
}

}  // namespace
}  // namespace etb::host
