// SPDX-License-Identifier: Apache-2.0
// The program reader on valid files, old and new, and on every kind of invalid file with its message.
#include "api/format/program_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "api/testing/program_builder.hpp"
#include "etb_schema/program_generated.h"

namespace etb::format {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

std::filesystem::path fixture(const char* name) {
  return std::filesystem::path(ETB_SOURCE_DIR) / "tests/fixtures/programs" / name;
}

// Message of a rejected file, or "" when it was accepted.
std::string refusal(const std::vector<std::byte>& file) {
  ProgramView program;
  etb_error error = ETB_ERROR_INIT;
  if (read_program(file, &program, &error) == ETB_OK) return "";
  EXPECT_NE(error.code, ETB_OK);
  return error.text;
}

TEST(ProgramView, ReadsEveryFixture) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(fixture(""))) {
    if (entry.path().extension() != ".pte") continue;
    EXPECT_EQ(refusal(read_file(entry.path())), "") << entry.path();
    ++count;
  }
  EXPECT_GE(count, 12U);
}

TEST(ProgramView, ShowsWhatTheExporterWrote) {
  const auto file = read_file(fixture("add.pte"));
  ProgramView program;
  ASSERT_EQ(read_program(file, &program, nullptr), ETB_OK);
  EXPECT_FALSE(program.extent().has_extended_header);
  ASSERT_EQ(program.method_count(), 1U);
  const auto method = program.method(0);
  EXPECT_EQ(method.name(), "forward");
  EXPECT_EQ(method.inputs().size(), 2U);
  ASSERT_EQ(method.operator_count(), 1U);
  EXPECT_EQ(method.op(0).name, "aten::add");
  EXPECT_EQ(method.op(0).overload, "out");
  const auto tensor = method.value(static_cast<uint32_t>(method.inputs()[0])).as_tensor();
  EXPECT_THAT(tensor.sizes, ElementsAre(2, 3));
  EXPECT_THAT(tensor.dim_order, ElementsAre(0, 1));
  EXPECT_EQ(tensor.nbytes, 24U);
  EXPECT_EQ(tensor.storage, Storage::kPlanned);
  ASSERT_EQ(method.chain(0).instruction_count(), 1U);
  EXPECT_EQ(method.chain(0).instruction(0).kind, InstructionKind::kKernel);
  EXPECT_EQ(method.chain(0).instruction(0).args.size(), 5U);
}

TEST(ProgramView, FindsConstantsMutableDataDelegatesAndNamedData) {
  const auto file = read_file(fixture("xnnpack.pte"));
  ProgramView program;
  ASSERT_EQ(read_program(file, &program, nullptr), ETB_OK);
  ASSERT_EQ(program.method(0).delegate_count(), 1U);
  EXPECT_EQ(program.method(0).delegate(0).id(), "XnnpackBackend");
  EXPECT_FALSE(program.method(0).delegate(0).is_inline());
  EXPECT_GE(program.named_data_count(), 2U);
  EXPECT_EQ(program.named_data_key(0).size(), 64U);  // the digest of the weights

  const auto inline_file = read_file(fixture("delegate_inline.pte"));
  ASSERT_EQ(read_program(inline_file, &program, nullptr), ETB_OK);
  const auto delegate = program.method(0).delegate(0);
  ASSERT_TRUE(delegate.is_inline());
  EXPECT_GT(program.inline_payload(delegate.payload_index()).size(), 64U);
}

// ---- Older releases

TEST(ProgramView, ReadsConstantsInsideTheFlatbuffer) {
  ProgramSpec spec = add_program(4);
  spec.constant_offsets.clear();
  spec.inline_constants = {"", std::string(16, 'c')};
  auto& y = std::get<TensorSpec>(spec.methods[0].values[1]);
  y.memory_id = 0;
  y.data_index = 1;
  const auto file = build_program(spec);
  ProgramView program;
  etb_error error = ETB_ERROR_INIT;
  ASSERT_EQ(read_program(file, &program, &error), ETB_OK) << error.text;
  EXPECT_TRUE(program.has_inline_constants());
  EXPECT_EQ(program.inline_constant(1).size(), 16U);
  EXPECT_EQ(program.method(0).value(1).as_tensor().storage, Storage::kConstant);
}

