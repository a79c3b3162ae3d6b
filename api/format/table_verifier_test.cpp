// SPDX-License-Identifier: Apache-2.0
// Compares verify_program_tables with FlatBuffers' generated verifier on damaged programs: both have the same verdict.
#include "api/format/table_verifier.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "api/format/segment_area.hpp"
#include "etb_schema/program_generated.h"

namespace etb::format {
namespace {

namespace fb = schema;
using Bytes = std::vector<std::byte>;
using flatbuffers::Offset;

constexpr uint32_t kSeed = 20261127;

bool is_valid_for_flatbuffers(const Bytes& bytes) {
  flatbuffers::Verifier::Options options;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 16);
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), options);
  return fb::VerifyProgramBuffer(verifier);
}

struct Verdicts {
  uint32_t accepted_count = 0;
  uint32_t rejected_count = 0;

  void add(const Bytes& bytes, const std::string& where) {
    const bool expected = is_valid_for_flatbuffers(bytes);
    uint32_t table = 0;
    ASSERT_EQ(verify_program_tables(bytes, &table), expected) << where;
    ++(expected ? accepted_count : rejected_count);
  }
};

// The flatbuffers of all fixtures, without their segments.
std::vector<Bytes> read_fixtures() {
  std::vector<Bytes> out;
  const auto folder = std::filesystem::path(ETB_SOURCE_DIR) / "tests/fixtures/programs";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".pte") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    Bytes file(text.size());
    std::memcpy(file.data(), text.data(), text.size());
    FileExtent extent;
    EXPECT_EQ(read_program_extent(std::span(file).first(std::min<size_t>(file.size(), kHeadNbytes)),
                                  file.size(), &extent, nullptr),
              ETB_OK);
    file.resize(extent.flatbuffer_nbytes);
    out.push_back(file);
  }
  return out;
}

class FullProgram {
 public:
  // Returns a program with each table of the schema, and each field of each table.
  Bytes build() {
    out_.ForceDefaults(true);
    out_.DedupVtables(false);  // so that damage of a vtable damages one table
    const auto metadata = fb::CreateContainerMetadataDirect(out_, "in", "out");
    const std::vector<Offset<fb::Value>> values = make_values();
    const std::vector<int32_t> indices = {1, 2};
    const std::vector<Offset<fb::Chain>> chains = {make_chain()};
    const std::vector<Offset<fb::Operator>> operators = {fb::CreateOperatorDirect(out_, "aten::add", "out")};
    const std::vector<Offset<fb::Delegate>> delegates = {make_delegate()};
    const std::vector<int64_t> sizes = {0, 64};
    const std::vector<Offset<fb::ArenaDevice>> devices = {fb::CreateArenaDevice(out_, 1, 0, 0)};
    const std::vector<Offset<fb::Method>> methods = {
        fb::CreateMethodDirect(out_, "forward", metadata, &values, &indices, &indices, &chains, &operators,
                               &delegates, &sizes, &devices)};
    const std::vector<uint8_t> data(20, 7);
    const std::vector<Offset<fb::InlineBuffer>> buffers = {fb::CreateInlineBufferDirect(out_, &data)};
    const std::vector<Offset<fb::InlinePayload>> payloads = {fb::CreateInlinePayloadDirect(out_, &data)};
    const std::vector<Offset<fb::DataSegment>> segments = {fb::CreateDataSegment(out_, 0, 32)};
    const std::vector<uint64_t> offsets = {0, 16};
    const auto constants = fb::CreateSubsegmentOffsetsDirect(out_, 0, &offsets);
    const std::vector<Offset<fb::SubsegmentOffsets>> mutables = {
        fb::CreateSubsegmentOffsetsDirect(out_, 0, &offsets)};
    const std::vector<Offset<fb::NamedData>> named = {fb::CreateNamedDataDirect(out_, "key", 0)};
    fb::FinishProgramBuffer(out_, fb::CreateProgramDirect(out_, 0, &methods, &buffers, &payloads, &segments,
                                                          constants, &mutables, &named));
    const auto* begin = reinterpret_cast<const std::byte*>(out_.GetBufferPointer());
    return {begin, begin + out_.GetSize()};
  }

 private:
  Offset<fb::Value> value(fb::ValueUnion kind, Offset<void> content) {
    return fb::CreateValue(out_, kind, content);
  }
  Offset<fb::Instruction> call(fb::InstructionUnion kind, Offset<void> content) {
    return fb::CreateInstruction(out_, kind, content);
  }

  std::vector<Offset<fb::Value>> make_values() {
    const std::vector<int32_t> sizes = {2, 3}, items = {4};
    const std::vector<uint8_t> order = {0, 1};
    const std::vector<int64_t> ints = {1};
    const std::vector<double> doubles = {0.5};
    const auto allocation = fb::CreateAllocation(out_, 1, 16, 0);
    const auto extra = fb::CreateTensorExtraDirect(out_, 0, "weight", fb::DataLocation::SEGMENT, 0, 0);
    const auto tensor = fb::CreateTensorDirect(out_, 6, 0, &sizes, &order, false, 0, allocation, 0,
                                               fb::Dynamism::STATIC, extra);
    using Kind = fb::ValueUnion;
    return {value(Kind::Null, fb::CreateNull(out_).Union()),
            value(Kind::Int, fb::CreateInt(out_, 5).Union()),
            value(Kind::Bool, fb::CreateBool(out_, true).Union()),
            value(Kind::Double, fb::CreateDouble(out_, 0.5).Union()),
            value(Kind::Tensor, tensor.Union()),
            value(Kind::String, fb::CreateStringDirect(out_, "text").Union()),
            value(Kind::IntList, fb::CreateIntListDirect(out_, &ints).Union()),
            value(Kind::DoubleList, fb::CreateDoubleListDirect(out_, &doubles).Union()),
            value(Kind::BoolList, fb::CreateBoolListDirect(out_, &order).Union()),
            value(Kind::TensorList, fb::CreateTensorListDirect(out_, &items).Union()),
            value(Kind::OptionalTensorList, fb::CreateOptionalTensorListDirect(out_, &items).Union())};
  }

