// SPDX-License-Identifier: Apache-2.0
//
// Payload bytes in and out: a writer, and a reader that never reads past the end. Little-endian, unaligned,
// no padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb {

inline std::span<const std::byte> to_span(const etb_bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data), static_cast<size_t>(bytes.nbytes)};
}

// Appends numbers and bytes.
class ByteWriter {
 public:
  template <class T>
  ByteWriter& write(T value) {
    static_assert(std::is_integral_v<T> || std::is_floating_point_v<T>);
    std::byte raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    return write_bytes(raw);
  }
  ByteWriter& write_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads numbers and bytes from the front. After a read past the end every later read returns zeros, and
// finish() an error, so a parser may check once at its end. Check a count with fits() before it decides how
// much memory to allocate.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes), nbytes_(bytes.size()) {}

  template <class T>
  T read() {
    static_assert(std::is_integral_v<T> || std::is_floating_point_v<T>);
    T value{};
    const std::span<const std::byte> raw = read_bytes(sizeof(T));
    if (raw.size() == sizeof(T)) std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> read_bytes(uint64_t nbytes) {
    if (!fits(nbytes, 1)) {
      failed_at_ = position();
      failed_ = true;
      rest_ = {};
    }
    if (failed_) return {};
    const std::span<const std::byte> bytes = rest_.first(static_cast<size_t>(nbytes));
    rest_ = rest_.subspan(static_cast<size_t>(nbytes));
    return bytes;
  }

  // True if count items of item_nbytes each are left.
  bool fits(uint64_t count, uint64_t item_nbytes) const {
    return !failed_ && (item_nbytes == 0 || count <= rest_.size() / item_nbytes);
  }
  uint64_t position() const { return failed_ ? failed_at_ : nbytes_ - rest_.size(); }

  // Returns ETB_INVALID_DATA unless every read succeeded and no byte is left.
  Status finish() const {
    if (failed_)
      return make_error(Code::INVALID_DATA, "ends at byte " + std::to_string(nbytes_) +
                                                ", expected more after byte " + std::to_string(failed_at_));
    if (!rest_.empty())
      return make_error(Code::INVALID_DATA, std::to_string(nbytes_) + " bytes, expected the end at byte " +
                                                std::to_string(position()));
    return {};
  }

 private:
  std::span<const std::byte> rest_;
  uint64_t nbytes_;
  uint64_t failed_at_ = 0;
  bool failed_ = false;
};

}  // namespace etb
