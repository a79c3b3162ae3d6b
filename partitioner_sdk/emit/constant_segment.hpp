// SPDX-License-Identifier: Apache-2.0
// Stores the constants of a program in one segment, without duplicates.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/format/program_writer.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::emit {

// Holds views of the constants' bytes, which must outlive it.
class DataSegment {
 public:
  // Returns the index of the constant in the file, from 1. Constants with equal elements share one, even from
  // different archives: methods of one model are often exported one by one. A constant in another storage
  // order is reordered while it is written, so that no second copy is held.
  uint32_t add(const ir::Constant& constant);

  bool is_empty() const { return pieces_.empty() && offsets_.size() <= 1; }
  uint64_t nbytes() const { return nbytes_; }
  const std::vector<uint64_t>& offsets() const { return offsets_; }
  const std::vector<format::SegmentPiece>& pieces() const { return pieces_; }

 private:
  struct Entry {
    ir::Constant constant;
    uint32_t number;
  };
  uint32_t append(const ir::Constant& constant);

  std::vector<uint64_t> offsets_ = {0};  // entry 0 is a placeholder
  std::vector<format::SegmentPiece> pieces_;
  std::map<std::string, uint32_t, std::less<>> small_;  // by their bytes
  std::map<uint64_t, std::vector<Entry>> large_;        // by their size
  uint64_t nbytes_ = 0;
};

}  // namespace etb::emit
