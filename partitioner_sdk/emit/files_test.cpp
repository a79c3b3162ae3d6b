// SPDX-License-Identifier: Apache-2.0
// Tests shared state of methods, constant methods, external data, debug handles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/ir/text.hpp"

namespace etb::emit {
namespace {

using ::testing::HasSubstr;

ir::Module parsed(const std::string& text) {
  auto module = ir::parse(text);
  EXPECT_TRUE(module) << module.error().message;
  return std::move(*module);
}

std::string counter(const std::string& method, const std::string& op, const std::string& elements) {
  return "etg 1\nmodule \"" + method + "\"\nconstant \"count\": float32[2] = " + elements + R"(
constant "own": float32[3] = [0, 0, 0]

graph @forward {
  buffer %c: float32[2] = "count" as "count"
  buffer %o: float32[3] = "own" as "own )" +
         method + R"("
  user %x: float32[2]
  %n: float32[2] = aten.)" +
         op + R"(.Tensor(%c, %x)
  %m: float32[3] = aten.add.Tensor(%o, %o)
  return %n updates %c, %m updates %o, %n
}
)";
}

// Returns the method's tensor with this name.
const format::TensorSpec* find_tensor(const format::MethodSpec& method, std::string_view name) {
  for (const format::ValueSpec& value : method.values) {
    const auto* tensor = std::get_if<format::TensorSpec>(&value);
    if (tensor != nullptr && tensor->name == name) return tensor;
  }
  return nullptr;
}

TEST(SharedState, ABufferOfTwoMethodsHasOnePlaceInBoth) {
  std::vector<ir::Module> methods;
  methods.push_back(parsed(counter("prefill", "add", "[1, 2]")));
  methods.push_back(parsed(counter("decode", "mul", "[1, 2]")));
  const auto program = emit(methods);
  ASSERT_TRUE(program) << program.error().message;
  std::vector<uint64_t> places;
  for (const format::MethodSpec& method : program->parts.methods) {
    const format::TensorSpec* shared = find_tensor(method, "count");
    ASSERT_NE(shared, nullptr);
    ASSERT_EQ(method.arena_sizes.size(), 3u);  // the placeholder, the method's own, the shared one
    EXPECT_EQ(shared->memory_id, 2u);
    EXPECT_GE(method.arena_sizes[2], 8);
    EXPECT_NE(shared->data_index, 0u) << "the initial value";
    places.push_back(shared->memory_offset);
    const format::TensorSpec* own = find_tensor(method, "own " + method.name);
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(own->memory_id, 1u) << "a buffer of one method stays in its arena";
  }
  EXPECT_EQ(places[0], places[1]);
}

TEST(SharedState, OneNameWithTwoShapesIsRefused) {
  std::vector<ir::Module> methods;
  methods.push_back(parsed(counter("prefill", "add", "[1, 2]")));
  methods.push_back(parsed(R"(etg 1
module "decode"
constant "count": float32[1] = [1]

graph @forward {
  buffer %c: float32[1] = "count" as "count"
  return %c
}
)"));
  for (int order = 0; order < 2; ++order) {
    const auto program = emit(methods);
    ASSERT_FALSE(program);
    EXPECT_THAT(program.error().message, HasSubstr("buffer 'count' has other sizes or another dtype"));
    std::swap(methods[0], methods[1]);
  }
}

constexpr const char* kScale = R"(etg 1
module "forward"
constant "w": float32[2] = [1, 2]

graph @forward {
  parameter %w: float32[2] = "w" as "w"
  parameter %v: float32[2] = "w" as "v"
  user %x: float32[2]
  %a: float32[2] = aten.mul.Tensor(%x, %w)
  %b: float32[2] = aten.add.Tensor(%a, %v)
  return %b
}
)";

