// SPDX-License-Identifier: Apache-2.0
// Sizes, strides and resizing of tensors.
#include "host/runtime/tensor.hpp"

#include <algorithm>

namespace etb::host {

void fill_strides(std::span<const int64_t> sizes, std::span<const uint8_t> dim_order,
                  int64_t* out_strides) noexcept {
  uint64_t stride = 1;  // unsigned: sizes that overflow are rejected before any element is accessed
  for (size_t i = dim_order.size(); i-- > 0;) {
    const uint8_t dim = dim_order[i];
    out_strides[dim] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(std::max<int64_t>(sizes[dim], 1));
  }
}

bool count_elements(std::span<const int64_t> sizes, int64_t* out_numel) noexcept {
  int64_t numel = 1;
  bool is_empty = false, overflows = false;
  for (const int64_t size : sizes) {
    if (size < 0) return false;
    if (size == 0) {
      is_empty = true;
      continue;
    }
    overflows = __builtin_mul_overflow(numel, size, &numel) || overflows;
  }
  *out_numel = is_empty ? 0 : numel;
  return !overflows;
}

Tensor::Tensor(Dtype dtype, int rank, int64_t* sizes, const uint8_t* dim_order, int64_t* strides, void* data,
               uint64_t capacity_bytes, Dynamism dynamism) noexcept
    : data_(data),
      capacity_bytes_(capacity_bytes),
      sizes_(sizes),
      strides_(strides),
      dim_order_(dim_order),
      dtype_(dtype),
      rank_(static_cast<uint8_t>(rank)),
      dynamism_(dynamism) {
  if (!count_elements(this->sizes(), &numel_)) numel_ = 0;
  fill_strides(this->sizes(), this->dim_order(), strides_);
}

bool Tensor::is_contiguous() const noexcept {
  int last = -1;  // dims larger than 1 must come in ascending order
  for (const uint8_t dim : dim_order()) {
    if (sizes_[dim] == 1) continue;
    if (static_cast<int>(dim) < last) return false;
    last = dim;
  }
  return true;
}

bool Tensor::has_layout_of(const Tensor& other) const noexcept {
  if (rank_ != other.rank_) return false;
  for (int dim = 0; dim < rank_; ++dim) {
    if (sizes_[dim] != other.sizes_[dim]) return false;
    if (sizes_[dim] > 1 && strides_[dim] != other.strides_[dim]) return false;
  }
  return true;
}

etb_status Tensor::resize(std::span<const int64_t> sizes) noexcept {
  if (sizes.size() != rank_ || is_read_only_) return ETB_INVALID_ARGUMENT;
  // Compared by hand: nearly every call ends here, and memcmp costs more than comparing a few numbers.
  bool is_same = true;
  for (size_t dim = 0; dim < sizes.size(); ++dim) is_same = is_same && sizes[dim] == sizes_[dim];
  if (is_same) return ETB_OK;
  int64_t numel = 0;
  if (!count_elements(sizes, &numel)) return ETB_INVALID_ARGUMENT;
  if (dynamism_ == Dynamism::kStatic) return ETB_NOT_SUPPORTED;
  if (static_cast<uint64_t>(numel) > capacity_bytes_ / element_nbytes(dtype_)) return ETB_NOT_SUPPORTED;
  std::copy(sizes.begin(), sizes.end(), sizes_);
  numel_ = numel;
  fill_strides(this->sizes(), dim_order(), strides_);
  return ETB_OK;
}

Tensor TensorStorage::make(Dtype dtype, std::span<const int64_t> new_sizes, void* data,
                           uint64_t capacity_bytes, std::span<const uint8_t> new_dim_order,
                           Dynamism dynamism) noexcept {
  const size_t rank = std::min<size_t>(new_sizes.size(), kMaxRank);
  for (size_t dim = 0; dim < rank; ++dim) {
    sizes[dim] = new_sizes[dim];
    dim_order[dim] = new_dim_order.empty() ? static_cast<uint8_t>(dim) : new_dim_order[dim];
  }
  return {dtype, static_cast<int>(rank), sizes, dim_order, strides, data, capacity_bytes, dynamism};
}

}  // namespace etb::host
