// SPDX-License-Identifier: Apache-2.0
// FileRange: an open file, or a part of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "etb/status.h"

namespace etb::host {

class FileRange {
 public:
  FileRange() noexcept = default;
  FileRange(const FileRange&) = delete;
  FileRange& operator=(const FileRange&) = delete;
  ~FileRange();

  [[nodiscard]] etb_status open(const char* path, etb_error* error) noexcept;
  // Opens bytes [offset, offset + nbytes) of an open file. Duplicates the descriptor. nbytes 0: to the end.
  [[nodiscard]] etb_status open(int descriptor, uint64_t offset, uint64_t nbytes, etb_error* error) noexcept;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  int get() const noexcept { return descriptor_; }
  uint64_t offset() const noexcept { return offset_; }
  uint64_t nbytes() const noexcept { return nbytes_; }

  [[nodiscard]] etb_status check_range(uint64_t offset, uint64_t nbytes, etb_error* error) const noexcept;
  [[nodiscard]] etb_status read(uint64_t offset, std::span<std::byte> out, etb_error* error) const noexcept;

 private:
  int descriptor_ = -1;
  uint64_t offset_ = 0;
  uint64_t nbytes_ = 0;
};

}  // namespace etb::host
