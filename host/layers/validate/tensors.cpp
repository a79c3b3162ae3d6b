// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/tensors.hpp"

#include <algorithm>

#include "etb/cpp/tensor.hpp"

namespace etb::host::validate {
namespace {

// Bytes of the tensor with these sizes, strides included. UINT64_MAX when the number does not fit.
uint64_t extent_nbytes(const etb_tensor& tensor, const int64_t* sizes) {
  __extension__ typedef unsigned __int128 wide;
  wide elements = 1;
  if (tensor.strides != nullptr) {
    for (uint32_t i = 0; i < tensor.rank; ++i) {
      if (sizes[i] == 0) return 0;
      elements +=
          static_cast<wide>(sizes[i] - 1) * static_cast<uint64_t>(std::max<int64_t>(tensor.strides[i], 0));
    }
  } else {
    for (uint32_t i = 0; i < tensor.rank; ++i) {
      elements *= static_cast<uint64_t>(sizes[i]);
      if (elements > UINT64_MAX) return elements == 0 ? 0 : UINT64_MAX;
    }
  }
  const wide nbytes = (elements * dtype_bits(tensor.dtype) + 7) / 8;
  return nbytes > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(nbytes);
}

bool check_sizes(Call& call, const etb_tensor& tensor, const std::string& where) {
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    const int64_t upper = tensor.upper_sizes != nullptr ? tensor.upper_sizes[i] : tensor.sizes[i];
    if (tensor.sizes[i] >= 0 && tensor.sizes[i] <= upper) continue;
    call.host("ABI-TENSOR-02", ETB_INVALID_ARGUMENT, "{}.sizes[{}] is {}, its upper bound {}", where, i,
              tensor.sizes[i], upper);
    return false;
  }
  return true;
}

void check_dim_order(Call& call, const etb_tensor& tensor, const std::string& where) {
  uint32_t seen = 0;
  for (uint32_t i = 0; tensor.dim_order != nullptr && i < tensor.rank; ++i)
    seen |= 1u << (tensor.dim_order[i] % 32);
  if (tensor.dim_order != nullptr && seen != (1u << tensor.rank) - 1)
    call.host("ABI-TYPE-03", ETB_INVALID_ARGUMENT, "{}.dim_order does not name every dimension once", where);
}

void check_memory(Call& call, const etb_tensor& tensor, const IoNeed* need, const std::string& where) {
  const uint64_t nbytes =
      extent_nbytes(tensor, tensor.upper_sizes != nullptr ? tensor.upper_sizes : tensor.sizes);
  if (tensor.data == nullptr && nbytes != 0)
    return call.fatal("ABI-CALL-04", ETB_INVALID_ARGUMENT, "{}.data is NULL, {} bytes expected", where,
                      nbytes);
  const uint64_t padding = need != nullptr && nbytes != 0 ? need->padding_bytes : 0;
  if (tensor.capacity_bytes < nbytes || tensor.capacity_bytes - nbytes < padding)
    call.host("ABI-TENSOR-02", ETB_INVALID_ARGUMENT,
              "{}.capacity_bytes is {}, {} of the upper bound and {} of padding expected", where,
              tensor.capacity_bytes, nbytes, padding);
  if (need != nullptr && reinterpret_cast<uintptr_t>(tensor.data) % need->alignment != 0)
    call.host("ABI-EXEC-04", ETB_INVALID_ARGUMENT, "{}.data is not aligned to {} as query_io asked", where,
              need->alignment);
}

}  // namespace

bool check_tensor(Call& call, const etb_tensor& tensor, const IoNeed* need, const std::string& where) {
  constexpr uint32_t kRoles = ETB_ROLE_INPUT | ETB_ROLE_OUTPUT;
  if (!is_dtype(tensor.dtype))
    call.host("ABI-TYPE-03", ETB_INVALID_ARGUMENT, "{}.dtype is {}, expected a code of dtype.def", where,
              tensor.dtype);
  if ((tensor.role & ~kRoles) != 0)
    call.host("ABI-TYPE-03", ETB_INVALID_ARGUMENT, "{}.role is {:#x}, expected ETB_ROLE_* bits", where,
              tensor.role);
  if (tensor.rank > ETB_MAX_RANK) {
    call.fatal("ABI-TYPE-03", ETB_INVALID_ARGUMENT, "{}.rank is {}, expected at most 16", where, tensor.rank);
    return false;
  }
  if (tensor.rank != 0 && tensor.sizes == nullptr) {
    call.fatal("ABI-CALL-04", ETB_INVALID_ARGUMENT, "{}.sizes is NULL, its rank {}", where, tensor.rank);
    return false;
  }
  check_dim_order(call, tensor, where);
  if (check_sizes(call, tensor, where) && tensor.buffer == nullptr && need != nullptr)
    check_memory(call, tensor, need, where);
  return true;
}

GuardedTensors::GuardedTensors(Call& call, const etb_tensor* real, uint32_t count, const char* name,
                               bool is_output, bool has_data, GuardSide side)
    : call_(call),
      real_(real),
      count_(count),
      name_(name),
      is_output_(is_output),
      access_(is_output ? Access::kWrites : Access::kReads),
      place_(side),
      given_(count),
      ones_(count) {
  structs_ =
      std::make_unique<GuardedBytes>(call.memory(), count * sizeof(etb_tensor), alignof(etb_tensor), access_);
  for (uint32_t i = 0; i < count; ++i)
    copy_tensor(*ETB_AT(etb_tensor, real, i), given_[i], ones_[i], has_data);
  copy_descriptions();
  if (count != 0) std::memcpy(structs_->inside(), given_.data(), count * sizeof(etb_tensor));
  if (!is_output) structs_->seal();
}

