// SPDX-License-Identifier: Apache-2.0
// Tests emitted programs: bytes, instructions, shared constants, updates in place, copies from files.
#include "partitioner_sdk/emit/emit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "api/format/program_view.hpp"
#include "partitioner_sdk/emit/whole_file.hpp"
#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/import/mapped_file.hpp"
#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"
#include "partitioner_sdk/testing/golden.hpp"

namespace etb::emit {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> bytes_of(const Program& program) {
  std::vector<std::byte> file;
  const Status written =
      format::write_program(program.parts, program.segments, [&](std::span<const std::byte> bytes) -> Status {
        file.insert(file.end(), bytes.begin(), bytes.end());
        return {};
      });
  EXPECT_TRUE(written);
  return file;
}

class EmittedFixture : public ::testing::TestWithParam<const char*> {};

TEST_P(EmittedFixture, IsAProgramThatTheVerifierAccepts) {
  auto module = pt2::import_archive(testing::archive_path(GetParam()));
  ASSERT_TRUE(module) << module.error().message;
  Status status = passes::to_edge(*module);
  ASSERT_TRUE(status) << status.error().message;
  status = passes::to_portable(*module);
  ASSERT_TRUE(status) << status.error().message;
  const auto program = emit({&*module, 1});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_GE(program->methods[0].arena_nbytes, program->methods[0].arena_lower_bound_nbytes);
  const auto file = bytes_of(*program);
  format::ProgramView view;
  etb_error error = ETB_ERROR_INIT;
  EXPECT_EQ(format::read_program(file, &view, &error), ETB_OK) << error.text;
  // The same input yields the same bytes.
  const auto again = emit({&*module, 1});
  ASSERT_TRUE(again);
  EXPECT_EQ(bytes_of(*again), file);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, EmittedFixture,
                         ::testing::Values("add", "mlp", "lenet", "counter", "counter_functional", "dynamic",
                                           "tied", "channels_last", "branch", "no_grad", "items", "autocast",
                                           "derived"));

Result<Program> emit_text(const std::string& text, ir::Module& keep, const EmitOptions& options = {}) {
  auto module = ir::parse(text);
  if (!module) return tl::make_unexpected(module.error());
  keep = *std::move(module);
  return emit({&keep, 1}, options);
}

constexpr const char* kTwoOps = R"(etg 1
module "twice"
constant "w": float32[2] = [1, 2]

graph @forward {
  parameter %w: float32[2] = "w" as "w"
  parameter %w2: float32[2] = "w" as "w2"
  user %x: float32[2]
  %a: float32[2] = aten.add.Tensor(%x, %w)
  %b: float32[2] = aten.mul.Tensor(%a, %w2)
  return %b
}
)";

TEST(Emit, SharedConstantsAreStoredOnce) {
  ir::Module module;
  const auto program = emit_text(kTwoOps, module);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->parts.constant_offsets.size(), 2u);
  EXPECT_EQ(program->parts.segment_nbytes, (std::vector<uint64_t>{8}));
  EXPECT_EQ(program->methods[0].name, "twice");
}

// A tied weight: the embedding's constant and the named data of a plugin's last layer share bytes of the
// file.
TEST(Emit, APluginsDataThatIsAConstantIsStoredOnce) {
  auto module = ir::parse(R"(etg 1
module "m"
constant "w": float32[2] = [1, 2]

graph @forward {
  parameter %w: float32[1024] = "w" as "w"
  user %x: float32[1024]
  %a: float32[1024] = aten.add.Tensor(%x, %w)
  return %a
}
)");
  ASSERT_TRUE(module) << module.error().message;
  std::vector<std::byte> bytes(4096, std::byte{7}), other(4096, std::byte{8});
  module->constants.clear();
  module->add_constant("w", ir::Dtype::FLOAT32, {1024}, bytes);
  const NamedBytes items[] = {{"same", bytes, 16}, {"again", bytes, 16}, {"other", other, 16}};
  EmitOptions options;
  options.named_data = items;
  const auto program = emit({&*module, 1}, options);
  ASSERT_TRUE(program) << program.error().message;
  const auto& named = program->parts.named_data;
  ASSERT_EQ(named.size(), 3u);
  EXPECT_EQ(named[0].second, named[1].second);
  EXPECT_NE(named[0].second, named[2].second);
  const std::vector<std::byte> file = bytes_of(*program);
  EXPECT_LT(file.size(), 3 * 4096u);
  const auto head = format::make_program_head(program->parts);
  const auto begin_of = [&](uint32_t segment) {
    return file.begin() + static_cast<std::ptrdiff_t>(head.segment_base + head.segment_offsets[segment]);
  };
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), begin_of(named[0].second)));
  EXPECT_TRUE(std::equal(other.begin(), other.end(), begin_of(named[2].second)));
}

