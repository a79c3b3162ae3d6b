// SPDX-License-Identifier: Apache-2.0
// FlatTable: a table of a flatbuffer that TableVerifier verified. Slots are those of the generated classes, such as
// schema::Tensor::VT_SIZES. Their accessors are inlined with the search in the vtable, which needs three times the code; here it
// is a function of its own in programs that are compiled for size.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#if defined(__OPTIMIZE_SIZE__)
#define ETB_FLAT_OUTLINE __attribute__((noinline))
#else
#define ETB_FLAT_OUTLINE
#endif

namespace etb::format {

template <class T>
T read_scalar(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

class TableList;

class FlatTable {
 public:
  explicit FlatTable(const void* table) noexcept : at_(static_cast<const std::byte*>(table)) {}
  // False for a table that the file does not have. Its fields must not be read.
  explicit operator bool() const noexcept { return at_ != nullptr; }
  const void* address() const noexcept { return at_; }

  bool has(uint16_t slot) const noexcept { return find(slot) != nullptr; }
  // A number of 1, 4 or 8 bytes, or an enumerator. All defaults of the schemas are 0.
  template <class T>
  T get(uint16_t slot) const noexcept {
    if constexpr (sizeof(T) == 1) return static_cast<T>(get8(slot));
    if constexpr (sizeof(T) == 4) return static_cast<T>(get32(slot));
    if constexpr (sizeof(T) == 8) return std::bit_cast<T>(get64(slot));
  }
  FlatTable table(uint16_t slot) const noexcept { return FlatTable(follow(slot)); }
  inline TableList tables(uint16_t slot) const noexcept;
  // Length of a vector or text, 0 without one.
  uint32_t count(uint16_t slot) const noexcept { return read_scalar<uint32_t>(vector(slot)); }
  // Elements of a vector of numbers. The verifier of their table checks their alignment.
  template <class T>
  std::span<const T> items(uint16_t slot) const noexcept {
    const std::byte* const begin = vector(slot);
    return {reinterpret_cast<const T*>(begin + sizeof(uint32_t)), read_scalar<uint32_t>(begin)};
  }
  std::string_view text(uint16_t slot) const noexcept {
    const auto characters = items<char>(slot);
    return {characters.data(), characters.size()};
  }

 private:
  // Address of a field, or null for a default.
  ETB_FLAT_OUTLINE const std::byte* find(uint16_t slot) const noexcept {
    const std::byte* const vtable = at_ - read_scalar<int32_t>(at_);
    if (slot >= read_scalar<uint16_t>(vtable)) return nullptr;
    const auto offset = read_scalar<uint16_t>(vtable + slot);
    return offset == 0 ? nullptr : at_ + offset;
  }
  // Address of what an offset names, or null without one.
  ETB_FLAT_OUTLINE const std::byte* follow(uint16_t slot) const noexcept {
    const std::byte* const at = find(slot);
    return at == nullptr ? nullptr : at + read_scalar<uint32_t>(at);
  }
  // The same, or an empty vector.
  ETB_FLAT_OUTLINE const std::byte* vector(uint16_t slot) const noexcept {
    const std::byte* const at = follow(slot);
    return at == nullptr ? kEmptyVector : at;
  }
  ETB_FLAT_OUTLINE uint8_t get8(uint16_t slot) const noexcept {
    const std::byte* const at = find(slot);
    return at == nullptr ? 0 : read_scalar<uint8_t>(at);
  }
  ETB_FLAT_OUTLINE uint32_t get32(uint16_t slot) const noexcept {
    const std::byte* const at = find(slot);
    return at == nullptr ? 0 : read_scalar<uint32_t>(at);
  }
  ETB_FLAT_OUTLINE uint64_t get64(uint16_t slot) const noexcept {
    const std::byte* const at = find(slot);
    return at == nullptr ? 0 : read_scalar<uint64_t>(at);
  }

  alignas(8) static constexpr std::byte kEmptyVector[8] = {};
  const std::byte* at_;
};

// A vector of tables.
class TableList {
 public:
  explicit TableList(const std::byte* vector) noexcept : at_(vector) {}
  uint32_t size() const noexcept { return read_scalar<uint32_t>(at_); }
  ETB_FLAT_OUTLINE FlatTable operator[](uint32_t index) const noexcept {
    const std::byte* const at = at_ + sizeof(uint32_t) * (size_t{index} + 1);
    return FlatTable(at + read_scalar<uint32_t>(at));
  }

 private:
  const std::byte* at_;
};

inline TableList FlatTable::tables(uint16_t slot) const noexcept { return TableList(vector(slot)); }

}  // namespace etb::format
