// SPDX-License-Identifier: Apache-2.0
// DataLoader: reads the bytes of a program or data file. host/loaders has ready ones; an application derives
// its own (a ROM, an archive).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "etb/status.h"

namespace etb::host {

// Bytes from a loader, released on destruction.
class DataBlock {
 public:
  using Release = void (*)(void* owner, const std::byte* data, uint64_t nbytes);

  DataBlock() noexcept = default;
  // A null `release` means that there is nothing to release.
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

// Reads a file as bytes. Several threads may call it at the same time. Outlives every block that it returns.
class DataLoader {
 public:
  virtual etb_status size(uint64_t* out_nbytes, etb_error* error) noexcept = 0;

  // Loads bytes [offset, offset + nbytes). They start on a multiple of `alignment` (a power of
  // two) if `offset` is one.
  virtual etb_status load(uint64_t offset, uint64_t nbytes, uint64_t alignment, DataBlock* out,
                          etb_error* error) noexcept = 0;

  // Copies the same bytes into the caller's memory.
  virtual etb_status read(uint64_t offset, std::span<std::byte> out, etb_error* error) noexcept = 0;

  // Called when a method is loaded: most pages read until then are not needed soon and may be
  // released. Blocks stay valid.
  virtual void rest() noexcept {}

 protected:
  DataLoader() noexcept = default;
  DataLoader(const DataLoader&) = default;
  DataLoader& operator=(const DataLoader&) = default;
  ~DataLoader() = default;  // never deleted through this type: the core uses no heap
};

}  // namespace etb::host
