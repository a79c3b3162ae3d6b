// SPDX-License-Identifier: Apache-2.0
// Constants and named data of delegates outside the program: in a data file (.ptd).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/format/data_writer.hpp"
#include "partitioner_sdk/emit/constant_segment.hpp"

namespace etb::emit {

class ExternalData {
 public:
  // Reserves a key for a blob, so that no constant gets it as its name.
  void reserve(const std::string& key) { ++names_[key]; }

  // Returns the name under which the program finds the constant. Equal elements of one shape share a name.
  std::string add(const ir::Constant& constant);

  // Adds bytes that a delegate finds by that key. Shares the segment of a tensor with the same bytes.
  void add_blob(const std::string& key, std::span<const std::byte> bytes);

  const std::vector<format::DataTensorSpec>& tensors() const { return tensors_; }
  // One per segment.
  const std::vector<format::SegmentPiece>& pieces() const { return pieces_; }
  const std::vector<uint64_t>& segment_nbytes() const { return segment_nbytes_; }

 private:
  DataSegment known_;                                   // finds equal constants
  std::map<uint32_t, std::vector<size_t>> tensors_of_;  // by their index in known_
  std::map<std::string, size_t> names_;
  std::vector<format::DataTensorSpec> tensors_;
  std::vector<format::SegmentPiece> pieces_;
  std::vector<uint64_t> segment_nbytes_;
};

}  // namespace etb::emit