TEST(ProgramView, TakesTheSegmentAreaToTheEndOfFileUnderAShortHeader) {
  ProgramSpec spec = add_program(4);
  spec.segments = {std::string(40, 's')};
  spec.header_length = 24;
  const auto file = build_program(spec);
  ProgramView program;
  ASSERT_EQ(read_program(file, &program, nullptr), ETB_OK);
  EXPECT_EQ(program.extent().segments_nbytes, 40U);
  EXPECT_EQ(program.segment(0).nbytes, 40U);
}

TEST(ProgramView, JoinsTheTwoWordsOfAnOffset) {
  ProgramSpec spec = add_program(4);
  spec.methods[0].arena_sizes[1] = int64_t{6} << 32;
  std::get<TensorSpec>(spec.methods[0].values[2]).memory_offset = (uint64_t{5} << 32) + 64;
  const auto file = build_program(spec);
  ProgramView program;
  ASSERT_EQ(read_program(file, &program, nullptr), ETB_OK);
  EXPECT_EQ(program.method(0).value(2).as_tensor().memory_offset, (uint64_t{5} << 32) + 64);
}

// ---- Rejections: one error each

struct BadCase {
  const char* name;
  std::function<void(ProgramSpec&)> spoil;
  const char* says;
};

TensorSpec& tensor(ProgramSpec& spec, size_t value) {
  return std::get<TensorSpec>(spec.methods[0].values[value]);
}

class BadProgram : public testing::TestWithParam<BadCase> {};

TEST_P(BadProgram, IsRefusedWithItsReason) {
  ProgramSpec spec = add_program(4);
  ASSERT_EQ(refusal(build_program(spec)), "");
  GetParam().spoil(spec);
  EXPECT_THAT(refusal(build_program(spec)), HasSubstr(GetParam().says));
}

#define BAD(name, says, ...)                          \
  BadCase {                                           \
#name, [](ProgramSpec & p) { __VA_ARGS__; }, says \
  }

