// SPDX-License-Identifier: Apache-2.0
// Operands that share memory: rejected calls, the time of the check, error messages; and accepted calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "host/testing/method_fixture.hpp"

namespace etb::host {
namespace {

using format::IntListSpec;
using format::MethodSpec;
using format::ProgramSpec;
using format::TensorListSpec;
using format::TensorSpec;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint8_t kKernel = 1, kDelegate = 2, kMove = 3, kJumpFalse = 4, kFree = 5;

etb_status nothing(KernelContext&, EValue**) { return ETB_OK; }

constexpr Kernel kTestRows[] = {
    {"test::unmarked.out", "TTT", &nothing}, {"test::two.out", "TT!T!", &nothing},
    {"test::split.out", "TL!", &nothing},    {"test::join.out", "LT!", &nothing},
    {"test::in_place", "T!T=", &nothing},
};
const KernelRows kTestTable(kTestRows);

struct TestFixture : AddFixture {
  explicit TestFixture(const ProgramSpec& spec) : AddFixture(spec) {
    if (registry.add(kTestTable) != ETB_OK) std::abort();
  }
  // Error text of the load, "" when it succeeds.
  std::string refusal() { return load() == ETB_OK ? "" : error.text; }
  std::string run_refusal() { return method.execute(&error) == ETB_OK ? "" : error.text; }
};

// One call of an operator with planned vectors of float32, values from 0 on.
ProgramSpec call_of(const char* name, std::vector<TensorSpec> tensors, std::vector<int32_t> args) {
  MethodSpec method;
  for (TensorSpec& tensor : tensors) method.values.emplace_back(std::move(tensor));
  const std::string full(name);
  method.operators = {{full.substr(0, full.find('.')),
                       full.find('.') == std::string::npos ? "" : full.substr(full.find('.') + 1)}};
  method.instructions = {{kKernel, 0, 0, std::move(args)}};
  method.arena_sizes = {0, 256};
  ProgramSpec program;
  program.methods = {method};
  return program;
}

std::string refusal_of(const ProgramSpec& spec) { return TestFixture(spec).refusal(); }

TEST(OperandOverlap, NamesInstructionOperatorValuesAndRanges) {
  ProgramSpec spec = format::add_program(4);
  std::get<TensorSpec>(spec.methods[0].values[2]).memory_offset = 24;
  TestFixture fixture(spec);
  EXPECT_EQ(fixture.load(), ETB_INVALID_PROGRAM);
  EXPECT_STREQ(
      fixture.error.text,
      "method 'forward': chain 0, instruction 0: aten::add.out writes argument 3 (value 2: 16 bytes at 24 in "
      "arena 1), which shares memory with argument 1 (value 1: 16 bytes at 16 in arena 1)");
}

TEST(OperandOverlap, AllowsNeighboursAndTheSameInputTwice) {
  EXPECT_EQ(refusal_of(format::add_program(4)), "");
  ProgramSpec spec = format::add_program(4);
  spec.methods[0].instructions[0].args[1] = 0;  // x + x
  EXPECT_EQ(refusal_of(spec), "");
}

TEST(OperandOverlap, AllowsExactlyTheSameRangeWhereTheRowSaysSo) {
  ProgramSpec spec = format::add_program(4);
  auto& out = std::get<TensorSpec>(spec.methods[0].values[2]);
  out.memory_offset = 16;  // y's
  EXPECT_EQ(refusal_of(spec), "");
  out.sizes = {2, 2};
  EXPECT_THAT(refusal_of(spec), HasSubstr("shares memory with argument 1"));
  out.sizes = {4};
  out.dtype = 3;  // int32: as wide
  EXPECT_EQ(refusal_of(spec), "");
  out.dtype = 2;  // int16
  out.sizes = {8};
  EXPECT_THAT(refusal_of(spec), HasSubstr("shares memory with argument 1"));
  out.dtype = 6;
  out.sizes = {3};
  EXPECT_THAT(refusal_of(spec), HasSubstr("shares memory with argument 1"));
}

TEST(OperandOverlap, RefusesOtherDimOrdersAtOnePlace) {
  TensorSpec rows = vector_spec(0, 0);
  rows.sizes = {2, 2};
  TensorSpec columns = rows;
  columns.dim_order = {1, 0};
  EXPECT_EQ(refusal_of(call_of("test::in_place", {rows, rows}, {0, 1})), "");
  EXPECT_THAT(refusal_of(call_of("test::in_place", {rows, columns}, {0, 1})),
              HasSubstr("test::in_place writes argument 0"));
}

TEST(OperandOverlap, CountsEveryTensorOfARowWithoutMarksAsWritten) {
  EXPECT_EQ(refusal_of(call_of("test::unmarked.out",
                               {vector_spec(4, 0), vector_spec(4, 16), vector_spec(4, 32)}, {0, 1, 2})),
            "");
  EXPECT_THAT(refusal_of(call_of("test::unmarked.out",
                                 {vector_spec(4, 0), vector_spec(4, 4), vector_spec(4, 32)}, {0, 1, 2})),
              HasSubstr("test::unmarked.out writes argument 0"));
  EXPECT_THAT(refusal_of(call_of("test::unmarked.out", {vector_spec(4, 0), vector_spec(4, 32)}, {0, 0, 1})),
              HasSubstr("shares memory with argument 1 (value 0"));
}

TEST(OperandOverlap, RefusesTwoOutputsAtOnePlace) {
  EXPECT_THAT(
      refusal_of(
          call_of("test::two.out", {vector_spec(4, 0), vector_spec(4, 32), vector_spec(4, 44)}, {0, 1, 2})),
      HasSubstr(
          "writes argument 1 (value 1: 16 bytes at 32 in arena 1), which shares memory with argument 2"));
  EXPECT_THAT(refusal_of(call_of("test::two.out", {vector_spec(4, 0), vector_spec(4, 32)}, {0, 1, 1})),
              HasSubstr("shares memory with argument 2 (value 1"));
}

// Two operands with one tensor share its sizes even when it has no bytes.
TEST(OperandOverlap, RefusesOneTensorTwiceEvenWhenItIsEmpty) {
  EXPECT_EQ(refusal_of(call_of("test::two.out", {vector_spec(0, 0), vector_spec(0, 0), vector_spec(0, 0)},
                               {0, 1, 2})),
            "");
  EXPECT_THAT(refusal_of(call_of("test::two.out", {vector_spec(0, 0), vector_spec(0, 0)}, {0, 1, 1})),
              HasSubstr("shares memory with argument 2 (value 1"));
}

TEST(OperandOverlap, LooksIntoLists) {
  const auto with_list = [](const char* name, std::vector<TensorSpec> tensors, std::vector<int32_t> items,
                            std::vector<int32_t> args) {
    ProgramSpec spec = call_of(name, std::move(tensors), std::move(args));
    spec.methods[0].values.emplace_back(TensorListSpec{std::move(items)});
    return refusal_of(spec);
  };
  EXPECT_EQ(with_list("test::split.out", {vector_spec(8, 0), vector_spec(4, 32), vector_spec(4, 48)}, {1, 2},
                      {0, 3}),
            "");
  EXPECT_THAT(with_list("test::split.out", {vector_spec(8, 0), vector_spec(4, 32), vector_spec(4, 40)},
                        {1, 2}, {0, 3}),
              HasSubstr("writes argument 1 (value 1: 16 bytes at 32 in arena 1), which shares memory with "
                        "argument 1 (value 2"));
  EXPECT_THAT(with_list("test::split.out", {vector_spec(8, 0), vector_spec(4, 16), vector_spec(4, 48)},
                        {1, 2}, {0, 3}),
              HasSubstr("shares memory with argument 0 (value 0"));
  EXPECT_EQ(
      with_list("test::join.out", {vector_spec(4, 0), vector_spec(4, 0), vector_spec(8, 16)}, {0, 1}, {3, 2}),
      "");
  EXPECT_THAT(with_list("test::join.out", {vector_spec(4, 0), vector_spec(4, 16), vector_spec(8, 28)}, {0, 1},
                        {3, 2}),
              HasSubstr("writes argument 1 (value 2: 32 bytes at 28 in arena 1), which shares memory with "
                        "argument 0 (value 1"));
}

TEST(OperandOverlap, BoundsTheWorkForLists) {
  const int32_t count = 4000;
  ProgramSpec spec = call_of("test::split.out", {vector_spec(4, 0)}, {0, count + 1});
  TensorListSpec list;
  for (int32_t i = 1; i <= count; ++i) {
    spec.methods[0].values.emplace_back(vector_spec(0, 0));
    list.items.push_back(i);
  }
  spec.methods[0].values.emplace_back(list);
  TestFixture fixture(spec);
  EXPECT_EQ(fixture.load(), ETB_OUT_OF_RESOURCES);
  EXPECT_THAT(fixture.error.text, HasSubstr("chain 0, instruction 0: too many pairs of operands to compare"));
}

// Compares upper bounds, because tensors may grow to them.
TEST(OperandOverlap, ComparesUpperBounds) {
  TensorSpec bounded = vector_spec(8, 0);
  bounded.dynamism = 1;
  EXPECT_THAT(refusal_of(call_of("test::in_place", {vector_spec(4, 24), bounded}, {0, 1})),
              HasSubstr("shares memory with argument 1 (value 1: 32 bytes at 0 in arena 1)"));
}

// ---- Values that change while a program runs are checked when it runs

TEST(OperandOverlap, SeesWhereAMovedValueLies) {
  ProgramSpec spec = format::add_program(4);
  spec.methods[0].values.emplace_back(vector_spec(4, 0));  // 4
  spec.methods[0].instructions = {
      {kMove, 2, 4, {}}, {kKernel, 0, 0, {0, 1, 3, 4, 4}}, {kKernel, 0, 0, {0, 4, 3, 2, 2}}};
  TestFixture fine(spec);
  ASSERT_EQ(fine.refusal(), "");
  EXPECT_EQ(fine.run_refusal(), "");  // value 4 is value 2 after the move, and out = x + out is correct
  spec.methods[0].operators.push_back({"test::two", "out"});
  spec.methods[0].instructions.push_back({kKernel, 1, 0, {0, 2, 4}});
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.refusal(), "");
  const std::string refusal = fixture.run_refusal();
  EXPECT_THAT(refusal,
              HasSubstr("chain 0, instruction 3: test::two.out writes argument 1 (value 2: 16 bytes at "));
  EXPECT_THAT(refusal, HasSubstr("which shares memory with argument 2 (value 4: 16 bytes at "));
}

TEST(OperandOverlap, SeesThatAViewSharesMemory) {
  ProgramSpec spec = format::add_program(4);
  TensorSpec view;
  view.sizes = {2, 2};
  spec.methods[0].values.insert(spec.methods[0].values.end(),
                                {int64_t{2}, IntListSpec{{4, 4}}, view});  // 4, 5, 6
  spec.methods[0].operators = {{"executorch_prim::et_view", "default"}, {"test::two", "out"}};
  spec.methods[0].instructions = {{kKernel, 0, 0, {0, 5, 6, 6}}, {kKernel, 1, 0, {1, 2, 6}}};
  TestFixture fine(spec);
  ASSERT_EQ(fine.refusal(), "");
  EXPECT_EQ(fine.run_refusal(), "");
  spec.methods[0].instructions[1].args = {1, 0, 6};  // x and its view
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.refusal(), "");
  EXPECT_THAT(fixture.run_refusal(), HasSubstr("test::two.out writes argument 1 (value 0"));
}

