// SPDX-License-Identifier: Apache-2.0
// Writes a log as an ETDump, front to back, without a heap: to memory, to a file, or over a wire.
#pragma once

#include "host/profile/profile_log.hpp"

namespace etb::host {

class ByteSink {
 public:
  // False: the bytes could not be written, and nothing more is.
  virtual bool write(std::span<const std::byte> bytes) noexcept = 0;

 protected:
  ByteSink() = default;
  ByteSink(const ByteSink&) = default;
  ByteSink& operator=(const ByteSink&) = default;
  ~ByteSink() = default;
};

// Writes into memory of the caller.
class BufferByteSink final : public ByteSink {
 public:
  explicit BufferByteSink(std::span<std::byte> buffer) noexcept : buffer_(buffer) {}
  bool write(std::span<const std::byte> bytes) noexcept override;
  std::span<const std::byte> written() const noexcept { return buffer_.first(used_); }

 private:
  std::span<std::byte> buffer_;
  size_t used_ = 0;
};

// Bytes of the file.
uint64_t etdump_nbytes(ProfileLog& log) noexcept;

// False: the sink failed.
[[nodiscard]] bool write_etdump(ProfileLog& log, ByteSink& sink) noexcept;

}  // namespace etb::host
