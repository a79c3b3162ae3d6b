// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/argument_memory.hpp"

#include <algorithm>
#include <cstring>

namespace etb::host {

namespace {

constexpr uint64_t kMaxAlignment = 4096;
constexpr uint64_t kMaxPaddingBytes = uint64_t{1} << 20;

bool overlap(const void* a, uint64_t a_nbytes, const void* b, uint64_t b_nbytes) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return x <= y ? y - x < a_nbytes && b_nbytes != 0 : x - y < b_nbytes && a_nbytes != 0;
}

}  // namespace

ArgumentMemory::ArgumentMemory(std::span<const std::span<std::byte>> arenas,
                               std::shared_ptr<CopyMemory> copies, uint32_t input_count,
                               size_t argument_count)
    : arenas_(arenas.begin(), arenas.end()),
      copies_(std::move(copies)),
      needs_(argument_count),
      input_count_(input_count) {}

Status ArgumentMemory::require(const etb_io_req& req) {
  const bool is_input = (req.role & ETB_ROLE_INPUT) != 0;
  const std::string where = (is_input ? "input " : "output ") + std::to_string(req.index);
  const uint64_t argument = is_input ? req.index : uint64_t{input_count_} + req.index;
  if (argument >= (is_input ? input_count_ : needs_.size())) {
    return make_error(Code::INVALID_DATA,
                      "query_io tells of " + where + ", which the delegate does not have");
  }
  const uint64_t alignment = std::max<uint64_t>(req.alignment, 1);
  if (alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0 ||
      req.padding_bytes > kMaxPaddingBytes) {
    return make_error(Code::NOT_SUPPORTED, where + ": alignment " + std::to_string(req.alignment) + " and " +
                                               std::to_string(req.padding_bytes) +
                                               " bytes of padding wanted, expected a power of two up to " +
                                               std::to_string(kMaxAlignment) + " and at most " +
                                               std::to_string(kMaxPaddingBytes));
  }
  Need& need = needs_[argument];
  need.alignment = std::max(need.alignment, alignment);
  need.padding_bytes = std::max(need.padding_bytes, req.padding_bytes);
  return {};
}

// An arena has other tensors after an output. Where the plugin writes padding there, the
// bytes are saved and restored.
bool ArgumentMemory::lies_well(uint32_t argument, const void* data, uint64_t capacity_bytes) const noexcept {
  const Need& need = needs_[argument];
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (capacity_bytes < need.upper_nbytes || (address & (need.alignment - 1)) != 0) return false;
  if (need.padding_bytes == 0) return true;
  return (argument < input_count_ || need.keeps) &&
         std::ranges::any_of(arenas_, [&](std::span<std::byte> arena) {
           const auto begin = reinterpret_cast<uintptr_t>(arena.data());
           return address >= begin && address - begin <= arena.size() &&
                  arena.size() - (address - begin) >= need.upper_nbytes + need.padding_bytes;
         });
}

// True if no other argument of the call overlaps the padding of an output.
bool ArgumentMemory::is_free_behind(uint32_t argument, std::span<EValue* const> arguments) const {
  const Need& need = needs_[argument];
  if (need.padding_bytes > kMaxKeptNbytes || !arguments[argument]->is_tensor()) return false;
  const auto* const end =
      static_cast<const std::byte*>(arguments[argument]->tensor().data()) + need.upper_nbytes;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i == argument || !arguments[i]->is_tensor()) continue;
    const Tensor& other = arguments[i]->tensor();
    if (overlap(end, need.padding_bytes, other.data(), other.capacity_bytes())) return false;
  }
  return true;
}

Status ArgumentMemory::reserve(std::span<EValue* const> arguments, bool may_move) {
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    const EValue& value = *arguments[i];
    Need& need = needs_[i];
    need.upper_nbytes = value.is_tensor() ? value.tensor().capacity_bytes() : sizeof(int64_t);
    need.keeps = i >= input_count_ && need.padding_bytes != 0 && need.upper_nbytes != 0 &&
                 is_free_behind(i, arguments);
    ETB_TRY(reserve_one(i, value, may_move));
    need.keeps = need.keeps && need.copy == kNone;
    if (need.keeps) kept_.push_back({i});
  }
  return {};
}

Status ArgumentMemory::reserve_one(uint32_t argument, const EValue& value, bool may_move) {
  Need& need = needs_[argument];
  const Tensor* const tensor = value.is_tensor() ? &value.tensor() : nullptr;
  const bool stays = tensor != nullptr && tensor->data() != nullptr && !may_move;
  const bool has_one_size = tensor == nullptr || tensor->dynamism() == Dynamism::kStatic;
  const bool takes_any = need.alignment == 1 && need.padding_bytes == 0;
  if (need.upper_nbytes == 0 || (takes_any && (stays || has_one_size))) return {};
  if (stays && lies_well(argument, tensor->data(), need.upper_nbytes)) return {};
  if (Status status = copies_->reserve(copy_count_, need.upper_nbytes + need.padding_bytes, need.alignment);
      !status) {
    return tl::make_unexpected(
        with_context(std::move(status).error(), "argument " + std::to_string(argument)));
  }
  need.copy = copy_count_++;
  return {};
}

ArgumentMemory::Lent ArgumentMemory::lend(uint32_t argument, void* data, uint64_t nbytes,
                                          uint64_t capacity_bytes) noexcept {
  const Need& need = needs_[argument];
  if (lies_well(argument, data, capacity_bytes)) return {data, capacity_bytes + need.padding_bytes};
  if (need.upper_nbytes == 0) return {data, capacity_bytes};
  if (need.copy == kNone || nbytes > need.upper_nbytes) return {nullptr, 0};
  std::byte* const copy = copies_->block(need.copy);
  // Outputs are not copied: their present size is from the last run and does not apply to this one.
  if (argument < input_count_ && nbytes != 0) std::memcpy(copy, data, static_cast<size_t>(nbytes));
  std::memset(copy + need.upper_nbytes, 0, static_cast<size_t>(need.padding_bytes));
  return {copy, need.upper_nbytes + need.padding_bytes};
}

bool ArgumentMemory::keep_what_is_behind(std::span<const etb_tensor> lent) noexcept {
  for (Kept& kept : kept_) {
    const Need& need = needs_[kept.argument];
    auto* const data = static_cast<std::byte*>(lent[kept.argument].data);
    kept.place = nullptr;
    if (data == nullptr) continue;
    for (uint32_t i = 0; i < lent.size(); ++i) {
      // The padding is part of the lent capacity. Readable padding may overlap any other argument.
      const uint64_t nbytes =
          lent[i].capacity_bytes - std::min(needs_[i].padding_bytes, lent[i].capacity_bytes);
      if (i != kept.argument && overlap(data + need.upper_nbytes, need.padding_bytes, lent[i].data, nbytes)) {
        put_back();
        return false;
      }
    }
    kept.place = data + need.upper_nbytes;
    std::memcpy(kept.bytes.data(), kept.place, static_cast<size_t>(need.padding_bytes));
  }
  return true;
}

void ArgumentMemory::put_back() noexcept {
  for (Kept& kept : kept_) {
    if (kept.place == nullptr) continue;
    // Compares first: most plugins only read there, and then memory of others is not written.
    const auto nbytes = static_cast<size_t>(needs_[kept.argument].padding_bytes);
    if (std::memcmp(kept.place, kept.bytes.data(), nbytes) != 0)
      std::memcpy(kept.place, kept.bytes.data(), nbytes);
    kept.place = nullptr;
  }
}

}  // namespace etb::host