TEST(OperandOverlap, SeesWhereTheCallersMemoryLies) {
  ProgramSpec spec = format::add_program(4);
  for (size_t i : {0U, 2U}) std::get<TensorSpec>(spec.methods[0].values[i]).memory_id = 0;
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.refusal(), "");
  FloatVector y({1, 2, 3, 4});
  ASSERT_EQ(fixture.method.set_input(1, y.value(), &fixture.error), ETB_OK);
  std::vector<float> memory = {1, 2, 3, 4, 5, 6, 7, 8};
  const int64_t sizes[] = {4};
  TensorStorage storage;
  Tensor x = storage.make(Dtype::FLOAT32, sizes, memory.data(), 16);
  const auto bytes = std::as_writable_bytes(std::span(memory));
  ASSERT_EQ(fixture.method.set_input(0, EValue(&x), &fixture.error), ETB_OK) << fixture.error.text;
  ASSERT_EQ(fixture.method.set_output_memory(0, bytes.subspan(8, 16), &fixture.error), ETB_OK);
  EXPECT_THAT(fixture.run_refusal(), HasSubstr("aten::add.out writes argument 3 (value 2"));
  EXPECT_EQ(memory[2], 3);
  ASSERT_EQ(fixture.method.set_output_memory(0, bytes.subspan(16, 16), &fixture.error), ETB_OK);
  EXPECT_EQ(fixture.run_refusal(), "");
  ASSERT_EQ(fixture.method.set_output_memory(0, bytes.first(16), &fixture.error), ETB_OK);
  EXPECT_EQ(fixture.run_refusal(), "");  // exactly x's memory
  EXPECT_THAT(memory, ElementsAre(2, 4, 6, 8, 2, 4, 6, 8));
}