void GuardedTensors::copy_tensor(const etb_tensor& real, etb_tensor& out, One& one, bool has_data) {
  out = real;
  out.struct_size = sizeof(etb_tensor);
  if (real.rank != 0) {
    one.sizes = std::make_unique<GuardedBytes>(call_.memory(), real.rank * sizeof(int64_t), alignof(int64_t),
                                               access_, place_);
    std::memcpy(one.sizes->inside(), real.sizes, real.rank * sizeof(int64_t));
    if (!is_output_) one.sizes->seal();
    out.sizes = reinterpret_cast<int64_t*>(one.sizes->data());
  }
  if (!has_data || real.data == nullptr || real.buffer != nullptr || real.capacity_bytes == 0) return;
  // Aligns the copy like the host's bytes, up to a cache line. Less would be worse than the host's. Much more
  // would hide a plugin that needs more than it asked for.
  const auto address = reinterpret_cast<uintptr_t>(real.data);
  const uint64_t alignment = std::min<uint64_t>(address & (~address + 1), 64);
  one.data = std::make_unique<GuardedBytes>(call_.memory(), real.capacity_bytes, alignment, access_, place_);
  std::memcpy(one.data->inside(), real.data, real.capacity_bytes);
  if (!is_output_) one.data->seal();
  out.data = one.data->data();
}

// Strides, dim orders and upper sizes.
void GuardedTensors::copy_descriptions() {
  descriptions_ = std::make_unique<BorrowedCopy>(call_, true, name_, [this](ArgumentCopier& to) {
    for (uint32_t i = 0; i < count_; ++i) {
      const etb_tensor& real = *ETB_AT(etb_tensor, real_, i);
      const auto sizes = [&](const int64_t* from) {
        return static_cast<const int64_t*>(to.bytes(from, real.rank * sizeof(int64_t), alignof(int64_t)));
      };
      given_[i].upper_sizes = sizes(real.upper_sizes);
      given_[i].strides = sizes(real.strides);
      given_[i].dim_order = static_cast<const uint8_t*>(to.bytes(real.dim_order, real.rank, 1));
    }
  });
}

void GuardedTensors::commit(etb_status status) {
  check_struct_bytes();
  descriptions_->end();
  for (uint32_t i = 0; i < count_; ++i) {
    One& one = ones_[i];
    const etb_tensor& real = *ETB_AT(etb_tensor, real_, i);
    const std::string where = fmt::format("{}[{}]", name_, i);
    if (one.data != nullptr)
      if (const auto damage = one.data->take_damage()) {
        const Rule rule = is_output_ ? Rule("ABI-TENSOR-02") : Rule("ABI-TENSOR-03");
        call_.plugin(rule, "{}.data: {}", where, *damage);
      }
    if (one.sizes != nullptr)
      if (const auto damage = one.sizes->take_damage())
        call_.plugin("ABI-TENSOR-02", "{}.sizes: {}", where, *damage);
    if (is_output_ && status == ETB_OK) {
      commit_sizes(real, one, where);
      if (one.data != nullptr) std::memcpy(real.data, one.data->inside(), real.capacity_bytes);
    }
    if (one.data != nullptr)
      call_.state().watch(std::move(one.data), "ABI-OWN-01", Side::PLUGIN, call_.function(),
                          where + ".data after the call");
    if (one.sizes != nullptr)
      call_.state().watch(std::move(one.sizes), "ABI-OWN-01", Side::PLUGIN, call_.function(),
                          where + ".sizes after the call");
  }
  call_.state().watch(std::move(structs_), "ABI-OWN-01", Side::PLUGIN, call_.function(),
                      std::string(name_) + " after the call");
}

// The plugin writes through sizes and data, but must not change the structs themselves.
void GuardedTensors::check_struct_bytes() {
  if (const auto damage = structs_->take_damage())
    call_.plugin("ABI-SIZE-03", "the array {}: {}", name_, *damage);
  for (uint32_t i = 0; i < count_; ++i)
    if (std::memcmp(structs_->inside() + i * sizeof(etb_tensor), &given_[i], sizeof(etb_tensor)) != 0)
      call_.plugin("ABI-TENSOR-02",
                   "{}[{}]: the struct was changed, expected only what sizes and data point to", name_, i);
}

void GuardedTensors::commit_sizes(const etb_tensor& real, const One& one, const std::string& where) {
  if (one.sizes == nullptr) return;
  const auto* const sizes = reinterpret_cast<const int64_t*>(one.sizes->inside());
  for (uint32_t i = 0; i < real.rank; ++i) {
    const int64_t upper = real.upper_sizes != nullptr ? real.upper_sizes[i] : real.sizes[i];
    if (sizes[i] < 0 || sizes[i] > upper)
      call_.plugin("ABI-TENSOR-02", "{}.sizes[{}] is {} after the call, its upper bound {}", where, i,
                   sizes[i], upper);
  }
  std::memcpy(real.sizes, sizes, real.rank * sizeof(int64_t));
}

}  // namespace etb::host::validate
