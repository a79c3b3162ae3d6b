// SPDX-License-Identifier: Apache-2.0
// FileExtent: the parts around the flatbuffer of a program (.pte) or data file (.ptd): identifier,
// extended header, segment area.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "etb/status.h"

namespace etb::format {

// A loader passes this many bytes from the start of the file (fewer when the file is
// shorter) to read_*_extent.
inline constexpr uint64_t kHeadNbytes = 64;

// Programs must start on this boundary, because tensors inside do.
inline constexpr size_t kProgramAlignment = 16;

// Offsets and sizes of a file's parts. Segment i of the file starts at segment_base + offset(i).
struct FileExtent {
  uint64_t flatbuffer_nbytes = 0;  // from the start of the file
  uint64_t segment_base = 0;       // 0 when the file has no segments
  uint64_t segments_nbytes = 0;    // sum of all, with the padding between
  bool has_extended_header = false;
};

// A range inside the segment area, relative to segment_base.
struct SegmentRange {
  uint64_t offset = 0;
  uint64_t nbytes = 0;
};

// .pte: u32 root | "ET12" | optional "eh00", u32 length, u64 flatbuffer size, u64 segment base, [u64 segments size].
[[nodiscard]] etb_status read_program_extent(std::span<const std::byte> head, uint64_t file_nbytes,
                                             FileExtent* out, etb_error* error) noexcept;

// .ptd: u32 root | "FT01" | "FH01", u32 40, u64 flatbuffer offset, u64 flatbuffer size, u64 segment base, u64 segments size.
[[nodiscard]] etb_status read_data_extent(std::span<const std::byte> head, uint64_t file_nbytes,
                                          FileExtent* out, etb_error* error) noexcept;

}  // namespace etb::format
