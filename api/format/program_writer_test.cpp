// SPDX-License-Identifier: Apache-2.0
#include "api/format/program_writer.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "api/format/program_view.hpp"

namespace etb::format {
namespace {

std::vector<std::byte> write(const ProgramParts& parts,
                             const std::vector<std::vector<SegmentPiece>>& segments) {
  std::vector<std::byte> file;
  const Status status = write_program(parts, segments, [&](std::span<const std::byte> bytes) -> Status {
    file.insert(file.end(), bytes.begin(), bytes.end());
    return {};
  });
  EXPECT_TRUE(status);
  return file;
}

MethodSpec one_constant() {
  TensorSpec tensor;
  tensor.sizes = {3};
  tensor.data_index = 1;
  MethodSpec method;
  method.values = {tensor};
  method.outputs = {0};
  method.input_tree = "in";
  return method;
}

TEST(ProgramWriter, WhatIsWrittenIsVerifiedAndRead) {
  const float constant[3] = {1, 2, 3};
  ProgramParts parts;
  parts.methods = {one_constant()};
  parts.segment_nbytes = {32 + sizeof(constant)};
  parts.constant_offsets = {0, 32};
  const auto file = write(parts, {{{32, std::as_bytes(std::span(constant))}}});
  ProgramView program;
  etb_error error = ETB_ERROR_INIT;
  ASSERT_EQ(read_program(file, &program, &error), ETB_OK) << error.text;
  ASSERT_EQ(program.method_count(), 1u);
  EXPECT_EQ(program.method(0).value(0).as_tensor().storage, Storage::kConstant);
  const SegmentRange segment = program.constant_segment();
  const uint64_t at = program.extent().segment_base + segment.offset + program.constant_offset(1);
  EXPECT_EQ(std::memcmp(file.data() + at, constant, sizeof(constant)), 0);
  EXPECT_EQ(file.size(), program.extent().segment_base + program.extent().segments_nbytes);
}

TEST(ProgramWriter, GapsAreZerosAndSegmentsAreAligned) {
  const std::byte ones[3] = {std::byte{1}, std::byte{1}, std::byte{1}};
  ProgramParts parts;
  parts.methods = {one_constant()};
  parts.methods[0].values = {int64_t{1}};
  parts.segment_nbytes = {10000, 3};
  const auto file = write(parts, {{{0, ones}, {9000, ones}}, {{0, ones}}});
  const ProgramHead head = make_program_head(parts);
  EXPECT_EQ(file.size(), head.file_nbytes);
  EXPECT_EQ(head.segment_base % parts.segment_alignment, 0u);
  EXPECT_EQ(head.segment_offsets[1], 10112u);
  size_t sum = 0;
  for (uint64_t i = head.segment_base; i < file.size(); ++i) sum += static_cast<size_t>(file[i]);
  EXPECT_EQ(sum, 9u);
}

TEST(ProgramWriter, TheSinksErrorEndsWriting) {
  ProgramParts parts;
  parts.methods = {one_constant()};
  parts.methods[0].values = {int64_t{1}};
  parts.segment_nbytes = {100000};
  int call_count = 0;
  const Status status = write_program(parts, std::vector<std::vector<SegmentPiece>>(1),
                                      [&](std::span<const std::byte>) -> Status {
                                        if (++call_count == 2)
                                          return make_error(Code::ACCESS_FAILED, "disk full");
                                        return {};
                                      });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "disk full");
  EXPECT_EQ(call_count, 2);
}

}  // namespace
}  // namespace etb::format
