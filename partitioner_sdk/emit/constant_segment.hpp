// The constants of a program in one segment, each once.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "api/format/program_writer.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::emit {

// Views of the constants' bytes, which must outlive it.
class DataSegment {
 public:
  // The number of the constant in the file, from 1. Constants of the same bytes in the same place share one.
  uint32_t add(const ir::Constant& constant);

  bool is_empty() const { return pieces_.empty() && offsets_.size() <= 1; }
  uint64_t nbytes() const { return nbytes_; }
  const std::vector<uint64_t>& offsets() const { return offsets_; }
  const std::vector<format::SegmentPiece>& pieces() const { return pieces_; }

 private:
  std::vector<uint64_t> offsets_ = {0};  // entry 0 is a placeholder
  std::vector<format::SegmentPiece> pieces_;
  std::map<std::tuple<const std::byte*, size_t>, uint32_t> numbers_;
  uint64_t nbytes_ = 0;
};

}  // namespace etb::emit
