// SPDX-License-Identifier: Apache-2.0
// Writes data files (.ptd): named tensors, each in its own segment, streamed.
#pragma once

#include <string>
#include <vector>

#include "api/format/program_writer.hpp"

namespace etb::format {

// Alignment of segments. Data with a larger alignment cannot be stored in a data file.
inline constexpr uint64_t kDataAlignment = 128;

// A tensor or blob of a data file. Several may share a segment.
struct DataTensorSpec {
  std::string key;
  bool is_blob = false;  // not a tensor: only a key and bytes
  int8_t dtype = 6;      // float32
  std::vector<int32_t> sizes;
  uint32_t segment = 0;
};

struct DataParts {
  std::vector<DataTensorSpec> tensors;
  std::vector<uint64_t> segment_nbytes;
};

// Writes the whole file. segments[i] has the bytes of segment i, from its start.
[[nodiscard]] Status write_data_file(const DataParts& parts, std::span<const SegmentPiece> segments,
                                     const ByteSink& sink);

}  // namespace etb::format
