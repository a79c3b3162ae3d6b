// SPDX-License-Identifier: Apache-2.0
// Bytes that a program stores for its tensors, delegates and named data, in place. The program is verified, so no range
// reaches outside of it.
#pragma once

#include <optional>
#include <span>

#include "tools/program_info/program_report.hpp"

namespace etb::tools {

std::span<const std::byte> segment_bytes(const ProgramFile& file, format::SegmentRange range);

// The bytes of a constant, or the initial value of planned memory. Nothing for any other tensor.
std::optional<std::span<const std::byte>> stored_bytes(const ProgramFile& file,
                                                       const format::TensorRecord& tensor);

std::span<const std::byte> payload_bytes(const ProgramFile& file, const format::DelegateView& delegate);

std::span<const std::byte> named_data_bytes(const ProgramFile& file, uint32_t index);

}  // namespace etb::tools