// The other end of a move has the same tensor, and so has no memory after the free.
TEST(OperandOverlap, SeesThatTheSourceOfAMoveWasFreedThroughItsTarget) {
  ProgramSpec spec = format::add_program(4);
  spec.methods[0].values.emplace_back(vector_spec(4, 0));
  spec.methods[0].instructions = {{kMove, 0, 4, {}}, {kFree, 4, 0, {}}, {kKernel, 0, 0, {0, 1, 3, 2, 2}}};
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.refusal(), "");
  EXPECT_THAT(fixture.run_refusal(), HasSubstr("argument 0: the tensor has no memory"));
}

TEST(OperandOverlap, TakesInputsFromTheMethodsOwnMemory) {
  ProgramSpec spec = format::add_program(4);
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.refusal(), "");
  std::vector<float> whole = {1, 2, 3, 4, 5, 6, 7, 8};
  std::memcpy(fixture.arenas[0].data(), whole.data(), 32);  // x and y
  const int64_t sizes[] = {4};
  TensorStorage storage;
  Tensor part = storage.make(Dtype::FLOAT32, sizes, fixture.arenas[0].data() + 8, 16);
  ASSERT_EQ(fixture.method.set_input(0, EValue(&part), &fixture.error), ETB_OK);
  EXPECT_THAT(floats(fixture.method.input(0)), ElementsAre(3, 4, 5, 6));
}

