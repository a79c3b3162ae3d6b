// DataLoader: how the bytes of a program or data file come into memory. Ready ones are in host/loaders; an application
// writes its own (a ROM, an archive) by deriving.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "etb/status.h"

namespace etb::host {

// Bytes that a loader made available, given back on destruction.
class DataBlock {
 public:
  using Release = void (*)(void* owner, const std::byte* data, uint64_t nbytes);

  DataBlock() noexcept = default;
  // A null `release` means there is nothing to give back.
  DataBlock(std::span<const std::byte> bytes, Release release = nullptr, void* owner = nullptr) noexcept
      : bytes_(bytes), release_(release), owner_(owner) {}
  DataBlock(DataBlock&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})),
        release_(std::exchange(other.release_, nullptr)),
        owner_(other.owner_) {}
  DataBlock& operator=(DataBlock&& other) noexcept {
    if (this != &other) {
      reset();
      bytes_ = std::exchange(other.bytes_, {});
      release_ = std::exchange(other.release_, nullptr);
      owner_ = other.owner_;
    }
    return *this;
  }
  ~DataBlock() { reset(); }

  void reset() noexcept {
    if (release_ != nullptr) release_(owner_, bytes_.data(), bytes_.size());
    release_ = nullptr;
    bytes_ = {};
  }

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
  Release release_ = nullptr;
  void* owner_ = nullptr;
};

// A file, seen as bytes. Calls may come from several threads. Outlives every block it gave.
class DataLoader {
 public:
  virtual etb_status size(uint64_t* out_nbytes, etb_error* error) noexcept = 0;

  // Bytes [offset, offset + nbytes), starting on a multiple of `alignment` (a power of two) whenever offset is one.
  virtual etb_status load(uint64_t offset, uint64_t nbytes, uint64_t alignment, DataBlock* out,
                          etb_error* error) noexcept = 0;

  // The same bytes copied into the caller's memory.
  virtual etb_status read(uint64_t offset, std::span<std::byte> out, etb_error* error) noexcept = 0;

  // Called when a method is ready: most of what was looked at to get there will not be needed soon. Blocks stay valid.
  virtual void rest() noexcept {}

 protected:
  DataLoader() noexcept = default;
  DataLoader(const DataLoader&) = default;
  DataLoader& operator=(const DataLoader&) = default;
  ~DataLoader() = default;  // never deleted through this type: the core knows no heap
};

}  // namespace etb::host
