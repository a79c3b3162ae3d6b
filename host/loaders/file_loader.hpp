// FileLoader: reads parts of a file into memory as they are asked for.
#pragma once

#include "host/loaders/file_range.hpp"
#include "host/runtime/data_loader.hpp"

namespace etb::host {

// Blocks come from the heap and go back to it; nothing of the file stays mapped, so it may be replaced meanwhile.
class FileLoader final : public DataLoader {
 public:
  [[nodiscard]] etb_status open(const char* path, etb_error* error) noexcept {
    return file_.open(path, error);
  }
  // A part of a file that is open already (an archive, an Android asset); the descriptor is duplicated.
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