TEST(Emit, MissingKernelsAreAllNamed) {
  ir::Module module;
  const auto program = emit_text(kTwoOps, module, {[](std::string_view, std::string_view) { return false; }});
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message, HasSubstr("aten.add.Tensor: no kernel aten::add.out"));
  EXPECT_THAT(program.error().message, HasSubstr("aten.mul.Tensor: no kernel aten::mul.out"));
}

TEST(Emit, UnboundedSizesAreNamed) {
  ir::Module module;
  const auto program = emit_text(R"(etg 1
module "m"
symbol s0 {0..}

graph @forward {
  user %x: float32[s0]
  %y: float32[s0] = aten.relu.default(%x)
  return %y
}
)",
                                 module);
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message, HasSubstr("input 'x': size s0 has no upper bound; give one with"));
}

TEST(Emit, FormulasAreComputedOnceAPath) {
  ir::Module module;
  const auto program = emit_text(R"(etg 1
module "m"
symbol s0 {2..8}

graph @forward {
  user %x: float32[s0, 3]
  %a: float32[3*s0] = aten.view_copy.default(%x, [3*s0])
  %b: float32[3*s0] = aten.view_copy.default(%a, [3*s0])
  return %b
}
)",
                                 module);
  ASSERT_TRUE(program) << program.error().message;
  // sym_size, mul, two views.
  EXPECT_EQ(program->methods[0].instruction_count, 4u);
}

std::vector<std::string> kernels_of(const Program& program) {
  std::vector<std::string> names;
  const auto file = bytes_of(program);
  format::ProgramView view;
  etb_error error = ETB_ERROR_INIT;
  EXPECT_EQ(format::read_program(file, &view, &error), ETB_OK) << error.text;
  const format::MethodView method = view.method(0);
  for (uint32_t i = 0; i < method.operator_count(); ++i) names.emplace_back(method.op(i).name);
  return names;
}

// A cache whose rows at %at are new. `later` comes after the update.
std::string cache_update(const std::string& later, const std::string& results) {
  return R"(etg 1
module "m"
constant "cache": float32[4, 2] = [1, 2, 3, 4, 5, 6, 7, 8]

graph @forward {
  buffer %cache: float32[4, 2] = "cache" as "cache"
  user %at: int64[1]
  user %rows: float32[1, 2]
  %old: float32[4, 2] = aten.relu.default(%cache)
  %new: float32[4, 2] = aten.index_put.default(%cache, [%at], %rows)
)" + later +
         "  return " + results + "\n}\n";
}

