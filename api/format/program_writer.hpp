// SPDX-License-Identifier: Apache-2.0
// Writes programs (.pte): the flatbuffer from a spec, then the segments as a stream, so that
// weights are never copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::format {

struct TensorSpec {
  int8_t dtype = 6;  // float32
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;  // row-major when empty
  uint32_t data_index = 0;
  uint32_t memory_id = 0;  // 0: not planned
  uint64_t memory_offset = 0;
  int8_t dynamism = 0;
  int32_t storage_offset = 0;
  std::string name;
  bool is_external = false;
};

struct IntListSpec {
  std::vector<int64_t> items;
};
struct DoubleListSpec {
  std::vector<double> items;
};
struct BoolListSpec {
  std::vector<uint8_t> items;
};
struct TensorListSpec {
  std::vector<int32_t> items;
};
struct OptionalTensorListSpec {
  std::vector<int32_t> items;
};

using ValueSpec = std::variant<std::monostate, int64_t, bool, double, std::string, TensorSpec, IntListSpec,
                               DoubleListSpec, BoolListSpec, TensorListSpec, OptionalTensorListSpec>;

// a, b and args as in InstructionView.
struct InstructionSpec {
  uint8_t kind = 1;
  int32_t a = 0;
  int32_t b = 0;
  std::vector<int32_t> args;
};

struct OperatorSpec {
  std::string name;
  std::string overload;
};

struct DelegateSpec {
  std::string id;
  int8_t location = 0;
  uint32_t index = 0;
  std::vector<std::pair<std::string, std::string>> compile_specs;
};

struct MethodSpec {
  std::string name = "forward";
  // Nesting of the caller's inputs and outputs (pytree text); kept for the official tools.
  std::string input_tree;
  std::string output_tree;
  std::vector<ValueSpec> values;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<InstructionSpec> instructions;
  std::vector<OperatorSpec> operators;
  std::vector<DelegateSpec> delegates;
  std::vector<int64_t> arena_sizes = {0};
  bool has_chain = true;
};

// A segment inside another, earlier one: the same bytes under two names.
struct SegmentInside {
  uint32_t segment = 0;
  uint32_t outer = 0;
  uint64_t offset = 0;  // in the outer one
};

// A program without the bytes of its segments.
struct ProgramParts {
  uint32_t version = 0;
  std::vector<MethodSpec> methods;
  std::vector<uint64_t> segment_nbytes;
  std::vector<SegmentInside> segments_inside;  // ascending by segment; without pieces of their own
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

// The bytes before the segments, and the offsets of the segments.
struct ProgramHead {
  std::vector<std::byte> bytes;
  uint64_t segment_base = 0;              // 0 when the file has no segments
  std::vector<uint64_t> segment_offsets;  // from segment_base
  uint64_t file_nbytes = 0;
};

ProgramHead make_program_head(const ProgramParts& parts);

// Receives the file's bytes in order.
using ByteSink = std::function<Status(std::span<const std::byte> bytes)>;

// A piece of a segment, at `offset` from its start. Zeros fill the space between pieces.
struct SegmentPiece {
  uint64_t offset = 0;
  std::span<const std::byte> bytes;
  // Used instead of `bytes`: writes them in order on demand, so that large ones need not be in memory at
  // once.
  std::function<Status(const ByteSink&)> give = {};
};

// Writes the bytes of `give`, or else `bytes`. Returns their number.
[[nodiscard]] Result<uint64_t> write_piece(const SegmentPiece& piece, const ByteSink& sink);

// Writes the whole file. `segments[i]` has the pieces of segment i in ascending order, without overlap,
// within segment_nbytes[i].
[[nodiscard]] Status write_program(const ProgramParts& parts,
                                   std::span<const std::vector<SegmentPiece>> segments, const ByteSink& sink);

}  // namespace etb::format