// ---- Memory that the caller replaces

// A view of an input keeps the old address when the caller sets other memory. The first run ends at the jump.
TEST(CallerMemory, IsForgottenByViewsWhenTheCallerBringsOther) {
  ProgramSpec spec = format::add_program(4);
  std::get<TensorSpec>(spec.methods[0].values[0]).memory_id = 0;
  TensorSpec view;
  view.sizes = {4};
  spec.methods[0].values.insert(spec.methods[0].values.end(),
                                {int64_t{4}, IntListSpec{{4}}, view, false, true});  // 4, 5, 6, 7, 8
  spec.methods[0].operators.push_back({"executorch_prim::et_view", "default"});
  // if (was_here) out = view + y; view = x; was_here = true
  spec.methods[0].instructions = {{kJumpFalse, 7, 2, {}},
                                  {kKernel, 0, 0, {6, 1, 3, 2, 2}},
                                  {kKernel, 1, 0, {0, 5, 6, 6}},
                                  {kMove, 8, 7, {}}};
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.refusal(), "");
  FloatVector y({1, 2, 3, 4});
  ASSERT_EQ(fixture.method.set_input(1, y.value(), &fixture.error), ETB_OK);
  auto first = std::make_unique<FloatVector>(std::vector<float>{1, 1, 1, 1});
  ASSERT_EQ(fixture.method.set_input(0, first->value(), &fixture.error), ETB_OK);
  ASSERT_EQ(fixture.run_refusal(), "");
  FloatVector second({2, 2, 2, 2});
  ASSERT_EQ(fixture.method.set_input(0, second.value(), &fixture.error), ETB_OK);
  first.reset();  // the method must not read it again
  EXPECT_THAT(fixture.run_refusal(), HasSubstr("argument 0: the tensor has no memory"));
}

TEST(CallerMemory, HoldsWhatAProgramMovedToTheOutput) {
  ProgramSpec spec = format::add_program(4);
  TensorSpec out;
  out.sizes = {2};
  spec.methods[0].values.emplace_back(out);  // 4
  spec.methods[0].outputs = {4};
  spec.methods[0].instructions.push_back({kMove, 2, 4, {}});
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.refusal(), "");
  std::array<float, 8> memory{};
  const auto bytes = std::as_writable_bytes(std::span(memory));
  ASSERT_EQ(fixture.method.set_output_memory(0, bytes.first(8), &fixture.error), ETB_OK);
  ASSERT_EQ(fixture.run_refusal(), "");
  EXPECT_EQ(fixture.method.set_output_memory(0, bytes.first(8), &fixture.error), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(fixture.error.text, "output 0: 8 bytes given, expected 16");
  EXPECT_EQ(fixture.method.set_output_memory(0, bytes.first(16), &fixture.error), ETB_OK);
}

