// SPDX-License-Identifier: Apache-2.0
// The core's own ops: numbers as in Python, views that share memory, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "host/testing/method_fixture.hpp"

namespace etb::host {
namespace {

using format::IntListSpec;
using format::MethodSpec;
using format::ProgramSpec;
using format::TensorSpec;
using testing::ElementsAre;
using testing::HasSubstr;
using TestFixture = AddFixture;

constexpr uint8_t kKernel = 1;

TEST(PrimOps, ShareMemoryUnderOtherSizes) {
  ProgramSpec spec = format::add_program(4);
  auto& method = spec.methods[0];
  TensorSpec view = vector_spec(0, 0);
  view.sizes = {2, 2};
  view.memory_id = 0;
  method.values.insert(method.values.end(), {view, int64_t{-1}, int64_t{2}, IntListSpec{{5, 6}}});
  method.operators.push_back({"executorch_prim::et_view", "default"});
  method.instructions.push_back({kKernel, 1, 0, {2, 7, 4}});
  method.outputs = {4};
  TestFixture fixture(spec);
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  FloatVector x({1, 2, 3, 4});
  ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK);
  ASSERT_EQ(fixture.method.set_input(1, x.value(), &fixture.error), ETB_OK);
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
  EXPECT_THAT(floats(fixture.method.output(0)), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(fixture.method.output(0).tensor().sizes(), ElementsAre(2, 2));
}

struct NumberCase {
  const char* op;
  const char* overload;
  std::vector<format::ValueSpec> arguments;
  format::ValueSpec result;
};

class PrimNumbers : public testing::TestWithParam<NumberCase> {};

TEST_P(PrimNumbers, GiveWhatPythonGives) {
  const auto& param = GetParam();
  MethodSpec method;
  method.values = param.arguments;
  method.values.emplace_back();
  method.operators = {{param.op, param.overload}};
  format::InstructionSpec call;
  for (size_t i = 0; i < method.values.size(); ++i) call.args.push_back(static_cast<int32_t>(i));
  method.instructions = {call};
  method.outputs = {call.args.back()};
  ProgramSpec program;
  program.methods = {method};
  TestFixture fixture(program);
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
  const EValue& result = fixture.method.output(0);
  if (const auto* number = std::get_if<int64_t>(&param.result)) {
    ASSERT_TRUE(result.is_int());
    EXPECT_EQ(result.to_int(), *number);
  } else if (const auto* flag = std::get_if<bool>(&param.result)) {
    ASSERT_TRUE(result.is_bool());
    EXPECT_EQ(result.to_bool(), *flag);
  } else {
    ASSERT_TRUE(result.is_double());
    EXPECT_EQ(result.to_double(), std::get<double>(param.result));
  }
}

constexpr const char* kPrim = "executorch_prim::";
NumberCase prim(const char* op, std::vector<format::ValueSpec> arguments, format::ValueSpec result) {
  return {op, "Scalar", std::move(arguments), std::move(result)};
}
using I = int64_t;

INSTANTIATE_TEST_SUITE_P(
    Python, PrimNumbers,
    testing::Values(
        prim("executorch_prim::add", {I{2}, 1.5}, 3.5), prim("executorch_prim::sub", {I{2}, I{5}}, I{-3}),
        prim("executorch_prim::mul", {I{-4}, I{5}}, I{-20}),
        prim("executorch_prim::floordiv", {I{-7}, I{2}}, I{-4}),
        prim("executorch_prim::floordiv", {I{7}, I{-2}}, I{-4}),
        prim("executorch_prim::floordiv", {-7.5, I{2}}, -4.0),
        prim("executorch_prim::floordiv", {std::numeric_limits<I>::min(), I{-1}},
             std::numeric_limits<I>::min()),
        prim("executorch_prim::truediv", {I{7}, I{2}}, 3.5),
        prim("executorch_prim::mod", {I{-7}, I{3}}, I{2}), prim("executorch_prim::mod", {I{7}, I{-3}}, I{-2}),
        prim("executorch_prim::mod", {-7.5, I{2}}, 0.5), prim("executorch_prim::eq", {I{2}, 2.0}, true),
        prim("executorch_prim::gt", {I{2}, I{3}}, false), prim("executorch_prim::lt", {I{2}, I{3}}, true),
        prim("executorch_prim::ge", {I{3}, I{3}}, true), prim("executorch_prim::le", {4.0, I{3}}, false),
        prim("executorch_prim::neg", {I{3}}, I{-3}), prim("executorch_prim::neg", {2.5}, -2.5),
        prim("executorch_prim::sym_max", {I{3}, I{9}}, I{9}),
        prim("executorch_prim::sym_min", {I{3}, I{9}}, I{3}), prim("executorch_prim::sym_float", {I{3}}, 3.0),
        prim("executorch_prim::sym_int", {-3.7}, I{-3}), prim("executorch_prim::sym_not", {true}, false),
        prim("executorch_prim::ceil", {2.1}, I{3}), prim("executorch_prim::round", {2.5}, I{2}),
        prim("executorch_prim::trunc", {-2.9}, I{-2}),
        prim("executorch_prim::sym_ite", {false, I{1}, I{2}}, I{2}),
        NumberCase{"executorch_prim::floordiv", "int", {I{9}, I{4}}, I{2}},
        NumberCase{"executorch_prim::mod", "int", {I{9}, I{4}}, I{1}}));

TEST(PrimOps, RefuseWhatHasNoAnswer) {
  for (const auto& [op, value] :
       {std::pair{"mod", format::ValueSpec(I{0})}, {"floordiv", format::ValueSpec(I{0})}}) {
    MethodSpec method;
    method.values = {I{7}, value, I{0}};
    method.operators = {{std::string(kPrim) + op, "Scalar"}};
    method.instructions = {{kKernel, 0, 0, {0, 1, 2}}};
    ProgramSpec program;
    program.methods = {method};
    TestFixture fixture(program);
    ASSERT_EQ(fixture.load(), ETB_OK);
    EXPECT_EQ(fixture.method.execute(&fixture.error), ETB_INVALID_ARGUMENT);
    EXPECT_THAT(fixture.error.text, HasSubstr("zero"));
  }
}

}  // namespace
}  // namespace etb::host
