// SPDX-License-Identifier: Apache-2.0
// FileLoader: reads parts of a file into memory on request.
#pragma once

#include "host/loaders/file_range.hpp"
#include "host/runtime/data_loader.hpp"

namespace etb::host {

// Allocates blocks on the heap and frees them. Maps nothing, so the file may be replaced meanwhile.
class FileLoader final : public DataLoader {
 public:
  [[nodiscard]] etb_status open(const char* path, etb_error* error) noexcept {
    return file_.open(path, error);
  }
  // Opens a part of an open file (an archive, an Android asset). Duplicates the descriptor.
  [[nodiscard]] etb_status open(int descriptor, uint64_t offset, uint64_t nbytes, etb_error* error) noexcept {
    return file_.open(descriptor, offset, nbytes, error);
  }

  etb_status size(uint64_t* out_nbytes, etb_error* error) noexcept override;
  etb_status load(uint64_t offset, uint64_t nbytes, uint64_t alignment, DataBlock* out,
                  etb_error* error) noexcept override;
  etb_status read(uint64_t offset, std::span<std::byte> out, etb_error* error) noexcept override;

 private:
  FileRange file_;
};

}  // namespace etb::host
