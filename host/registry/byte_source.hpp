// SPDX-License-Identifier: Apache-2.0
// ByteSource: bytes that are read piece by piece, from a file of any size or from memory in tests. The file
// is read, not mapped: a mapped file that another process truncates ends this process.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "etb/cpp/result.hpp"

namespace etb::host {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t nbytes() const = 0;

  // Fills `out` from `offset`. Fails when the source ends before.
  [[nodiscard]] Status read(uint64_t offset, std::span<uint8_t> out) const {
    if (offset > nbytes() || out.size() > nbytes() - offset)
      return make_error(Code::INVALID_DATA, "truncated: bytes " + std::to_string(offset) + " to " +
                                                std::to_string(offset + out.size()) + " of a file of " +
                                                std::to_string(nbytes()));
    return read_within(offset, out);
  }

  template <class T>
  [[nodiscard]] Result<T> read_struct(uint64_t offset) const {
    T value;
    ETB_TRY(read(offset, {reinterpret_cast<uint8_t*>(&value), sizeof(value)}));
    return value;
  }

 private:
  virtual Status read_within(uint64_t offset, std::span<uint8_t> out) const = 0;
};

class MemoryBytes final : public ByteSource {
 public:
  explicit MemoryBytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint64_t nbytes() const override { return bytes_.size(); }

 private:
  Status read_within(uint64_t offset, std::span<uint8_t> out) const override {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

  std::span<const uint8_t> bytes_;
};

}  // namespace etb::host
