// SPDX-License-Identifier: Apache-2.0
// Limits, deadlines and cancel flags end a run or reject a program that is otherwise correct.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "host/testing/method_fixture.hpp"

namespace etb::host {
namespace {

using format::MethodSpec;
using format::ProgramSpec;
using testing::HasSubstr;
using TestFixture = AddFixture;

constexpr uint8_t kMove = 3, kJumpFalse = 4, kFree = 5;

// A jump back over a move: the runtime cannot know if it ends.
ProgramSpec endless_program() {
  MethodSpec method;
  method.values = {false, int64_t{1}, int64_t{2}};
  method.instructions = {{kMove, 1, 2, {}}, {kJumpFalse, 0, 0, {}}};
  ProgramSpec program;
  program.methods = {method};
  return program;
}

TEST(MethodLimits, StopsAnEndlessProgram) {
  TestFixture fixture(endless_program());
  ASSERT_EQ(fixture.load(), ETB_OK);
  RunLimits limits;
  limits.max_instructions = 1000;
  EXPECT_EQ(fixture.method.execute(&fixture.error, limits), ETB_OUT_OF_RESOURCES);
  EXPECT_THAT(fixture.error.text,
              HasSubstr("chain 0, instruction 0: 1000 instructions executed, the run's limit"));

  limits = {};
  limits.deadline_ns = kDefaultPlatformHooks.now_ns(nullptr) + 1000000;
  EXPECT_EQ(fixture.method.execute(&fixture.error, limits), ETB_DEADLINE_EXCEEDED);

  std::atomic<bool> cancel = true;
  limits = {};
  limits.cancel = &cancel;
  EXPECT_EQ(fixture.method.execute(&fixture.error, limits), ETB_CANCELLED);
}

TEST(MethodLimits, StopsAnEndlessProgramWithoutBeingAsked) {
  TestFixture fixture(endless_program());
  EXPECT_EQ(fixture.options.limits.max_run_instructions, uint64_t{1} << 32);
  fixture.options.limits.max_run_instructions = 1000;
  ASSERT_EQ(fixture.load(), ETB_OK);
  EXPECT_EQ(fixture.method.execute(&fixture.error), ETB_OUT_OF_RESOURCES);
  EXPECT_THAT(
      fixture.error.text,
      HasSubstr(
          "about 1002 instructions executed in loops, more than the limit max_run_instructions of 1000"));
  EXPECT_THAT(fixture.error.text, HasSubstr("\nhint: "));

  // A run without its own instruction limit keeps the default, and the count restarts with each run.
  std::atomic<bool> cancel = false;
  RunLimits limits;
  limits.cancel = &cancel;
  EXPECT_EQ(fixture.method.execute(&fixture.error, limits), ETB_OUT_OF_RESOURCES);
  limits = {};
  limits.max_instructions = 5000;
  EXPECT_EQ(fixture.method.execute(&fixture.error, limits), ETB_OUT_OF_RESOURCES);
  EXPECT_THAT(fixture.error.text, HasSubstr("5000 instructions executed, the run's limit"));
}

TEST(MethodLimits, RefusesToRepeatWhatChangesNothing) {
  for (const bool has_free : {false, true}) {
    MethodSpec method;
    method.values = {false, format::TensorSpec()};
    if (has_free) method.instructions.push_back({kFree, 1, 0, {}});
    method.instructions.push_back({kJumpFalse, 0, 0, {}});
    ProgramSpec program;
    program.methods = {method};
    TestFixture fixture(program);
    ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
    EXPECT_EQ(fixture.method.execute(&fixture.error), ETB_INVALID_PROGRAM);
    EXPECT_THAT(fixture.error.text,
                HasSubstr("jumps back to itself over nothing that changes its condition"));
  }
}

struct MakesNoDelegate final : DelegateResolver {
  etb_status create(const DelegateRequest&, MethodDelegate**, etb_error*) noexcept override {
    ADD_FAILURE() << "a payload above the limit was used";
    return ETB_INTERNAL;
  }
};

TEST(MethodLimits, LoadsWithinItsLimitsOnly) {
  const std::pair<uint64_t LoadLimits::*, const char*> limits[] = {
      {&LoadLimits::max_arenas, "max_arenas"},
      {&LoadLimits::max_values, "max_values"},
      {&LoadLimits::max_instructions, "max_instructions"},
  };
  for (const auto& [limit, name] : limits) {
    TestFixture fixture(format::add_program(3));
    fixture.options.limits.*limit = 0;
    EXPECT_EQ(fixture.load(), ETB_OUT_OF_RESOURCES) << name;
    EXPECT_THAT(fixture.error.text,
                HasSubstr(std::string("more than the limit ") + name + " of 0\nhint: raise it"));
  }
  ProgramSpec spec = format::add_program(3);
  spec.methods[0].delegates = {{"any", 1, 0, {}}, {"any", 1, 0, {}}};
  spec.segments = {std::string(100, 'x')};
  MakesNoDelegate resolver;
  TestFixture fixture(spec);
  fixture.options.delegates = &resolver;
  fixture.options.limits.max_payload_bytes = 199;  // both delegates name the same bytes
  EXPECT_EQ(fixture.load(), ETB_OUT_OF_RESOURCES);
  EXPECT_THAT(fixture.error.text, HasSubstr("200, more than the limit max_payload_bytes of 199"));
  TestFixture crowded(spec);
  crowded.options.limits.max_delegates = 1;
  EXPECT_EQ(crowded.load(), ETB_OUT_OF_RESOURCES);
  EXPECT_THAT(crowded.error.text, HasSubstr("2, more than the limit max_delegates of 1"));
}

// ---- Deadlines inside kernels

// A clock that advances by step_ns at each read.
struct SlowClock {
  uint64_t now_ns = 1;
  uint64_t step_ns = 0;
  PlatformHooks hooks() {
    return {this,
            [](void* self) {
              auto& clock = *static_cast<SlowClock*>(self);
              return clock.now_ns += clock.step_ns;
            },
            nullptr};
  }
};

int64_t pieces_done = 0;

etb_status work_long(KernelContext& context, EValue** args) {
  constexpr int64_t kMost = 100000;  // ends the test within seconds when it fails
  for (pieces_done = 0; pieces_done < kMost; ++pieces_done) {
    if (context.should_stop(KernelContext::kPiece)) return context.stopped();
  }
  args[3]->tensor().data_as<float>()[0] = 7;
  return ETB_OK;
}

constexpr Kernel kLongRows[] = {Kernel("aten::add.out", "TTST", &work_long)};
const KernelRows kLongTable(kLongRows);

TEST(MethodLimits, StopsInsideAKernel) {
  SlowClock clock;
  const PlatformHooks hooks = clock.hooks();
  KernelRegistry registry;
  ASSERT_EQ(registry.add(kLongTable), ETB_OK);
  MethodFixture fixture(format::add_program(3));
  fixture.options.kernels = &registry;
  fixture.options.platform = &hooks;
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;

  // The run reads the clock once before the instruction, then after every second piece. The third
  // read is past the deadline.
  RunLimits limits;
  clock.step_ns = 10;
  limits.deadline_ns = clock.now_ns + 25;
  EXPECT_EQ(fixture.method.execute(&fixture.error, limits), ETB_DEADLINE_EXCEEDED);
  EXPECT_STREQ(
      fixture.error.text,
      "method 'forward', chain 0, instruction 0: deadline passed inside aten::add.out, after 0 instructions");
  EXPECT_LE(pieces_done * KernelContext::kPiece, 3 * StopCheck::kPeriod);

  std::atomic<bool> cancel = false;
  struct Canceller {
    std::atomic<bool>* flag;
    uint64_t looks = 0;
  } canceller{&cancel};
  const PlatformHooks cancelling{&canceller,
                                 [](void* self) {
                                   auto& given = *static_cast<Canceller*>(self);
                                   if (++given.looks == 3) *given.flag = true;
                                   return uint64_t{1};
                                 },
                                 nullptr};
  MethodFixture cancelled(format::add_program(3));
  cancelled.options.kernels = &registry;
  cancelled.options.platform = &cancelling;
  ASSERT_EQ(cancelled.load(), ETB_OK);
  limits.deadline_ns = 1000;
  limits.cancel = &cancel;
  EXPECT_EQ(cancelled.method.execute(&cancelled.error, limits), ETB_CANCELLED);
  EXPECT_THAT(cancelled.error.text, HasSubstr("cancelled inside aten::add.out"));

  // The method can run again, and ends without limits.
  EXPECT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
  EXPECT_EQ(floats(fixture.method.output(0))[0], 7);
}

// The work is done, but after the deadline.
TEST(MethodLimits, ARunThatEndsAfterItsDeadlineFails) {
  SlowClock clock;
  const PlatformHooks hooks = clock.hooks();
  AddFixture fixture(format::add_program(3));
  fixture.options.platform = &hooks;
  ASSERT_EQ(fixture.load(), ETB_OK);
  clock.step_ns = 10;
  RunLimits limits;
  limits.deadline_ns = clock.now_ns + 15;  // not reached before the instruction, passed after it
  EXPECT_EQ(fixture.method.execute(&fixture.error, limits), ETB_DEADLINE_EXCEEDED);
  EXPECT_THAT(fixture.error.text, HasSubstr("deadline passed after 1 instructions"));
}

}  // namespace
}  // namespace etb::host
