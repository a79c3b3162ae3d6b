// SPDX-License-Identifier: Apache-2.0
#include "api/format/table_verifier.hpp"

#include <array>
#include <cstdint>

#include "api/format/flat_table.hpp"

namespace etb::format {

namespace {

// Tables of api/schema/program.fbs. The members of each union stand together, in the order of the union.
enum Table : uint8_t {
  kNull,
  kInt,
  kBool,
  kDouble,
  kTensor,
  kString,
  kIntList,
  kDoubleList,
  kBoolList,
  kTensorList,
  kOptionalTensorList,
  kKernelCall,
  kDelegateCall,
  kMoveCall,
  kJumpFalseCall,
  kFreeCall,
  kAllocation,
  kTensorExtra,
  kValue,
  kInstruction,
  kFrame,
  kFrameList,
  kChain,
  kOperator,
  kCompileSpec,
  kPayloadReference,
  kDelegate,
  kContainerMetadata,
  kArenaDevice,
  kMethod,
  kInlineBytes,  // InlineBuffer and InlinePayload
  kDataSegment,
  kSubsegmentOffsets,
  kNamedData,
  kProgram,
  kTableCount
};

// Kinds of fields.
enum Kind : uint8_t {
  kEnd,
  kNumber8 = 1,
  kNumber32 = 4,
  kNumber64 = 8,
  kText,
  kVector8 = 16 + 1,
  kVector32 = 16 + 4,
  kVector64 = 16 + 8,
  kAnyValue,  // a union; its type is the field before
  kAnyInstruction
};

// Kinds of fields with tables: added to the table.
constexpr uint8_t kOneTable = 0x40, kManyTables = 0x80;

// The fields of each table in the order of its slots.
constexpr uint8_t kFields[] = {
    // clang-format off
    /* Null */ kEnd,
    /* Int */ kNumber64, kEnd,
    /* Bool */ kNumber8, kEnd,
    /* Double */ kNumber64, kEnd,
    /* Tensor */ kNumber8, kNumber32, kVector32, kVector8, kNumber8, kNumber32, kOneTable + kAllocation, kNumber8, kNumber8,
        kOneTable + kTensorExtra, kEnd,
    /* String */ kText, kEnd,
    /* IntList */ kVector64, kEnd,
    /* DoubleList */ kVector64, kEnd,
    /* BoolList */ kVector8, kEnd,
    /* TensorList */ kVector32, kEnd,
    /* OptionalTensorList */ kVector32, kEnd,
    /* KernelCall */ kNumber32, kVector32, kEnd,
    /* DelegateCall */ kNumber32, kVector32, kEnd,
    /* MoveCall */ kNumber32, kNumber32, kEnd,
    /* JumpFalseCall */ kNumber32, kNumber32, kEnd,
    /* FreeCall */ kNumber32, kEnd,
    /* Allocation */ kNumber32, kNumber32, kNumber32, kEnd,
    /* TensorExtra */ kNumber64, kText, kNumber8, kNumber8, kNumber8, kEnd,
    /* Value */ kNumber8, kAnyValue, kEnd,
    /* Instruction */ kNumber8, kAnyInstruction, kEnd,
    /* Frame */ kText, kNumber32, kText, kText, kEnd,
    /* FrameList */ kManyTables + kFrame, kEnd,
    /* Chain */ kVector32, kVector32, kManyTables + kInstruction, kManyTables + kFrameList, kEnd,
    /* Operator */ kText, kText, kEnd,
    /* CompileSpec */ kText, kVector8, kEnd,
    /* PayloadReference */ kNumber8, kNumber32, kEnd,
    /* Delegate */ kText, kOneTable + kPayloadReference, kManyTables + kCompileSpec, kEnd,
    /* ContainerMetadata */ kText, kText, kEnd,
    /* ArenaDevice */ kNumber32, kNumber8, kNumber8, kEnd,
    /* Method */ kText, kOneTable + kContainerMetadata, kManyTables + kValue, kVector32, kVector32, kManyTables + kChain,
        kManyTables + kOperator, kManyTables + kDelegate, kVector64, kManyTables + kArenaDevice, kEnd,
    /* InlineBytes */ kVector8, kEnd,
    /* DataSegment */ kNumber64, kNumber64, kEnd,
    /* SubsegmentOffsets */ kNumber32, kVector64, kEnd,
    /* NamedData */ kText, kNumber32, kEnd,
    /* Program */ kNumber32, kManyTables + kMethod, kManyTables + kInlineBytes, kManyTables + kInlineBytes,
        kManyTables + kDataSegment, kOneTable + kSubsegmentOffsets, kManyTables + kSubsegmentOffsets,
        kManyTables + kNamedData, kEnd,
    // clang-format on
};

// Index of each table's first field.
constexpr std::array<uint8_t, kTableCount> kStarts = [] {
  std::array<uint8_t, kTableCount> starts{};
  size_t table = 0, at = 0;
  while (table < kTableCount) {
    starts[table++] = static_cast<uint8_t>(at);
    while (kFields[at++] != kEnd) continue;
  }
  return starts;
}();

// Offsets count from the first byte of the flatbuffer.
class TableVerifier {
 public:
  explicit TableVerifier(std::span<const std::byte> bytes) noexcept
      : bytes_(bytes.data()), nbytes_(static_cast<uint32_t>(bytes.size())), tables_left_(nbytes_ / 4 + 16) {}

