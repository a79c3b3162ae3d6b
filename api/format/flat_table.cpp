// SPDX-License-Identifier: Apache-2.0
#include "api/format/flat_table.hpp"

namespace etb::format {

namespace {
alignas(8) constexpr std::byte kEmptyVector[8] = {};
}

const std::byte* FlatTable::find(uint16_t slot) const noexcept {
  const std::byte* const vtable = at_ - read_scalar<int32_t>(at_);
  if (slot >= read_scalar<uint16_t>(vtable)) return nullptr;
  const auto offset = read_scalar<uint16_t>(vtable + slot);
  return offset == 0 ? nullptr : at_ + offset;
}

const std::byte* FlatTable::follow(uint16_t slot) const noexcept {
  const std::byte* const at = find(slot);
  return at == nullptr ? nullptr : at + read_scalar<uint32_t>(at);
}

const std::byte* FlatTable::vector(uint16_t slot) const noexcept {
  const std::byte* const at = follow(slot);
  return at == nullptr ? kEmptyVector : at;
}

uint8_t FlatTable::get8(uint16_t slot) const noexcept {
  const std::byte* const at = find(slot);
  return at == nullptr ? 0 : read_scalar<uint8_t>(at);
}

uint32_t FlatTable::get32(uint16_t slot) const noexcept {
  const std::byte* const at = find(slot);
  return at == nullptr ? 0 : read_scalar<uint32_t>(at);
}

uint64_t FlatTable::get64(uint16_t slot) const noexcept {
  const std::byte* const at = find(slot);
  return at == nullptr ? 0 : read_scalar<uint64_t>(at);
}

FlatTable TableList::operator[](uint32_t index) const noexcept {
  const std::byte* const at = at_ + sizeof(uint32_t) * (size_t{index} + 1);
  return FlatTable(at + read_scalar<uint32_t>(at));
}

}  // namespace etb::format
