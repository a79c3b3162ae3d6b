// SPDX-License-Identifier: Apache-2.0
#include "host/bridge/call_arguments.hpp"

#include <algorithm>
#include <new>

#include "etb/cpp/fail.hpp"

namespace etb::host {
namespace {

etb_status check_dim_order(const ForeignTensor& from, uint32_t argument, etb_error* error) noexcept {
  uint32_t seen = 0;
  for (const uint8_t dim : from.dim_order) seen |= dim < from.sizes.size() ? 1u << dim : 0;
  if (from.dim_order.empty() ||
      (from.dim_order.size() == from.sizes.size() && seen == (1u << from.sizes.size()) - 1))
    return ETB_OK;
  return fail(error, ETB_INVALID_ARGUMENT,
              "delegate argument %u: a dim order that is no order of its %zu dimensions", argument,
              from.sizes.size());
}

etb_status check_tensor(const ForeignTensor& from, uint32_t argument, etb_error* error) noexcept {
  if (!from.is_in_host_memory)
    return fail(error, ETB_NOT_SUPPORTED, "delegate argument %u: memory of a device, expected host memory",
                argument);
  if (from.sizes.size() > kMaxRank)
    return fail(error, ETB_NOT_SUPPORTED, "delegate argument %u: rank %zu, expected at most %d", argument,
                from.sizes.size(), kMaxRank);
  if (from.dtype < 0 || from.dtype >= kDtypeCount || !is_abi_dtype(static_cast<Dtype>(from.dtype)))
    return fail(error, ETB_NOT_SUPPORTED,
                "delegate argument %u: dtype %d of the run time, which the C ABI lacks", argument,
                from.dtype);
  return check_dim_order(from, argument, error);
}

// Writes the bytes of the elements. Returns false if the sizes are impossible.
bool count_nbytes(std::span<const int64_t> sizes, Dtype dtype, uint64_t* out_nbytes) noexcept {
  int64_t numel = 0;
  return count_elements(sizes, &numel) &&
         !__builtin_mul_overflow(static_cast<uint64_t>(numel), element_nbytes(dtype), out_nbytes);
}

}  // namespace

etb_status CallArguments::read(std::span<const ForeignValue> values, etb_error* error) noexcept {
  has_new_bounds_ = false;
  if (slots_.empty() && !values.empty()) {
    try {
      slots_.resize(values.size());
      pointers_.resize(values.size());
    } catch (const std::bad_alloc&) {
      slots_.clear();
      return fail(error, ETB_OUT_OF_MEMORY, "delegate call with %zu arguments: no memory", values.size());
    }
    for (size_t i = 0; i < values.size(); ++i) pointers_[i] = &slots_[i].value;
    has_new_bounds_ = true;
  }
  if (values.size() != slots_.size())
    return fail(error, ETB_INVALID_PROGRAM, "delegate call with %zu arguments, %zu in its first call",
                values.size(), slots_.size());
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (const auto* tensor = std::get_if<ForeignTensor>(&values[i])) {
      ETB_CHECK(read_tensor(*tensor, i, error));
    } else if (const auto* number = std::get_if<int64_t>(&values[i])) {
      slots_[i].value = EValue(*number);
    } else {
      return fail(error, ETB_INVALID_TYPE, "delegate argument %u: %s, expected a tensor or an integer", i,
                  std::get<ForeignOther>(values[i]).kind);
    }
  }
  return ETB_OK;
}

// A runtime shows the present sizes of a tensor, not their bound. The bound of an input is learnt: the largest of
// each size so far. Outputs have their bound when the method is new; later they have the sizes of the last run,
// which the plugin must not see as a bound.
etb_status CallArguments::read_tensor(const ForeignTensor& from, uint32_t argument,
                                      etb_error* error) noexcept {
  Slot& slot = slots_[argument];
  const auto dtype = static_cast<Dtype>(from.dtype);
  const size_t rank = from.sizes.size();
  const bool is_known = slot.value.is_tensor() && slot.tensor.dtype() == dtype &&
                        static_cast<size_t>(slot.tensor.rank()) == rank;
  if (is_known && !from.is_resizable && std::ranges::equal(from.sizes, slot.tensor.sizes()) &&
      (from.dim_order.empty() || std::ranges::equal(from.dim_order, slot.tensor.dim_order()))) {
    slot.tensor.set_data(from.data, slot.tensor.capacity_bytes());
    return ETB_OK;
  }
  ETB_CHECK(check_tensor(from, argument, error));
  if (!is_known) slot.bound = {};
  Sizes sizes{};
  std::copy(from.sizes.begin(), from.sizes.end(), sizes.begin());
  uint64_t nbytes = 0;
  if (!count_nbytes({sizes.data(), rank}, dtype, &nbytes))
    return fail(error, ETB_INVALID_ARGUMENT, "delegate argument %u: sizes that no memory can have", argument);
  const bool is_input = argument < input_count_;
  if (!is_known || (is_input ? !std::equal(sizes.begin(), sizes.begin() + rank, slot.bound.begin(),
                                           [](int64_t size, int64_t bound) { return size <= bound; })
                             : nbytes > slot.bound_nbytes)) {
    for (size_t i = 0; i < rank; ++i) slot.bound[i] = is_input ? std::max(slot.bound[i], sizes[i]) : sizes[i];
    if (!count_nbytes({slot.bound.data(), rank}, dtype, &slot.bound_nbytes))
      return fail(error, ETB_OUT_OF_RESOURCES,
                  "delegate argument %u: the largest of each of its sizes together overflow", argument);
    has_new_bounds_ = true;
  }
  const bool shows_bound = !is_input && from.is_resizable;
  slot.tensor = slot.storage.make(dtype, {shows_bound ? slot.bound.data() : sizes.data(), rank}, from.data,
                                  shows_bound ? slot.bound_nbytes : nbytes, from.dim_order,
                                  from.is_resizable ? Dynamism::kBounded : Dynamism::kStatic);
  slot.value = EValue(&slot.tensor);
  return ETB_OK;
}

Status CallArguments::at_bounds(const std::function<Status(std::span<EValue* const>)>& prepare) {
  std::vector<Sizes> sizes(slots_.size());
  const auto remake = [&](size_t i, const Sizes& wanted, uint64_t capacity_bytes) {
    Slot& slot = slots_[i];
    const Tensor old = slot.tensor;
    std::array<uint8_t, kMaxRank> dim_order{};
    std::ranges::copy(old.dim_order(), dim_order.begin());
    const auto rank = static_cast<size_t>(old.rank());
    slot.tensor = slot.storage.make(old.dtype(), {wanted.data(), rank}, old.data(), capacity_bytes,
                                    {dim_order.data(), rank}, Dynamism::kBounded);
  };
  const auto is_at_bound = [&](size_t i) {
    return i >= input_count_ || !slots_[i].value.is_tensor() ||
           slots_[i].tensor.dynamism() != Dynamism::kBounded;
  };
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (is_at_bound(i)) continue;
    std::ranges::copy(slots_[i].tensor.sizes(), sizes[i].begin());
    remake(i, slots_[i].bound, slots_[i].bound_nbytes);
  }
  Status status = prepare(pointers_);
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (is_at_bound(i)) continue;
    uint64_t nbytes = 0;
    const auto rank = static_cast<size_t>(slots_[i].tensor.rank());
    count_nbytes({sizes[i].data(), rank}, slots_[i].tensor.dtype(),
                 &nbytes);  // was possible when it was read
    remake(i, sizes[i], nbytes);
  }
  return status;
}

}  // namespace etb::host
