// SPDX-License-Identifier: Apache-2.0
// ETDump files (.etdp): what a program did in its runs, and how long it took. Written for ExecuTorch's Inspector, and
// read from any writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::format {

// A span of time. Chain and instruction are -1 for work of the whole method.
struct EtdumpEvent {
  std::string name;  // "OPERATOR_CALL", "native_call_add.out"; "" for an event inside a delegate
  int32_t chain_index = -1;
  int32_t instruction_index = -1;
  int32_t delegate_debug_id = -1;   // of an event inside a delegate, unless it has a name
  std::string delegate_debug_name;  // "" for none
  std::vector<std::byte> metadata;  // the plugin's own data
  uint64_t begin_ns = 0;  // on one clock for all events of the run time; a delegate's may be another
  uint64_t end_ns = 0;

  bool is_of_delegate() const noexcept { return delegate_debug_id >= 0 || !delegate_debug_name.empty(); }
};

// The events of loading a method ("Default"), or of one run ("Execute"), in the order of their ends.
struct EtdumpBlock {
  std::string name;
  int32_t bundled_input_index = -1;
  std::vector<EtdumpEvent> events;
  uint64_t allocation_count = 0;  // allocations and values, which are counted only
  uint64_t value_count = 0;
};

// Returns the bytes of a file. A flatbuffer ends at 2 GiB: OUT_OF_RESOURCES beyond.
[[nodiscard]] Result<std::vector<std::byte>> write_etdump(std::span<const EtdumpBlock> blocks);

// Verifies and reads a file. Returns INVALID_DATA with what was found and where.
[[nodiscard]] Result<std::vector<EtdumpBlock>> read_etdump(std::span<const std::byte> file);

}  // namespace etb::format
