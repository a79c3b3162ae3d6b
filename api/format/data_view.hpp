// SPDX-License-Identifier: Apache-2.0
// DataView: a verified data file (.ptd): tensors and blobs by name, read in place.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "api/format/segment_area.hpp"
#include "etb/status.h"

namespace etb::format {

// Dtype, sizes and dim order of a named tensor.
struct LayoutRecord {
  uint8_t dtype = 0;
  std::span<const int32_t> sizes;
  std::span<const uint8_t> dim_order;
};

struct NamedRecord {
  std::string_view key;
  SegmentRange range;                  // relative to extent().segment_base
  std::optional<LayoutRecord> layout;  // nullopt for a blob that is not a tensor
};

// Only read_data fills one, so every record is in range and every tensor has its bytes.
class DataView {
 public:
  DataView() noexcept = default;
  const FileExtent& extent() const noexcept { return extent_; }
  uint32_t count() const noexcept;
  NamedRecord record(uint32_t index) const noexcept;

 private:
  friend etb_status read_data(std::span<const std::byte>, const FileExtent&, DataView*, etb_error*) noexcept;
  const void* root_ = nullptr;
  FileExtent extent_;
};

// Verifies the first extent.flatbuffer_nbytes of a .ptd (on a 16-byte boundary). The view is
// valid as long as the bytes.
[[nodiscard]] etb_status read_data(std::span<const std::byte> flatbuffer, const FileExtent& extent,
                                   DataView* out, etb_error* error) noexcept;

// read_data_extent and read_data for a whole file in memory.
[[nodiscard]] etb_status read_data(std::span<const std::byte> file, DataView* out, etb_error* error) noexcept;

}  // namespace etb::format
