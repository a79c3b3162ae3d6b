#include "host/delegates/argument_memory.hpp"

#include <algorithm>
#include <cstring>

namespace etb::host {

namespace {

constexpr uint64_t kMaxAlignment = 4096;
constexpr uint64_t kMaxPaddingBytes = uint64_t{1} << 20;

}  // namespace

ArgumentMemory::ArgumentMemory(std::span<const std::span<std::byte>> arenas, uint32_t input_count,
                               size_t argument_count)
    : arenas_(arenas.begin(), arenas.end()), needs_(argument_count), input_count_(input_count) {}

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

// What lies behind an output in an arena belongs to others, so padding that is written has no place there.
bool ArgumentMemory::lies_well(uint32_t argument, const void* data, uint64_t capacity_bytes) const noexcept {
  const Need& need = needs_[argument];
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (capacity_bytes < need.upper_nbytes || (address & (need.alignment - 1)) != 0) return false;
  if (need.padding_bytes == 0) return true;
  return argument < input_count_ && std::ranges::any_of(arenas_, [&](std::span<std::byte> arena) {
           const auto begin = reinterpret_cast<uintptr_t>(arena.data());
           return address >= begin && address - begin <= arena.size() &&
                  arena.size() - (address - begin) >= need.upper_nbytes + need.padding_bytes;
         });
}

Status ArgumentMemory::reserve(uint32_t argument, const EValue& value, bool may_move) {
  Need& need = needs_[argument];
  const Tensor* const tensor = value.is_tensor() ? &value.tensor() : nullptr;
  need.upper_nbytes = tensor != nullptr ? tensor->capacity_bytes() : sizeof(int64_t);
  const bool stays = tensor != nullptr && tensor->data() != nullptr && !may_move;
  const bool has_one_size = tensor == nullptr || tensor->dynamism() == Dynamism::kStatic;
  const bool takes_any = need.alignment == 1 && need.padding_bytes == 0;
  if (need.upper_nbytes == 0 || (takes_any && (stays || has_one_size))) return {};
  if (stays && lies_well(argument, tensor->data(), need.upper_nbytes)) return {};
  const std::align_val_t alignment{need.alignment};
  auto* const memory = static_cast<std::byte*>(
      ::operator new(static_cast<size_t>(need.upper_nbytes + need.padding_bytes), alignment, std::nothrow));
  if (memory == nullptr) {
    return make_error(Code::OUT_OF_MEMORY, std::to_string(need.upper_nbytes) +
                                               " bytes for a copy of argument " + std::to_string(argument));
  }
  need.own = std::unique_ptr<std::byte, AlignedFree>(memory, {alignment});
  std::memset(memory + need.upper_nbytes, 0, static_cast<size_t>(need.padding_bytes));
  return {};
}

ArgumentMemory::Lent ArgumentMemory::lend(uint32_t argument, void* data, uint64_t nbytes,
                                          uint64_t capacity_bytes) noexcept {
  const Need& need = needs_[argument];
  if (lies_well(argument, data, capacity_bytes)) return {data, capacity_bytes + need.padding_bytes};
  if (need.upper_nbytes == 0) return {data, capacity_bytes};
  if (need.own == nullptr || nbytes > need.upper_nbytes) return {nullptr, 0};
  // An output's present size is that of the last run, and says nothing of this one.
  if (argument < input_count_ && nbytes != 0) std::memcpy(need.own.get(), data, static_cast<size_t>(nbytes));
  return {need.own.get(), need.upper_nbytes + need.padding_bytes};
}

}  // namespace etb::host
