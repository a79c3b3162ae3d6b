// SPDX-License-Identifier: Apache-2.0
// ProgramView: a verified program file (.pte), read in place: views into the bytes, no copies,
// no heap, nothing to free.
//
// Only read_program fills a ProgramView. It checks everything that these accessors need, so they return no
// errors. An index that the verifier checked (such as a value index in args) needs no second check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "api/format/segment_area.hpp"
#include "etb/status.h"

namespace etb::format {

// Kind of a value. The numbers are those of the union in the file.
enum class ValueKind : uint8_t {
  kNull = 1,
  kInt,
  kBool,
  kDouble,
  kTensor,
  kString,
  kIntList,
  kDoubleList,
  kBoolList,
  kTensorList,
  kOptionalTensorList
};
inline constexpr uint8_t kValueKindCount = 12;

// "tensor", "int list", ...
[[gnu::const]] const char* to_text(ValueKind kind) noexcept;

// Source of a tensor's bytes.
enum class Storage : uint8_t {
  kCaller,              // a pointer set at run time
  kPlanned,             // an arena, no initial value
  kPlannedInitialized,  // an arena, initial value from the mutable data segment
  kConstant,            // the constant segment, or inside the flatbuffer in files older than 0.2
  kExternal,            // looked up by name in the named data
  kPlannedExternal      // an arena, initial value from the named data
};

enum class Dynamism : uint8_t { kStatic, kBounded, kUnbounded };

// A tensor value. With kBounded, sizes and nbytes are upper bounds.
struct TensorRecord {
  uint8_t dtype = 0;
  Dynamism dynamism = Dynamism::kStatic;
  Storage storage = Storage::kCaller;
  uint8_t device_type = 0;  // 0 CPU
  std::span<const int32_t> sizes;
  std::span<const uint8_t> dim_order;
  uint64_t nbytes = 0;
  uint32_t data_index = 0;     // kConstant, kPlannedInitialized
  uint32_t memory_id = 0;      // planned: arena_sizes[memory_id]
  uint64_t memory_offset = 0;  // planned
  std::string_view name;       // "" when the exporter gave none
};

class ValueView {
 public:
  ValueKind kind() const noexcept { return kind_; }
  int64_t as_int() const noexcept;
  bool as_bool() const noexcept;
  double as_double() const noexcept;
  std::string_view as_string() const noexcept;
  TensorRecord as_tensor() const noexcept;
  std::span<const int64_t> int_list() const noexcept;  // value indices
  std::span<const double> double_list() const noexcept;
  std::span<const uint8_t> bool_list() const noexcept;  // each 0 or 1
  // Value indices, -1 in kOptionalTensorList for "none".
  std::span<const int32_t> tensor_list() const noexcept;

 private:
  friend class MethodView;
  ValueView(ValueKind kind, const void* table) noexcept : kind_(kind), table_(table) {}
  ValueKind kind_;
  const void* table_;
};

enum class InstructionKind : uint8_t { kKernel = 1, kDelegate, kMove, kJumpFalse, kFree };
inline constexpr uint8_t kInstructionKindCount = 6;

// One instruction. Meaning of a and b by kind: kKernel: op; kDelegate: delegate; kMove: from, to; kJumpFalse:
// condition, destination; kFree: value.
struct InstructionView {
  InstructionKind kind;
  uint32_t a = 0;
  uint32_t b = 0;
  std::span<const int32_t> args;
};

class ChainView {
 public:
  uint32_t instruction_count() const noexcept;
  InstructionView instruction(uint32_t index) const noexcept;

 private:
  friend class MethodView;
  explicit ChainView(const void* table) noexcept : table_(table) {}
  const void* table_;
};

struct OperatorView {
  std::string_view name;      // "aten::add"
  std::string_view overload;  // "out", or ""
};

struct CompileSpecView {
  std::string_view key;
  std::span<const std::byte> value;
};

class DelegateView {
 public:
  DelegateView() noexcept = default;  // invalid until assigned
  std::string_view id() const noexcept;
  bool is_inline() const noexcept;
  uint32_t payload_index() const noexcept;  // into segments, or into inline payloads
  uint32_t compile_spec_count() const noexcept;
  CompileSpecView compile_spec(uint32_t index) const noexcept;

 private:
  friend class MethodView;
  explicit DelegateView(const void* table) noexcept : table_(table) {}
  const void* table_ = nullptr;
};

class MethodView {
 public:
  MethodView() noexcept = default;  // invalid until assigned
  std::string_view name() const noexcept;
  std::span<const int32_t> inputs() const noexcept;   // value indices
  std::span<const int32_t> outputs() const noexcept;  // value indices
  uint32_t value_count() const noexcept;
  ValueView value(uint32_t index) const noexcept;
  uint32_t chain_count() const noexcept;
  ChainView chain(uint32_t index) const noexcept;
  uint32_t operator_count() const noexcept;
  OperatorView op(uint32_t index) const noexcept;
  uint32_t delegate_count() const noexcept;
  DelegateView delegate(uint32_t index) const noexcept;
  std::span<const int64_t> arena_sizes() const noexcept;  // entry 0 is unused
  bool is_arena_on_cpu(uint32_t memory_id) const noexcept;

 private:
  friend class ProgramView;
  explicit MethodView(const void* table) noexcept : table_(table) {}
  const void* table_ = nullptr;
};

class ProgramView {
 public:
  ProgramView() noexcept = default;

  const FileExtent& extent() const noexcept { return extent_; }
  uint32_t version() const noexcept;
  uint32_t method_count() const noexcept;
  MethodView method(uint32_t index) const noexcept;

  uint32_t segment_count() const noexcept;
  SegmentRange segment(uint32_t index) const noexcept;
  std::span<const std::byte> inline_payload(uint32_t index) const noexcept;

  uint32_t named_data_count() const noexcept;
  std::string_view named_data_key(uint32_t index) const noexcept;
  uint32_t named_data_segment(uint32_t index) const noexcept;

  // Constants are in one segment, or inside the flatbuffer (releases before 0.2).
  bool has_inline_constants() const noexcept;
  uint32_t constant_count() const noexcept;  // entry 0 is a placeholder
  std::span<const std::byte> inline_constant(uint32_t data_index) const noexcept;
  // The segment with all constants. nbytes is 0 when there is none.
  SegmentRange constant_segment() const noexcept;
  // Offset of a constant inside constant_segment().
  uint64_t constant_offset(uint32_t data_index) const noexcept;
  // Range from the initial value of a planned tensor to the end of its segment.
  SegmentRange mutable_data(uint32_t data_index) const noexcept;

 private:
  friend etb_status read_program(std::span<const std::byte>, const FileExtent&, ProgramView*,
                                 etb_error*) noexcept;
  const void* root_ = nullptr;
  FileExtent extent_;
};

// Verifies the flatbuffer part (the first extent.flatbuffer_nbytes of the file, on a 16-byte boundary).
// Returns the view, which is valid as long as the bytes. Checks every index, offset, size, plan bound and
// jump target against the segment sizes of `extent`, without reading a segment.
[[nodiscard]] etb_status read_program(std::span<const std::byte> flatbuffer, const FileExtent& extent,
                                      ProgramView* out, etb_error* error) noexcept;

// Calls read_program_extent and read_program for a whole file in memory.
[[nodiscard]] etb_status read_program(std::span<const std::byte> file, ProgramView* out,
                                      etb_error* error) noexcept;

}  // namespace etb::format
