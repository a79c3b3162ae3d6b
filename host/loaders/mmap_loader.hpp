// MmapLoader: maps a file once; parts of it come into memory when they are first touched.
#pragma once

#include "host/loaders/file_range.hpp"
#include "host/runtime/data_loader.hpp"

namespace etb::host {

// Calls no heap. The file must not become shorter while it is mapped: touching a page that is gone raises SIGBUS, which ends the
// process. FileLoader copies, for processes that outlive changes of their files.
class MmapLoader final : public DataLoader {
 public:
  enum class Lock : uint8_t {
    kNone,
    kTry,     // keep pages in memory where the system's limit allows it
    kRequire  // refuse when it does not
  };

  MmapLoader() noexcept = default;
  MmapLoader(const MmapLoader&) = delete;
  MmapLoader& operator=(const MmapLoader&) = delete;
  ~MmapLoader();

  [[nodiscard]] etb_status open(const char* path, Lock lock, etb_error* error) noexcept;
  [[nodiscard]] etb_status open(int descriptor, uint64_t offset, uint64_t nbytes, Lock lock,
                                etb_error* error) noexcept;

  // All of the file, for as long as this lives.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  etb_status size(uint64_t* out_nbytes, etb_error* error) noexcept override;
  etb_status load(uint64_t offset, uint64_t nbytes, uint64_t alignment, DataBlock* out,
                  etb_error* error) noexcept override;
  etb_status read(uint64_t offset, std::span<std::byte> out, etb_error* error) noexcept override;
  // Pages leave this process's memory; they come back from the file where they are touched.
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