TEST(Emit, StateThatNobodyReadsAnyMoreIsUpdatedInPlace) {
  const auto kernels = [](const std::string& text) {
    ir::Module module;
    const auto program = emit_text(text, module);
    EXPECT_TRUE(program) << program.error().message;
    return program ? kernels_of(*program) : std::vector<std::string>();
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(kernels(cache_update("  %sum: float32[4, 2] = aten.add.Tensor(%old, %new)\n",
                                   "%new updates %cache, %sum")),
              ElementsAre("aten::relu", "aten::index_put_", "aten::add"));
  // The old rows are read again, or the new ones are also a result of the method.
  EXPECT_THAT(kernels(cache_update("  %sum: float32[4, 2] = aten.add.Tensor(%cache, %new)\n",
                                   "%new updates %cache, %sum")),
              ElementsAre("aten::relu", "aten::index_put", "aten::add", "aten::copy_"));
  EXPECT_THAT(kernels(cache_update("", "%new updates %cache, %new, %old")),
              ElementsAre("aten::relu", "aten::index_put", "aten::copy_"));
}

// Copying from file to file yields the same bytes as writing from memory: short pieces, long ones, and those
// outside the file.
TEST(Emit, WhatLiesInAFileIsCopiedFromThere) {
  const auto folder = std::filesystem::temp_directory_path() / "etb_emit_copy_test";
  std::filesystem::create_directories(folder);
  std::string all(1 << 20, ' ');
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i * 7 + i / 251);
  std::ofstream(folder / "source", std::ios::binary) << all;
  const auto source = pt2::MappedFile::open((folder / "source").string());
  ASSERT_TRUE(source) << source.error().message;
  const std::span<const std::byte> mapped = (*source)->bytes();
  const std::span<const std::byte> own = std::as_bytes(std::span<const char>(all));
  const std::vector<std::span<const std::byte>> pieces = {own.first(3),       mapped.subspan(5, 300000),
                                                          own.first(70000),   mapped.subspan(1, 9),
                                                          mapped.last(65536), mapped.first(0)};
  const ir::FileBytes files[] = {{mapped, (*source)->descriptor(), nullptr}};
  std::string wanted;
  for (const auto piece : pieces) wanted.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  const auto write = [&](const format::ByteSink& sink) -> Status {
    for (const auto piece : pieces) ETB_TRY(sink(piece));
    return {};
  };
  for (const bool from_file : {false, true}) {
    const std::string path = folder / "out";
    ASSERT_TRUE(
        write_whole_file(path, write, from_file ? std::span(files) : std::span<const ir::FileBytes>()));
    std::ifstream in(path, std::ios::binary);
    const std::string got{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    EXPECT_EQ(got.size(), wanted.size());
    EXPECT_TRUE(got == wanted);
  }
  std::filesystem::remove_all(folder);
}

TEST(Emit, AFileAppearsWholeOrNotAtAll) {
  ir::Module module;
  const auto program = emit_text(kTwoOps, module);
  ASSERT_TRUE(program);
  const auto folder = std::filesystem::temp_directory_path() / "etb_emit_test";
  std::filesystem::create_directories(folder);
  const std::string path = folder / "twice.pte";
  ASSERT_TRUE(write_file(*program, path));
  EXPECT_EQ(std::filesystem::file_size(path), bytes_of(*program).size());
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  EXPECT_FALSE(write_file(*program, (folder / "no" / "such" / "folder.pte").string()));
  std::filesystem::remove_all(folder);
}

Result<Program> emit_in_memories(const char* archive, std::vector<plan::Memory> memories) {
  auto module = pt2::import_archive(testing::archive_path(archive));
  EXPECT_TRUE(module);
  EXPECT_TRUE(passes::to_edge(*module));
  EXPECT_TRUE(passes::to_portable(*module));
  EmitOptions options;
  options.memories = std::move(memories);
  return emit({&*module, 1}, options);
}

TEST(EmitMemories, ATensorThatHasNoRoomGoesToTheNextMemory) {
  const auto program = emit_in_memories("lenet", {{"sram", 8192}, {"dram", plan::kUnlimited, 64, 10}});
  ASSERT_TRUE(program) << program.error().message;
  const MethodReport& report = program->methods[0];
  ASSERT_EQ(report.memories.spills.size(), 1u);
  EXPECT_EQ(report.memories.spills[0].tensor, "'relu' [1, 6, 14, 14] of 4704 bytes");
  EXPECT_EQ(report.memories.spills[0].memory, "dram");
  EXPECT_EQ(report.memories.spills[0].accesses, 2u);
  EXPECT_LE(report.memories.uses[0].arena_nbytes, 8192u);
  EXPECT_EQ(report.memories.uses[1].arena_nbytes, 4736u);  // a multiple of 64
  const auto file = bytes_of(*program);
  format::ProgramView view;
  etb_error error = ETB_ERROR_INIT;
  ASSERT_EQ(format::read_program(file, &view, &error), ETB_OK) << error.text;
  ASSERT_EQ(view.method(0).arena_sizes().size(), 3u);
  EXPECT_EQ(view.method(0).arena_sizes()[2], 4736);
  EXPECT_EQ(report.arena_nbytes, static_cast<uint64_t>(view.method(0).arena_sizes()[1]) + 4736u);
}

TEST(EmitMemories, TheBoundIsNeverAboveThePlan) {
  const auto program = emit_in_memories("counter", {{"sram", 32}, {"dram", 4096}});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_GT(program->methods[0].memories.uses[1].arena_nbytes, 0u);
  EXPECT_GE(program->methods[0].arena_nbytes, program->methods[0].arena_lower_bound_nbytes);
}

TEST(EmitMemories, APlanThatDoesNotFitIsRefusedWithItsPeak) {
  const auto program = emit_in_memories("lenet", {{"sram", 5000}, {"dram", 4096}});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::OUT_OF_MEMORY);
  EXPECT_THAT(
      program.error().message,
      HasSubstr("method 'forward': its tensors do not fit into the memories; the memories have 9096 bytes in "
                "all, the peak is 9408 bytes at instruction 1 (aten.relu.default, archive_models.py:"));
  EXPECT_THAT(program.error().message, HasSubstr("\n  'conv2d' [1, 6, 14, 14] of 4704 bytes"));
  const auto small = emit_in_memories("lenet", {{"sram", 4096}, {"dram", 4096}});
  ASSERT_FALSE(small);
  EXPECT_THAT(small.error().message,
              HasSubstr("tensor 'conv2d' [1, 6, 14, 14] of 4704 bytes is larger than every memory"));
}

}  // namespace
}  // namespace etb::emit