INSTANTIATE_TEST_SUITE_P(
    Cases, BadProgram,
    testing::Values(
        BAD(NewerVersion, "program version 1, this reader knows up to 0", p.version = 1),
        BAD(NoMethod, "has no method", p.methods.clear()),
        BAD(NamelessMethod, "method 0: has no name", p.methods[0].name = ""),
        BAD(TwinMethods, "methods 0 and 1: both named 'forward'", p.methods.push_back(p.methods[0])),
        BAD(NoChain, "has no chain", p.methods[0].has_chain = false),
        BAD(InputIndex, "method 'forward': input 1: value 4, the method has 4 values",
            p.methods[0].inputs[1] = 4),
        BAD(OutputIndex, "output 0: value -1", p.methods[0].outputs[0] = -1),
        BAD(ArgumentIndex, "chain 0, instruction 0: argument 2: value 99",
            p.methods[0].instructions[0].args[2] = 99),
        BAD(OperatorIndex, "operator 1 of 1", p.methods[0].instructions[0].a = 1),
        BAD(NegativeOperator, "operator -1 of 1", p.methods[0].instructions[0].a = -1),
        BAD(NamelessOperator, "operator 0: has no name", p.methods[0].operators[0].name = ""),
        BAD(DelegateIndex, "delegate 0 of 0", p.methods[0].instructions[0].kind = 2),
        BAD(InstructionKind, "kind 6, expected 1 to 5", p.methods[0].instructions[0].kind = 6),
        BAD(MoveTarget, "move to value 4 of 4", p.methods[0].instructions[0] = {3, 0, 4, {}}),
        BAD(JumpTarget, "jump to instruction 2, the chain has 1", p.methods[0].values.emplace_back(false);
            p.methods[0].instructions[0] = {4, 4, 2, {}}),
        BAD(JumpCondition, "jump on value 3, a int; expected a bool",
            p.methods[0].instructions[0] = {4, 3, 0, {}}),
        BAD(FreeOfInt, "free of value 3, a int; expected a tensor",
            p.methods[0].instructions[0] = {5, 3, 0, {}}),
        BAD(Dtype, "value 2: tensor of dtype code 18", tensor(p, 2).dtype = 18),
        BAD(NegativeDtype, "tensor of dtype code 255", tensor(p, 2).dtype = -1),
        BAD(StorageOffset, "storage offset 4, expected 0", tensor(p, 2).storage_offset = 4),
        BAD(NegativeSize, "negative size", tensor(p, 2).sizes = {-4}),
        BAD(TooManyElements, "too many elements", tensor(p, 2).sizes = {0x7fffffff, 0x7fffffff, 0x7fffffff}),
        BAD(TooManyElementsOfNone, "too many elements",
            tensor(p, 2).sizes = {0x7fffffff, 0x7fffffff, 0x7fffffff, 0}),
        BAD(Rank, "rank 17", tensor(p, 2).sizes.assign(17, 1)),
        BAD(DimOrderLength, "rank 1 with a dim order of 2", tensor(p, 2).dim_order = {0, 1}),
        BAD(DimOrderTwice, "no permutation", tensor(p, 2).sizes = {2, 2}; tensor(p, 2).dim_order = {1, 1}),
        BAD(DimOrderRange, "no permutation", tensor(p, 2).dim_order = {1}),
        BAD(Dynamism, "dynamism 3", tensor(p, 2).dynamism = 3),
        BAD(ArenaIndex, "tensor in arena 2, the method has arenas 1 to 1", tensor(p, 2).memory_id = 2),
        BAD(ArenaBound, "tensor of 16 bytes at 48 in arena 1 of 48 bytes", tensor(p, 2).memory_offset = 48),
        BAD(ArenaOverflow, "in arena 1 of 48 bytes", tensor(p, 2).memory_offset = ~uint64_t{0} - 3),
        BAD(ArenaAlignment, "expected a multiple of its element size 4", tensor(p, 2).memory_offset = 30),
        BAD(NegativeArena, "arena 1: size -1", p.methods[0].arena_sizes[1] = -1),
        BAD(ConstantIndex, "tensor with constant 1, the program has 1", tensor(p, 1).memory_id = 0;
            tensor(p, 1).data_index = 1),
        BAD(ConstantSize, "constant 1: 16 bytes at 4 in a segment of 16", tensor(p, 1).memory_id = 0;
            tensor(p, 1).data_index = 1; p.segments = {std::string(16, 'x')}; p.constant_offsets = {0, 4}),
        BAD(ConstantOffset, "offset 1 is 17, its segment has 16 bytes", p.segments = {std::string(16, 'x')};
            p.constant_offsets = {0, 17}),
        BAD(ConstantAlignment, "constant 1: offset 2", tensor(p, 1).memory_id = 0;
            tensor(p, 1).data_index = 1; p.segments = {std::string(32, 'x')}; p.constant_offsets = {0, 2}),
        BAD(ConstantSegment, "constant segment: segment 1 of 1", p.segments = {std::string(16, 'x')};
            p.constant_offsets = {0, 0}; p.constant_segment = 1),
        BAD(InlineConstantSize, "inline constant 1: holds 8 bytes, the tensor needs 16",
            tensor(p, 1).memory_id = 0;
            tensor(p, 1).data_index = 1; p.constant_offsets.clear();
            p.inline_constants = {"", std::string(8, 'x')}),
        BAD(InitialValueIndex, "tensor with initial value 1, the program has 0", tensor(p, 1).data_index = 1),
        BAD(InitialValueSize, "initial value 1: 16 bytes at 8 in a segment of 16",
            tensor(p, 1).data_index = 1;
            p.segments = {std::string(16, 'x')}; p.mutable_offsets = {0, 8}),
        BAD(NamelessExternal, "external tensor without a name", tensor(p, 1).is_external = true),
        BAD(NamedDataSegment, "named data 'w': segment 3 of 0", p.named_data = {{"w", 3}}),
        BAD(IntListItem, "list item 0: value 0 is a tensor, expected a int",
            p.methods[0].values.emplace_back(IntListSpec{{0}})),
        BAD(IntListRange, "list item 0: value 8589934592",
            p.methods[0].values.emplace_back(IntListSpec{{int64_t{1} << 33}})),
        BAD(TensorListNone, "list item 1: value -1",
            p.methods[0].values.emplace_back(TensorListSpec{{0, -1}})),
        BAD(OptionalListMinusTwo, "list item 1: value -2",
            p.methods[0].values.emplace_back(OptionalTensorListSpec{{-1, -2}})),
        BAD(NamelessDelegate, "delegate 0: has no id", p.methods[0].delegates = {{"", 0, 0, {}}}),
        BAD(PayloadInline, "payload in inline data 0, the program has 0",
            p.methods[0].delegates = {{"x", 0, 0, {}}}),
        BAD(PayloadSegment, "payload in segment 7, the program has 0",
            p.methods[0].delegates = {{"x", 1, 7, {}}}),
        BAD(PayloadLocation, "payload location 2", p.methods[0].delegates = {{"x", 2, 0, {}}})),
    [](const auto& param) { return param.param.name; });

