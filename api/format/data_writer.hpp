// Writes data files (.ptd): named tensors, each in its own segment, streamed.
#pragma once

#include <string>
#include <vector>

#include "api/format/program_writer.hpp"

namespace etb::format {

// A tensor of a data file. Tensors may share a segment.
struct DataTensorSpec {
  std::string key;
  int8_t dtype = 6;  // float32
  std::vector<int32_t> sizes;
  uint32_t segment = 0;
};

struct DataParts {
  std::vector<DataTensorSpec> tensors;
  std::vector<uint64_t> segment_nbytes;
};

// The whole file; segments[i] gives the bytes of segment i from its start.
[[nodiscard]] Status write_data_file(const DataParts& parts, std::span<const SegmentPiece> segments,
                                     const ByteSink& sink);

}  // namespace etb::format
