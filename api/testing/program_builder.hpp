// SPDX-License-Identifier: Apache-2.0
// Makes small valid and invalid programs in memory, for tests, fuzz corpora and benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/format/program_writer.hpp"

namespace etb::format {

struct ProgramSpec {
  uint32_t version = 0;
  std::vector<MethodSpec> methods;
  std::vector<std::string> segments;  // their bytes
  uint32_t constant_segment = 0;
  std::vector<uint64_t> constant_offsets = {0};  // empty: no constant segment, as in releases before 0.2
  uint32_t mutable_segment = 0;
  std::vector<uint64_t> mutable_offsets;
  std::vector<std::pair<std::string, uint32_t>> named_data;
  std::vector<std::string> inline_constants;
  std::vector<std::string> inline_payloads;
  // 24: without the size of the segment area, as in releases before 1.0; 0: no header.
  uint32_t header_length = 32;
  uint32_t segment_alignment = 128;
};

// Returns the file, on a 16-byte boundary.
std::vector<std::byte> build_program(const ProgramSpec& spec);

// A program that adds two float32 vectors of `count` elements, planned in arena 1, with the operator
// aten::add.out.
ProgramSpec add_program(int32_t count);

}  // namespace etb::format
