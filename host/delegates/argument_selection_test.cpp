// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/argument_selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/delegates/plugin_delegates.hpp"
#include "host/runtime/method_state.hpp"
#include "host/testing/linked_only.hpp"
#include "host/testing/method_fixture.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// States that its input is four floats.
const etb_plugin_table* ETB_CALL query_stating_toy(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.delegate.query_io = [](etb_delegate*, const etb_io_req_sink* sink, etb_error*) -> etb_status {
    static constexpr int64_t kSizes[] = {4};
    static constexpr etb_tensor_spec kSpec = {
        ETB_INIT_SIZE(etb_tensor_spec), 0, ETB_DTYPE_FLOAT32, 1, kSizes, nullptr, nullptr};
    etb_io_req req{};
    req.struct_size = ETB_INIT_SIZE(etb_io_req);
    req.alignment = 4;
    req.role = ETB_ROLE_INPUT;
    req.spec = &kSpec;
    return sink->put(sink->ctx, &req);
  };
  return &toy.plugin;
}

const etb_static_plugin kPlugins[] = {{ETB_INIT_SIZE(etb_static_plugin), 0, &query_stating_toy, kToyBackend}};

// The delegate adds a number to one vector; the program passes two vectors and its result.
struct TwoVectors {
  Registry registry{linked_only(kPlugins)};
  PluginDelegates delegates{registry};
  format::ProgramSpec program = format::add_program(4);
  format::MethodSpec& method = program.methods[0];

  TwoVectors() {
    method.delegates = {{kToyBackend, 1, 0, {{"level", "3"}}}};
    method.operators.clear();
    method.instructions = {{2, 0, 0, {0, 1, 2}}};
    program.segments = {kToyPayload};
  }
};

TEST(ArgumentSelection, FindsTheArgumentByItsType) {
  TwoVectors test;
  std::get<format::TensorSpec>(test.method.values[0]).dtype = ETB_DTYPE_INT32;
  test.method.inputs = {1};
  MethodFixture fixture(test.program);
  fixture.options.delegates = &test.delegates;
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  FloatVector x({1, 2, 3, 4});
  ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK) << fixture.error.text;
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
  EXPECT_THAT(floats(fixture.method.output(0)), ElementsAre(2, 3, 4, 5));
}

TEST(ArgumentSelection, NamesArgumentsThatMayBeTheInput) {
  TwoVectors test;
  MethodFixture fixture(test.program);
  fixture.options.delegates = &test.delegates;
  EXPECT_EQ(fixture.load(), ETB_INCOMPATIBLE);
  EXPECT_THAT(
      fixture.error.text,
      HasSubstr("the program passes 3 arguments, the plugin expects 1 inputs and 1 outputs: input 0 may "
                "be argument 0 or 1, which have the same type and sizes"));
}

TEST(ArgumentSelection, NamesAnInputThatNoArgumentFits) {
  TwoVectors test;
  for (const size_t i : {0U, 1U}) std::get<format::TensorSpec>(test.method.values[i]).dtype = ETB_DTYPE_INT32;
  MethodFixture fixture(test.program);
  fixture.options.delegates = &test.delegates;
  EXPECT_EQ(fixture.load(), ETB_INCOMPATIBLE);
  EXPECT_THAT(fixture.error.text, HasSubstr("no argument has the type and sizes of input 0"));
}

// Which of two arguments that a delegate call passes has elements that the program never wrote.
struct Calls {
  static constexpr KernelFunction kRun = [](KernelContext&, EValue**) -> etb_status { return ETB_OK; };
  Kernel empty{"aten::empty_permuted.out", "tt", kRun}, other{"aten::relu.out", "tt", kRun};
  EValue a, b;
  EValue* of_a[1] = {&a};
  EValue* both[2] = {&a, &b};
  std::vector<Instruction> instructions;

  void add(format::InstructionKind kind, const Kernel* kernel, EValue** arguments, uint32_t count) {
    Instruction made{};
    made.kind = kind;
    made.kernel = kernel;
    made.arguments = arguments;
    made.argument_count = count;
    instructions.push_back(made);
  }
  std::pair<bool, bool> undefined() {
    add(format::InstructionKind::kDelegate, nullptr, both, 2);
    DelegateRequest request{};
    request.instructions = instructions.data();
    request.first_call = static_cast<uint32_t>(instructions.size()) - 1;
    return {has_undefined_elements(request, a), has_undefined_elements(request, b)};
  }
};

TEST(ArgumentSelection, KnowsWhatTheProgramNeverWrote) {
  using Kind = format::InstructionKind;
  const std::pair none(false, false), only_a(true, false);
  EXPECT_EQ(Calls().undefined(), none);
  Calls made;
  made.add(Kind::kKernel, &made.empty, made.of_a, 1);
  EXPECT_EQ(made.undefined(), only_a);
  Calls written;
  written.add(Kind::kKernel, &written.empty, written.of_a, 1);
  written.add(Kind::kKernel, &written.other, written.of_a, 1);
  EXPECT_EQ(written.undefined(), none);
  Calls looped;
  looped.add(Kind::kKernel, &looped.empty, looped.of_a, 1);
  looped.add(Kind::kJumpFalse, nullptr, nullptr, 0);
  EXPECT_EQ(looped.undefined(), none);
  Calls moved;
  moved.add(Kind::kKernel, &moved.empty, moved.of_a, 1);
  moved.add(Kind::kMove, nullptr, nullptr, 0);
  moved.instructions.back().value = &moved.a;
  EXPECT_EQ(moved.undefined(), none);
}

}  // namespace
}  // namespace etb::host