  bool verify_root() noexcept {
    return std::memcmp(bytes_ + 4, "ET12", 4) == 0 && verify_reference(0, kOneTable + kProgram, 0);
  }

  // The table that was entered last.
  uint32_t table() const noexcept { return table_; }

 private:
  template <class T>
  T read(uint32_t at) const noexcept {
    return read_scalar<T>(bytes_ + at);
  }

  bool is_inside(uint32_t at, uint32_t nbytes, uint32_t alignment) const noexcept {
    return at % alignment == 0 && nbytes < nbytes_ && at <= nbytes_ - nbytes;
  }

  // Each visit of a table is counted, because many offsets may name one. Tables of this schema are nested 6 deep at most.
  bool verify_table(uint32_t at, uint32_t table) noexcept {
    table_ = at;
    if (!is_inside(at, 4, 4) || tables_left_ == 0) return false;
    --tables_left_;
    const uint32_t vtable = at - read<uint32_t>(at);
    if (!is_inside(vtable, 2, 2)) return false;
    const uint32_t end = read<uint16_t>(vtable);
    if (!is_inside(vtable, end, 1) || end % 2 != 0) return false;
    const uint8_t* kind = kFields + kStarts[table];
    uint32_t type = 0;  // type of the union
    for (uint32_t slot = 4; slot < end && *kind != kEnd; slot += 2, ++kind) {
      const uint32_t offset = read<uint16_t>(vtable + slot);
      if (offset != 0) {
        if (!verify_field(at + offset, *kind, type)) return false;
      }
      type = offset != 0 && *kind == kNumber8 ? read<uint8_t>(at + offset) : 0;
    }
    return true;
  }

  bool verify_field(uint32_t at, uint32_t kind, uint32_t type) noexcept {
    return kind <= kNumber64 ? is_inside(at, kind, kind) : verify_reference(at, kind, type);
  }

  // Verifies an offset and what it names.
  bool verify_reference(uint32_t at, uint32_t kind, uint32_t type) noexcept {
    if (!is_inside(at, 4, 4)) return false;
    const uint32_t offset = read<uint32_t>(at);
    if (offset == 0 || offset >= nbytes_ - at) return false;
    at += offset;
    // A union of an unknown type is rejected by the verifier of its meaning.
    if (kind == kAnyValue) return type - 1 > kOptionalTensorList || verify_table(at, type - 1);
    if (kind == kAnyInstruction)
      return type - 1 > kFreeCall - kKernelCall || verify_table(at, kKernelCall + type - 1);
    if (kind >= kManyTables) return verify_list(at, kind - kManyTables);
    if (kind >= kOneTable) return verify_table(at, kind - kOneTable);
    if (kind != kText) return verify_vector(at, kind - kVector8 + 1);
    return verify_vector(at, 1) && is_inside(at + 4 + read<uint32_t>(at), 1, 1) &&
           read<uint8_t>(at + 4 + read<uint32_t>(at)) == 0;
  }

  bool verify_vector(uint32_t at, uint32_t element_nbytes) const noexcept {
    if (!is_inside(at, 4, 4)) return false;
    const uint32_t count = read<uint32_t>(at);
    return count < INT32_MAX / element_nbytes && is_inside(at, 4 + count * element_nbytes, 1);
  }

  bool verify_list(uint32_t at, uint32_t table) noexcept {
    if (!verify_vector(at, 4)) return false;
    for (uint32_t left = read<uint32_t>(at); left > 0; --left) {
      at += 4;
      if (read<uint32_t>(at) >= nbytes_ || !verify_table(at + read<uint32_t>(at), table)) return false;
    }
    return true;
  }

  const std::byte* bytes_;
  uint32_t nbytes_;
  uint32_t tables_left_;
  uint32_t table_ = 0;
};

}  // namespace

bool verify_program_tables(std::span<const std::byte> bytes, uint32_t* out_table) noexcept {
  TableVerifier verifier(bytes);
  const bool is_valid = verifier.verify_root();
  *out_table = verifier.table();
  return is_valid;
}

}  // namespace etb::format
