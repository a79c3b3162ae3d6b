// SPDX-License-Identifier: Apache-2.0
// ETDump files (.etdp): what a program did in its runs, how long it took, what it allocated, and the values it
// computed. Written for ExecuTorch's Inspector, and read from any writer.
//
// Elements of tensors are in a second file, the debug buffer: plain bytes, where each tensor has an offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::format {

// Each tensor in a debug buffer that is written here begins at a multiple of this.
inline constexpr uint64_t kDebugAlignment = 64;

// A span of time. Chain and instruction are -1 for work of the whole method.
struct EtdumpEvent {
  std::string name;  // "OPERATOR_CALL", "native_call_add.out"; "" for an event inside a delegate
  int32_t chain_index = -1;
  int32_t instruction_index = -1;
  int32_t delegate_debug_id = -1;   // of an event inside a delegate, unless it has a name
  std::string delegate_debug_name;  // "" for none
  std::vector<std::byte> metadata;  // the plugin's own data
  uint64_t begin_ns = 0;  // on one clock for all events of the run time; a delegate's may be another
  uint64_t end_ns = 0;    // before the begin where a clock of 32 bits started again at 0
  uint32_t position = 0;  // among all events, allocations and values of the block

  uint64_t elapsed_ns() const noexcept {
    return end_ns >= begin_ns ? end_ns - begin_ns : (uint64_t{1} << 32) - begin_ns + end_ns;
  }
  bool is_of_delegate() const noexcept { return delegate_debug_id >= 0 || !delegate_debug_name.empty(); }
};

// Memory that was taken from an allocator.
struct EtdumpAllocation {
  int32_t allocator_index = 0;  // in the allocators of the block
  uint64_t nbytes = 0;
  uint32_t position = 0;  // as in EtdumpEvent
};

// A tensor, whose elements are in the debug buffer in the order of its strides.
struct EtdumpTensor {
  uint8_t dtype = 0;  // as in etb/dtype.def
  std::vector<int64_t> sizes, strides;
  int64_t offset = -1;  // in the debug buffer; -1: there are no elements
};

enum class EtdumpValueKind : uint8_t {
  kNone,
  kInt,
  kBool,
  kFloat,  // 32 bits; `real` has it
  kDouble,
  kTensor,
  kTensorList,
  kString  // the format names this kind and has no field for its text
};

// The field that `kind` names is set.
struct EtdumpValue {
  EtdumpValueKind kind = EtdumpValueKind::kNone;
  int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<EtdumpTensor> tensors;  // one for kTensor
};

// A value that an instruction, an event inside a delegate, or the whole method computed.
struct EtdumpDebugEvent {
  std::string name;                // "" for none, as officially
  int32_t chain_index = -1;        // -1 for an output of the program
  int32_t instruction_index = -1;  // officially 0 for an output of the program
  int32_t delegate_debug_id = -1;  // as in EtdumpEvent
  std::string delegate_debug_name;
  bool is_output = false;  // an output of the program
  EtdumpValue value;
  uint32_t position = 0;  // as in EtdumpEvent

  bool is_of_delegate() const noexcept { return delegate_debug_id >= 0 || !delegate_debug_name.empty(); }
};

// The events of loading a method ("Default"), or of one run ("Execute"), in the order of their ends. The writer
// sorts by position, and keeps events, allocations and values of one position in this order.
struct EtdumpBlock {
  std::string name;
  int32_t bundled_input_index = -1;  // of the inputs of this run in a BundledProgram
  std::vector<EtdumpEvent> events;
  std::vector<std::string> allocators = {};  // names
  std::vector<EtdumpAllocation> allocations = {};
  std::vector<EtdumpDebugEvent> values = {};
};

// Returns the bytes of a file. A flatbuffer ends at 2 GiB: OUT_OF_RESOURCES beyond.
[[nodiscard]] Result<std::vector<std::byte>> write_etdump(std::span<const EtdumpBlock> blocks);

// Verifies and reads a file. Returns INVALID_DATA with what was found and where.
[[nodiscard]] Result<std::vector<EtdumpBlock>> read_etdump(std::span<const std::byte> file);

// Returns the elements of a tensor, as many as its sizes say, in place. INVALID_DATA when they are not all in the
// debug buffer, or sizes and strides do not name each of them once.
[[nodiscard]] Result<std::span<const std::byte>> find_elements(const EtdumpTensor& tensor,
                                                               std::span<const std::byte> debug_buffer);

}  // namespace etb::format
