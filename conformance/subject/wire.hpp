// SPDX-License-Identifier: Apache-2.0
// Numbers, texts and bytes in one buffer, for messages between the judge and the plugin's process. The reader
// does not trust lengths: after the first one that does not fit, all later values are empty and
// is_complete() returns false.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace etb::conformance {

class WireWriter {
 public:
  void number(uint64_t value) { raw(&value, sizeof(value)); }
  void flag(bool value) { number(value ? 1 : 0); }
  void bytes(std::span<const std::byte> data) {
    number(data.size());
    if (!data.empty()) raw(data.data(), data.size());
  }
  void text(std::string_view text) { bytes({reinterpret_cast<const std::byte*>(text.data()), text.size()}); }
  template <class T>
  void numbers(const std::vector<T>& values) {
    number(values.size());
    for (const T value : values) number(static_cast<uint64_t>(value));
  }

  // Reserves memory for `nbytes` more bytes, to avoid many reallocations.
  void reserve(size_t nbytes) { out_.reserve(out_.size() + nbytes); }

  std::vector<std::byte> take() { return std::move(out_); }

 private:
  void raw(const void* data, size_t nbytes) {
    const auto* first = static_cast<const std::byte*>(data);
    out_.insert(out_.end(), first, first + nbytes);
  }

  std::vector<std::byte> out_;
};

class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> data) : data_(data) {}

  // True if every value was present and no bytes follow.
  bool is_complete() const { return is_ok_ && data_.empty(); }

  uint64_t number() {
    uint64_t value = 0;
    const std::span<const std::byte> from = take(sizeof(value));
    if (is_ok_) std::memcpy(&value, from.data(), sizeof(value));
    return value;
  }
  bool flag() { return number() != 0; }
  // Returns the number of items that follow, each of at least `least_bytes`.
  size_t count(size_t least_bytes = sizeof(uint64_t)) {
    const uint64_t value = number();
    if (is_ok_ && value > data_.size() / least_bytes) is_ok_ = false;
    return is_ok_ ? static_cast<size_t>(value) : 0;
  }
  std::vector<std::byte> bytes() {
    const std::span<const std::byte> from = take(count(1));
    return {from.begin(), from.end()};
  }
  std::string text() {
    const std::span<const std::byte> from = take(count(1));
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  template <class T>
  std::vector<T> numbers() {
    std::vector<T> out(count());
    for (T& value : out) value = static_cast<T>(number());
    return out;
  }

 private:
  std::span<const std::byte> take(size_t nbytes) {
    if (!is_ok_ || nbytes > data_.size()) {
      is_ok_ = false;
      return {};
    }
    const std::span<const std::byte> out = data_.first(nbytes);
    data_ = data_.subspan(nbytes);
    return out;
  }

  std::span<const std::byte> data_;
  bool is_ok_ = true;
};

}  // namespace etb::conformance
