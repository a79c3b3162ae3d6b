// SPDX-License-Identifier: Apache-2.0
// MmapLoader: maps a file once. The system reads its pages at first use.
#pragma once

#include "host/loaders/file_range.hpp"
#include "host/runtime/data_loader.hpp"

namespace etb::host {

// A mapped file, open as long as its loader lives.
struct FileMapping {
  std::span<const std::byte> bytes;
  int descriptor = -1;  // -1: none
  uint64_t offset = 0;  // of the first byte
};

// Does not use the heap. The file must not be truncated while it is mapped: access to a missing
// page raises SIGBUS, which ends the process. FileLoader copies, for processes that run longer than
// their files stay unchanged.
class MmapLoader final : public DataLoader {
 public:
  enum class Lock : uint8_t {
    kNone,
    kTry,     // locks pages in memory if the system's limit allows it
    kRequire  // fails when it does not
  };

  MmapLoader() noexcept = default;
  MmapLoader(const MmapLoader&) = delete;
  MmapLoader& operator=(const MmapLoader&) = delete;
  ~MmapLoader();

  [[nodiscard]] etb_status open(const char* path, Lock lock, etb_error* error) noexcept;
  [[nodiscard]] etb_status open(int descriptor, uint64_t offset, uint64_t nbytes, Lock lock,
                                etb_error* error) noexcept;

  // All bytes of the file, valid during the loader's life.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  FileMapping file() const noexcept { return {bytes_, file_.get(), file_.offset()}; }

  etb_status size(uint64_t* out_nbytes, etb_error* error) noexcept override;
  etb_status load(uint64_t offset, uint64_t nbytes, uint64_t alignment, DataBlock* out,
                  etb_error* error) noexcept override;
  etb_status read(uint64_t offset, std::span<std::byte> out, etb_error* error) noexcept override;
  // Drops the pages from this process's memory. The next access reads them from the file.
  void rest() noexcept override;

 private:
  etb_status map(Lock lock, etb_error* error) noexcept;

  FileRange file_;
  std::byte* mapping_ = nullptr;
  size_t mapping_nbytes_ = 0;
  bool is_locked_ = false;
  std::span<const std::byte> bytes_;
};

}  // namespace etb::host