TEST(ProgramView, RefusesOtherFiles) {
  const std::string text = "ID3 something that is no program at all ........................";
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  EXPECT_THAT(refusal({bytes, bytes + text.size()}),
              HasSubstr("identifier 'some' at byte 4, expected 'ET12'"));
  EXPECT_THAT(refusal({}), HasSubstr("file of 0 bytes"));
}

// Each arena is searched in the list of devices: 20,000 of both are 400 million steps in a file of 240 kB.
TEST(ProgramView, RefusesArenasAndDevicesThatTakeEndlessLookUps) {
  constexpr size_t kCount = 20000;
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("forward");
  const auto chain = schema::CreateChain(builder);
  const auto device = schema::CreateArenaDevice(builder, 1, 1);
  const auto method = schema::CreateMethod(
      builder, name, 0, 0, 0, 0, builder.CreateVector(std::vector{chain}), 0, 0,
      builder.CreateVector(std::vector<int64_t>(kCount)), builder.CreateVector(std::vector(kCount, device)));
  const auto methods = builder.CreateVector(std::vector{method});
  builder.Finish(schema::CreateProgram(builder, 0, methods), schema::ProgramIdentifier());
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  EXPECT_THAT(refusal({bytes, bytes + builder.GetSize()}), HasSubstr("tables overlap"));
}

TEST(ProgramView, RefusesEveryTruncation) {
  for (const char* name : {"conv.pte", "add.pte", "xnnpack.pte"}) {
    const auto file = read_file(fixture(name));
    for (size_t length = 0; length < file.size(); ++length) {
      ASSERT_NE(refusal({file.begin(), file.begin() + static_cast<ptrdiff_t>(length)}), "")
          << name << " cut at " << length;
    }
  }
}

TEST(ProgramView, AsksForAlignedMemory) {
  auto file = build_program(add_program(4));
  file.insert(file.begin(), std::byte{0});
  ProgramView program;
  etb_error error = ETB_ERROR_INIT;
  EXPECT_EQ(read_program(std::span(file).subspan(1), &program, &error), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(error.text, HasSubstr("expected a 16-byte boundary"));
}

}  // namespace
}  // namespace etb::format
