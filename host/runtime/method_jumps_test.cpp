// SPDX-License-Identifier: Apache-2.0
// Methods with loops and branches, run whole or by one instruction at a time.
#include <gtest/gtest.h>

#include "host/runtime/method.hpp"
#include "host/testing/method_fixture.hpp"

namespace etb::host {
namespace {

using format::MethodSpec;
using format::ProgramSpec;
using format::TensorSpec;
using TestFixture = AddFixture;

constexpr uint8_t kKernel = 1, kMove = 3, kJumpFalse = 4;

// sum = 0; for i in 0..9: sum += i
ProgramSpec loop_program() {
  MethodSpec method;
  method.values = {int64_t{0}, int64_t{0}, int64_t{1}, int64_t{10}, false};  // sum, i, one, ten, is_done
  method.outputs = {0};
  method.operators = {{"executorch_prim::add", "Scalar"}, {"executorch_prim::eq", "Scalar"}};
  method.instructions = {{kKernel, 0, 0, {0, 1, 0}},
                         {kKernel, 0, 0, {1, 2, 1}},
                         {kKernel, 1, 0, {1, 3, 4}},
                         {kJumpFalse, 4, 0, {}}};
  ProgramSpec program;
  program.methods = {method};
  return program;
}

TEST(Method, LoopsUntilTheConditionHolds) {
  TestFixture fixture(loop_program());
  fixture.options.kernels = nullptr;  // the core has these ops itself
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
  EXPECT_EQ(fixture.method.output(0).to_int(), 45);
}

TEST(Method, StepsOneInstructionAtATime) {
  TestFixture fixture(loop_program());
  ASSERT_EQ(fixture.load(), ETB_OK);
  int count = 0;
  etb_status status;
  while ((status = fixture.method.step(&fixture.error)) == ETB_OK) ++count;
  EXPECT_EQ(status, ETB_END_OF_METHOD);
  EXPECT_EQ(count, 40);
  EXPECT_EQ(fixture.method.step(&fixture.error), ETB_OK);  // and over again
}

TEST(Method, InterleavesWithAnother) {
  TestFixture first(loop_program());
  TestFixture second(loop_program());
  ASSERT_EQ(first.load(), ETB_OK);
  ASSERT_EQ(second.load(), ETB_OK);
  int turns = 0;
  while (first.method.step(&first.error) == ETB_OK) {
    ++turns;
    ASSERT_EQ(second.method.step(&second.error), ETB_OK) << turns;
  }
  EXPECT_EQ(turns, 40);
  EXPECT_EQ(first.method.output(0).to_int(), 45);
  EXPECT_EQ(second.method.output(0).to_int(), 45);
}

TEST(Method, JumpsOnABoolTensorWithAnyFalse) {
  MethodSpec method;
  TensorSpec flags;
  flags.dtype = 11;
  flags.sizes = {3};
  flags.memory_id = 1;
  method.values = {flags, int64_t{1}, int64_t{2}};
  method.inputs = {0};
  method.outputs = {1};
  method.arena_sizes = {0, 16};
  method.instructions = {{kJumpFalse, 0, 2, {}}, {kMove, 2, 1, {}}};
  ProgramSpec program;
  program.methods = {method};
  for (const bool last : {true, false}) {
    TestFixture fixture(program);
    ASSERT_EQ(fixture.load(), ETB_OK);
    bool elements[3] = {true, true, last};
    TensorStorage storage;
    Tensor tensor = storage.make(Dtype::BOOL, std::array<int64_t, 1>{3}, elements, 3);
    ASSERT_EQ(fixture.method.set_input(0, EValue(&tensor), &fixture.error), ETB_OK) << fixture.error.text;
    ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
    EXPECT_EQ(fixture.method.output(0).to_int(), last ? 2 : 1);
  }
}

}  // namespace
}  // namespace etb::host
