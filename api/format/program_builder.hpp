// Makes small programs in memory, right or wrong ones, for tests, fuzz corpora and benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

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
  std::vector<ValueSpec> values;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<InstructionSpec> instructions;
  std::vector<OperatorSpec> operators;
  std::vector<DelegateSpec> delegates;
  std::vector<int64_t> arena_sizes = {0};
  bool has_chain = true;
};

struct ProgramSpec {
  uint32_t version = 0;
  std::vector<MethodSpec> methods;
  std::vector<std::string> segments;  // their bytes
  uint32_t constant_segment = 0;
  std::vector<uint64_t> constant_offsets = {0};  // empty: no constant segment at all, as releases before 0.2
  uint32_t mutable_segment = 0;
  std::vector<uint64_t> mutable_offsets;
  std::vector<std::pair<std::string, uint32_t>> named_data;
  std::vector<std::string> inline_constants;
  std::vector<std::string> inline_payloads;
  uint32_t header_length =
      32;  // 24: without the size of the segment area, as releases before 1.0; 0: no header
  uint32_t segment_alignment = 128;
};

// The file; its memory is on a 16-byte boundary.
std::vector<std::byte> build_program(const ProgramSpec& spec);

// x + y for two float32 vectors of `count` elements, planned in arena 1, through the operator aten::add.out.
ProgramSpec add_program(int32_t count);

}  // namespace etb::format
