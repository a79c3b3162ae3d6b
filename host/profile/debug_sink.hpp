// SPDX-License-Identifier: Apache-2.0
// DebugSink: takes the elements of recorded tensors, the debug buffer of an ETDump.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace etb::host {

class DebugSink {
 public:
  // Stores the bytes and returns their offset, a multiple of 64; -1: they do not fit, or could not be written. Bytes after
  // a multiple of 64 bytes follow them without a gap.
  virtual int64_t write(std::span<const std::byte> bytes) noexcept = 0;

 protected:
  DebugSink() = default;
  DebugSink(const DebugSink&) = default;
  DebugSink& operator=(const DebugSink&) = default;
  ~DebugSink() = default;
};

// Stores into memory of the caller.
class BufferDebugSink final : public DebugSink {
 public:
  explicit BufferDebugSink(std::span<std::byte> buffer) noexcept : buffer_(buffer) {}
  int64_t write(std::span<const std::byte> bytes) noexcept override;
  std::span<const std::byte> written() const noexcept { return buffer_.first(used_); }
  void clear() noexcept { used_ = 0; }

 private:
  std::span<std::byte> buffer_;
  size_t used_ = 0;
};

}  // namespace etb::host