TEST(CallerMemory, KeepsItsSizesWhenOtherMemoryIsRefused) {
  ProgramSpec spec = format::add_program(4);
  auto& x = std::get<TensorSpec>(spec.methods[0].values[0]);
  x.memory_id = 0;
  x.dynamism = 1;
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.refusal(), "");
  FloatVector two({1, 2});
  ASSERT_EQ(fixture.method.set_input(0, two.value(), &fixture.error), ETB_OK);
  int64_t sizes[] = {4}, strides[] = {0};
  const uint8_t order[] = {0};
  std::array<float, 8> memory{};
  Tensor sparse(Dtype::FLOAT32, 1, sizes, order, strides, memory.data(), sizeof(memory));
  strides[0] = 2;
  EXPECT_EQ(fixture.method.set_input(0, EValue(&sparse), &fixture.error), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(floats(fixture.method.input(0)), ElementsAre(1, 2));
  EXPECT_EQ(fixture.method.input(0).tensor().size(0), 2);
}

// ---- Delegates

struct Scribe final : MethodDelegate, DelegateResolver {
  etb_status create(const DelegateRequest&, MethodDelegate** out, etb_error*) noexcept override {
    *out = this;
    return ETB_OK;
  }
  etb_status execute(const DelegateRun&) noexcept override { return ++run_count, ETB_OK; }
  DelegateOperands operands() const noexcept override { return declared; }
  void destroy() noexcept override {}

  DelegateOperands declared;
  int run_count = 0;
};

ProgramSpec delegate_of(std::vector<TensorSpec> tensors, std::vector<int32_t> args) {
  ProgramSpec spec = call_of("test::two.out", std::move(tensors), {});
  spec.methods[0].delegates = {{"Scribe", 1, 0, {}}};
  spec.methods[0].instructions = {{kDelegate, 0, 0, std::move(args)}};
  spec.segments = {"payload"};
  return spec;
}

std::string delegate_refusal(const ProgramSpec& spec, const DelegateOperands& operands) {
  Scribe scribe;
  scribe.declared = operands;
  TestFixture fixture(spec);
  fixture.options.delegates = &scribe;
  return fixture.refusal();
}

TEST(OperandOverlap, HoldsADelegateToItsOutputs) {
  const std::vector<TensorSpec> apart = {vector_spec(4, 0), vector_spec(4, 16), vector_spec(4, 32)};
  std::vector<TensorSpec> over = apart;
  over[2].memory_offset = 20;
  EXPECT_EQ(delegate_refusal(delegate_of(apart, {0, 1, 2}), {2, {}}), "");
  EXPECT_EQ(delegate_refusal(delegate_of(apart, {0, 0, 2}), {2, {}}), "");
  EXPECT_THAT(
      delegate_refusal(delegate_of(over, {0, 1, 2}), {2, {}}),
      HasSubstr(
          "chain 0, instruction 0: Scribe writes argument 2 (value 2: 16 bytes at 20 in arena 1), which "
          "shares memory with argument 1 (value 1"));
  // A delegate that does not report its outputs may write all arguments.
  EXPECT_EQ(delegate_refusal(delegate_of(apart, {0, 1, 2}), {}), "");
  EXPECT_THAT(delegate_refusal(delegate_of(apart, {0, 0, 2}), {}), HasSubstr("Scribe writes argument 0"));
}

TEST(OperandOverlap, LetsAnOutputHaveTheMemoryOfTheInputThatItsDelegateNames) {
  const std::vector<TensorSpec> shared = {vector_spec(4, 0), vector_spec(4, 16), vector_spec(4, 16)};
  const uint32_t second[] = {2}, first[] = {1};
  EXPECT_EQ(delegate_refusal(delegate_of(shared, {0, 1, 2}), {2, second}), "");
  EXPECT_THAT(delegate_refusal(delegate_of(shared, {0, 1, 2}), {2, first}),
              HasSubstr("shares memory with argument 1"));
  EXPECT_THAT(delegate_refusal(delegate_of(shared, {0, 1, 2}), {2, {}}),
              HasSubstr("shares memory with argument 1"));
}

TEST(OperandOverlap, ChecksAMovedArgumentOfADelegateBeforeItRuns) {
  ProgramSpec spec = delegate_of({vector_spec(4, 0), vector_spec(4, 16), vector_spec(4, 32)}, {0, 1, 2});
  spec.methods[0].instructions.insert(spec.methods[0].instructions.begin(), {kMove, 1, 2, {}});
  Scribe scribe;
  scribe.declared = {2, {}};
  TestFixture fixture(spec);
  fixture.options.delegates = &scribe;
  ASSERT_EQ(fixture.refusal(), "");
  EXPECT_THAT(fixture.run_refusal(), HasSubstr("Scribe writes argument 2 (value 2"));
  EXPECT_EQ(scribe.run_count, 0);
}

}  // namespace
}  // namespace etb::host
