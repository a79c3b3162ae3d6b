// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/argument_staging.hpp"

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

ArgumentStaging::ArgumentStaging(std::span<const std::span<std::byte>> arenas,
                                 std::shared_ptr<StagingMemory> copies, uint32_t input_count,
                                 size_t argument_count, bool runs_alone)
    : arenas_(arenas.begin(), arenas.end()),
      copies_(std::move(copies)),
      requirements_(argument_count),
      input_count_(input_count),
      runs_alone_(runs_alone) {}

Status ArgumentStaging::require(const etb_io_req& req) {
  const bool is_input = (req.role & ETB_ROLE_INPUT) != 0;
  const std::string where = (is_input ? "input " : "output ") + std::to_string(req.index);
  const uint64_t argument = is_input ? req.index : uint64_t{input_count_} + req.index;
  if (argument >= (is_input ? input_count_ : requirements_.size())) {
    return make_error(Code::INVALID_DATA, "query_io names " + where + ", which the delegate does not have");
  }
  const uint64_t alignment = std::max<uint64_t>(req.alignment, 1);
  if (alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0 ||
      req.padding_bytes > kMaxPaddingBytes) {
    return make_error(Code::NOT_SUPPORTED, where + ": alignment " + std::to_string(req.alignment) + " and " +
                                               std::to_string(req.padding_bytes) +
                                               " bytes of padding requested, expected a power of two up to " +
                                               std::to_string(kMaxAlignment) + " and at most " +
                                               std::to_string(kMaxPaddingBytes));
  }
  Requirement& requirement = requirements_[argument];
  requirement.alignment = std::max(requirement.alignment, alignment);
  requirement.padding_bytes = std::max(requirement.padding_bytes, req.padding_bytes);
  return {};
}

// Other tensors of an arena may follow an output. If the plugin writes padding there, save_padding() saves their
// bytes and restore_padding() restores them.
bool ArgumentStaging::is_compatible(uint32_t argument, const void* data,
                                    uint64_t capacity_bytes) const noexcept {
  const Requirement& requirement = requirements_[argument];
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (capacity_bytes < requirement.upper_nbytes || (address & (requirement.alignment - 1)) != 0) return false;
  if (requirement.padding_bytes == 0) return true;
  return (argument < input_count_ || requirement.saves_padding) &&
         std::ranges::any_of(arenas_, [&](std::span<std::byte> arena) {
           const auto begin = reinterpret_cast<uintptr_t>(arena.data());
           return address >= begin && address - begin <= arena.size() &&
                  arena.size() - (address - begin) >= requirement.upper_nbytes + requirement.padding_bytes;
         });
}

// True if no other argument of the call overlaps the padding of an output.
bool ArgumentStaging::is_padding_free(uint32_t argument, std::span<EValue* const> arguments) const {
  const Requirement& requirement = requirements_[argument];
  if (requirement.padding_bytes > kMaxSavedNbytes || !arguments[argument]->is_tensor()) return false;
  const auto* const end =
      static_cast<const std::byte*>(arguments[argument]->tensor().data()) + requirement.upper_nbytes;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i == argument || !arguments[i]->is_tensor()) continue;
    const Tensor& other = arguments[i]->tensor();
    if (overlap(end, requirement.padding_bytes, other.data(), other.capacity_bytes())) return false;
  }
  return true;
}

Status ArgumentStaging::reserve(std::span<EValue* const> arguments, bool may_move) {
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    const EValue& value = *arguments[i];
    Requirement& requirement = requirements_[i];
    requirement.upper_nbytes = value.is_tensor() ? value.tensor().capacity_bytes() : sizeof(int64_t);
    requirement.saves_padding = runs_alone_ && i >= input_count_ && requirement.padding_bytes != 0 &&
                                requirement.upper_nbytes != 0 && is_padding_free(i, arguments);
    ETB_TRY(reserve_argument(i, value, may_move));
    requirement.saves_padding = requirement.saves_padding && requirement.copy == kNone;
    if (requirement.saves_padding) saved_.push_back({i});
  }
  return {};
}

Status ArgumentStaging::reserve_argument(uint32_t argument, const EValue& value, bool may_move) {
  Requirement& requirement = requirements_[argument];
  const Tensor* const tensor = value.is_tensor() ? &value.tensor() : nullptr;
  const bool is_fixed = tensor != nullptr && tensor->data() != nullptr && !may_move;
  const bool has_one_size = tensor == nullptr || tensor->dynamism() == Dynamism::kStatic;
  const bool is_unconstrained = requirement.alignment == 1 && requirement.padding_bytes == 0;
  if (requirement.upper_nbytes == 0 || (is_unconstrained && (is_fixed || has_one_size))) return {};
  if (is_fixed && is_compatible(argument, tensor->data(), requirement.upper_nbytes)) return {};
  if (Status status = copies_->reserve(copy_count_, requirement.upper_nbytes + requirement.padding_bytes,
                                       requirement.alignment);
      !status) {
    return tl::make_unexpected(
        with_context(std::move(status).error(), "argument " + std::to_string(argument)));
  }
  requirement.copy = copy_count_++;
  return {};
}

ArgumentStaging::StagedArgument ArgumentStaging::stage(uint32_t argument, void* data, uint64_t nbytes,
                                                       uint64_t capacity_bytes) noexcept {
  const Requirement& requirement = requirements_[argument];
  if (is_compatible(argument, data, capacity_bytes))
    return {data, capacity_bytes + requirement.padding_bytes};
  if (requirement.upper_nbytes == 0) return {data, capacity_bytes};
  if (requirement.copy == kNone || nbytes > requirement.upper_nbytes) return {nullptr, 0};
  std::byte* const copy = copies_->block(requirement.copy);
  // Outputs are not copied: their present size is from the last run and does not apply to this one.
  if (argument < input_count_ && nbytes != 0) std::memcpy(copy, data, static_cast<size_t>(nbytes));
  std::memset(copy + requirement.upper_nbytes, 0, static_cast<size_t>(requirement.padding_bytes));
  return {copy, requirement.upper_nbytes + requirement.padding_bytes};
}

bool ArgumentStaging::save_padding(std::span<const etb_tensor> staged) noexcept {
  for (SavedPadding& saved : saved_) {
    const Requirement& requirement = requirements_[saved.argument];
    auto* const data = static_cast<std::byte*>(staged[saved.argument].data);
    saved.address = nullptr;
    if (data == nullptr) continue;
    for (uint32_t i = 0; i < staged.size(); ++i) {
      // The padding is part of the staged capacity. Readable padding may overlap any other argument.
      const uint64_t nbytes =
          staged[i].capacity_bytes - std::min(requirements_[i].padding_bytes, staged[i].capacity_bytes);
      if (i != saved.argument &&
          overlap(data + requirement.upper_nbytes, requirement.padding_bytes, staged[i].data, nbytes)) {
        restore_padding();
        return false;
      }
    }
    saved.address = data + requirement.upper_nbytes;
    std::memcpy(saved.bytes.data(), saved.address, static_cast<size_t>(requirement.padding_bytes));
  }
  return true;
}

void ArgumentStaging::restore_padding() noexcept {
  for (SavedPadding& saved : saved_) {
    if (saved.address == nullptr) continue;
    // Compares first: most plugins only read there, and then memory of others is not written.
    const auto nbytes = static_cast<size_t>(requirements_[saved.argument].padding_bytes);
    if (std::memcmp(saved.address, saved.bytes.data(), nbytes) != 0)
      std::memcpy(saved.address, saved.bytes.data(), nbytes);
    saved.address = nullptr;
  }
}

}  // namespace etb::host
