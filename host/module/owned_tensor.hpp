// SPDX-License-Identifier: Apache-2.0
// OwnedTensor: a tensor together with its memory, for inputs that an application makes.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "host/runtime/evalue.hpp"
#include "host/runtime/tensor.hpp"

namespace etb::host {

template <class T>
constexpr Dtype dtype_of() noexcept {
  if constexpr (std::is_same_v<T, bool>) return Dtype::BOOL;
  if constexpr (std::is_same_v<T, uint8_t>) return Dtype::UINT8;
  if constexpr (std::is_same_v<T, int8_t>) return Dtype::INT8;
  if constexpr (std::is_same_v<T, int16_t>) return Dtype::INT16;
  if constexpr (std::is_same_v<T, int32_t>) return Dtype::INT32;
  if constexpr (std::is_same_v<T, int64_t>) return Dtype::INT64;
  if constexpr (std::is_same_v<T, float>) return Dtype::FLOAT32;
  if constexpr (std::is_same_v<T, double>) return Dtype::FLOAT64;
}

class OwnedTensor {
 public:
  // Zero elements. An empty dim order means row-major. At most kMaxRank non-negative sizes
  // whose bytes fit into memory.
  explicit OwnedTensor(Dtype dtype, std::span<const int64_t> sizes, std::span<const uint8_t> dim_order = {})
      : parts_(std::make_unique<Parts>()) {
    int64_t numel = 0;
    if (!count_elements(sizes, &numel)) numel = 0;
    parts_->bytes.resize(static_cast<size_t>(numel) * element_nbytes(dtype));
    parts_->tensor =
        parts_->storage.make(dtype, sizes, parts_->bytes.data(), parts_->bytes.size(), dim_order);
  }

  // Copies elements in row-major order. Missing elements are zero.
  template <class T>
  static OwnedTensor make(std::span<const int64_t> sizes, std::span<const T> elements) {
    OwnedTensor made(dtype_of<T>(), sizes);
    const size_t count = std::min(elements.size_bytes(), made.parts_->bytes.size());
    if (count != 0) std::memcpy(made.parts_->bytes.data(), elements.data(), count);
    return made;
  }
  template <class T>
  static OwnedTensor make(std::initializer_list<int64_t> sizes, std::initializer_list<T> elements) {
    return make<T>(std::span(sizes.begin(), sizes.size()), std::span(elements.begin(), elements.size()));
  }

  Tensor& tensor() noexcept { return parts_->tensor; }
  const Tensor& tensor() const noexcept { return parts_->tensor; }
  EValue value() noexcept { return EValue(&parts_->tensor); }
  std::span<std::byte> bytes() noexcept { return parts_->bytes; }

 private:
  // Allocated apart, because the tensor points into its storage and must not move.
  struct Parts {
    TensorStorage storage;
    std::vector<std::byte> bytes;
    Tensor tensor;
  };
  std::unique_ptr<Parts> parts_;
};

}  // namespace etb::host
