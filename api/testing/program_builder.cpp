// SPDX-License-Identifier: Apache-2.0
#include "api/testing/program_builder.hpp"

#include <cassert>

namespace etb::format {

std::vector<std::byte> build_program(const ProgramSpec& spec) {
  ProgramParts parts;
  parts.version = spec.version;
  parts.methods = spec.methods;
  std::vector<std::vector<SegmentPiece>> segments;
  for (const std::string& bytes : spec.segments) {
    parts.segment_nbytes.push_back(bytes.size());
    segments.push_back({{0, std::as_bytes(std::span(bytes))}});
  }
  parts.constant_segment = spec.constant_segment;
  parts.constant_offsets = spec.constant_offsets;
  parts.mutable_segment = spec.mutable_segment;
  parts.mutable_offsets = spec.mutable_offsets;
  parts.named_data = spec.named_data;
  parts.inline_constants = spec.inline_constants;
  parts.inline_payloads = spec.inline_payloads;
  parts.header_length = spec.header_length;
  parts.segment_alignment = spec.segment_alignment;
  std::vector<std::byte> file;
  const Status written = write_program(parts, segments, [&](std::span<const std::byte> bytes) -> Status {
    file.insert(file.end(), bytes.begin(), bytes.end());
    return {};
  });
  assert(written);
  static_cast<void>(written);
  return file;
}

ProgramSpec add_program(int32_t count) {
  const int64_t nbytes = (int64_t{count} * 4 + 15) / 16 * 16;
  const auto vector_at = [&](int64_t offset) {
    TensorSpec tensor;
    tensor.sizes = {count};
    tensor.memory_id = 1;
    tensor.memory_offset = static_cast<uint64_t>(offset);
    return tensor;
  };
  MethodSpec method;
  method.values = {vector_at(0), vector_at(nbytes), vector_at(2 * nbytes), int64_t{1}};
  method.inputs = {0, 1};
  method.outputs = {2};
  method.operators = {{"aten::add", "out"}};
  method.instructions = {{1, 0, 0, {0, 1, 3, 2, 2}}};
  method.arena_sizes = {0, 3 * nbytes};
  ProgramSpec program;
  program.methods = {method};
  return program;
}

}  // namespace etb::format