TEST(ConstantMethod, TakesNothingAndGivesItsValues) {
  ir::Module module = parsed(kScale);
  EmitOptions options;
  options.constant_methods = {{"get_vocab_size", {int64_t{50257}}}, {"limits", {0.5, true}}};
  const auto program = emit({&module, 1}, options);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->parts.methods.size(), 3u);
  const format::MethodSpec& limits = program->parts.methods[2];
  EXPECT_EQ(limits.name, "limits");
  EXPECT_TRUE(limits.inputs.empty());
  EXPECT_EQ(limits.outputs, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(std::get<int64_t>(program->parts.methods[1].values[0]), 50257);
}

// The names and contents are those of ExecuTorch's TrainingModule.
TEST(ConstantMethod, ATrainingMethodHasThreeOfThem) {
  ir::Module module = parsed(kScale);
  module.training = ir::TrainingOutputs{1, 3, {"w", "v"}};
  const auto program = emit({&module, 1});
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->parts.methods.size(), 4u);
  const auto& methods = program->parts.methods;
  EXPECT_EQ(methods[1].name, "__et_training_gradients_index_forward");
  EXPECT_EQ(std::get<int64_t>(methods[1].values.at(0)), 1);
  EXPECT_EQ(methods[2].name, "__et_training_fqn_forward");
  EXPECT_EQ(methods[2].outputs, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(std::get<std::string>(methods[2].values.at(1)), "v");
  EXPECT_EQ(methods[3].name, "__et_training_parameters_index_forward");
  EXPECT_EQ(std::get<int64_t>(methods[3].values.at(0)), 3);
}

TEST(ExternalData, EqualWeightsHaveOneNameAndNothingStaysInside) {
  ir::Module module = parsed(kScale);
  EmitOptions options;
  options.has_external_data = true;
  const auto program = emit({&module, 1}, options);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->external.tensors.size(), 1u);
  EXPECT_EQ(program->external.tensors[0].key, "w");
  EXPECT_EQ(program->external.segment_nbytes, (std::vector<uint64_t>{8}));
  EXPECT_EQ(program->parts.segment_nbytes, (std::vector<uint64_t>{0}));
  const format::TensorSpec* tensor = find_tensor(program->parts.methods[0], "w");
  ASSERT_NE(tensor, nullptr);
  EXPECT_TRUE(tensor->is_external);
  EXPECT_EQ(tensor->data_index, 0u);
}

// "w" is a constant of the program and a plugin's key with other bytes; "twin" has the constant's bytes.
TEST(ExternalData, WhatDelegatesReadLiesOutsideToo) {
  ir::Module module = parsed(kScale);
  EmitOptions options;
  options.has_external_data = true;
  const std::vector<std::byte> other(24, std::byte{5});
  const auto alone = emit({&module, 1}, options);
  ASSERT_TRUE(alone) << alone.error().message;
  ASSERT_EQ(alone->external_segments.size(), 1u);
  const std::span<const std::byte> weight = alone->external_segments[0].bytes;
  const NamedBytes named[] = {{"w", other, 16}, {"twin", weight, 16}, {"wide", other, 4096}};
  options.named_data = named;
  const auto program = emit({&module, 1}, options);
  ASSERT_TRUE(program) << program.error().message;
  const auto& rows = program->external.tensors;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].key, "w#1");
  EXPECT_FALSE(rows[0].is_blob);
  EXPECT_EQ(rows[1].key, "w");
  EXPECT_TRUE(rows[1].is_blob);
  EXPECT_EQ(rows[2].key, "twin");
  EXPECT_EQ(rows[2].segment, rows[0].segment);
  EXPECT_EQ(program->external.segment_nbytes, (std::vector<uint64_t>{8, 24}));
  // Data files do not align segments to multiples of 4096.
  ASSERT_EQ(program->parts.named_data.size(), 1u);
  EXPECT_EQ(program->parts.named_data[0].first, "wide");
}

TEST(Emit, InstructionsHaveTheHandlesOfTheirNodes) {
  ir::Module module = parsed(kScale);
  module.main().nodes[0].debug_handle = 7;
  module.main().nodes[1].debug_handle = 9;
  const auto program = emit({&module, 1});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->methods[0].debug_handles, (std::vector<uint32_t>{7, 9}));
}

}  // namespace
}  // namespace etb::emit
