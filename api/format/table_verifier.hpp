// SPDX-License-Identifier: Apache-2.0
// Verifies that the tables, vectors and texts of a program are inside its flatbuffer, aligned and terminated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace etb::format {

// The same verdict as FlatBuffers' generated schema::VerifyProgramBuffer with max_tables = bytes / 4 + 16 (program_tables_test
// compares them), from one list of fields instead of a function for each table. `bytes` has 12 to 2^31 - 2 bytes.
// If it is false, `out_table` is the offset of the innermost table that is damaged, or has a damaged field.
[[nodiscard]] bool verify_program_tables(std::span<const std::byte> bytes, uint32_t* out_table) noexcept;

}  // namespace etb::format