  Offset<fb::Chain> make_chain() {
    const std::vector<int32_t> args = {4};
    using Kind = fb::InstructionUnion;
    const std::vector<Offset<fb::Instruction>> instructions = {
        call(Kind::KernelCall, fb::CreateKernelCallDirect(out_, 0, &args).Union()),
        call(Kind::DelegateCall, fb::CreateDelegateCallDirect(out_, 0, &args).Union()),
        call(Kind::MoveCall, fb::CreateMoveCall(out_, 1, 1).Union()),
        call(Kind::JumpFalseCall, fb::CreateJumpFalseCall(out_, 2, 5).Union()),
        call(Kind::FreeCall, fb::CreateFreeCall(out_, 4).Union())};
    const std::vector<Offset<fb::Frame>> frames = {fb::CreateFrameDirect(out_, "model.py", 3, "f", "x + y")};
    const std::vector<Offset<fb::FrameList>> traces = {fb::CreateFrameListDirect(out_, &frames)};
    return fb::CreateChainDirect(out_, &args, &args, &instructions, &traces);
  }

  Offset<fb::Delegate> make_delegate() {
    const std::vector<uint8_t> bytes = {1, 2, 3};
    const std::vector<Offset<fb::CompileSpec>> specs = {fb::CreateCompileSpecDirect(out_, "key", &bytes)};
    const auto payload = fb::CreatePayloadReference(out_, fb::PayloadLocation::INLINE, 0);
    return fb::CreateDelegateDirect(out_, "backend", payload, &specs);
  }

  flatbuffers::FlatBufferBuilder out_;
};

TEST(TableVerifier, AgreesOnEachBitOfAFullProgram) {
  Bytes bytes = FullProgram().build();
  ASSERT_TRUE(is_valid_for_flatbuffers(bytes));
  Verdicts verdicts;
  verdicts.add(bytes, "whole");
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      bytes[at] ^= static_cast<std::byte>(1u << bit);
      verdicts.add(bytes, "byte " + std::to_string(at) + ", bit " + std::to_string(bit));
      bytes[at] ^= static_cast<std::byte>(1u << bit);
    }
  }
  EXPECT_GT(verdicts.accepted_count, 1000u);
  EXPECT_GT(verdicts.rejected_count, 1000u);
}

// A field that one verifier does not know, or knows as another kind, would differ here: half of these words are offsets of
// fields in vtables, offsets of tables, or lengths.
TEST(TableVerifier, AgreesOnEachWordOfAFullProgram) {
  Bytes bytes = FullProgram().build();
  Verdicts verdicts;
  const auto size = static_cast<uint32_t>(bytes.size());
  for (size_t at = 0; at + 4 <= bytes.size(); at += 2) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, 4);
    const uint32_t others[] = {
        0,        1,        2,        4,          size - 1,   size,       word + 1,
        word + 2, word + 4, word - 4, 0x7ffffffe, 0x80000000, 0xffffffff, 0u - static_cast<uint32_t>(at)};
    for (const uint32_t other : others) {
      std::memcpy(bytes.data() + at, &other, 4);
      verdicts.add(bytes, "byte " + std::to_string(at) + ": " + std::to_string(other));
    }
    std::memcpy(bytes.data() + at, &word, 4);
  }
  EXPECT_GT(verdicts.accepted_count, 100u);
  EXPECT_GT(verdicts.rejected_count, 100u);
}

TEST(TableVerifier, AgreesOnFlippedBitsOfFixtures) {
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  Verdicts verdicts;
  for (Bytes& bytes : read_fixtures()) {
    verdicts.add(bytes, "whole");
    for (int i = 0; i < 10000; ++i) {
      const size_t at = random() % bytes.size();
      const auto bit = static_cast<std::byte>(1u << random() % 8);
      bytes[at] ^= bit;
      verdicts.add(bytes, "seed " + std::to_string(kSeed) + ", flip " + std::to_string(i));
      bytes[at] ^= bit;
    }
  }
  EXPECT_GT(verdicts.accepted_count, 10000u);
  EXPECT_GT(verdicts.rejected_count, 10000u);
}

// An offset of a tensor's field that leaves the program: the place is that tensor.
TEST(TableVerifier, ReportsTheTable) {
  Bytes bytes = FullProgram().build();
  const auto* program = fb::GetProgram(bytes.data());
  const auto* tensor = program->methods()->Get(0)->values()->Get(4)->val_as_Tensor();
  const auto expected = static_cast<uint32_t>(reinterpret_cast<const std::byte*>(tensor) - bytes.data());
  const auto field = static_cast<size_t>(reinterpret_cast<const std::byte*>(tensor->sizes()) - bytes.data());
  const uint32_t count = 1u << 30;
  std::memcpy(bytes.data() + field, &count, sizeof(count));
  uint32_t table = 0;
  EXPECT_FALSE(verify_program_tables(bytes, &table));
  EXPECT_EQ(table, expected);
}

TEST(TableVerifier, AgreesOnShortenedPrograms) {
  const Bytes whole = FullProgram().build();
  Verdicts verdicts;
  for (size_t nbytes = 16; nbytes <= whole.size(); ++nbytes)
    verdicts.add(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(nbytes)),
                 std::to_string(nbytes));
  EXPECT_GT(verdicts.rejected_count, 100u);
}

}  // namespace
}  // namespace etb::format
