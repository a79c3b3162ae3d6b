// SPDX-License-Identifier: Apache-2.0
// Computes sizes of tensors from untrusted files, with every product checked.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "api/ops/dtype.hpp"

namespace etb::format {

// Same as ExecuTorch's limit.
inline constexpr size_t kMaxRank = 16;

// Bytes of one element, 0 for an unknown code.
constexpr uint32_t element_nbytes(uint8_t dtype) noexcept {
  return static_cast<uint32_t>(ops::element_nbytes(static_cast<ops::Dtype>(dtype)));
}

constexpr const char* dtype_text(uint8_t dtype) noexcept {
  return ops::to_text(static_cast<ops::Dtype>(dtype));
}

// True if the code is in etb/dtype.def. A graph image may use no others.
constexpr bool is_abi_dtype(uint8_t dtype) noexcept {
  return element_nbytes(dtype) != 0 && ops::is_abi_dtype(static_cast<ops::Dtype>(dtype));
}

// Bytes of a tensor. Returns nullopt when a size is negative, or a stride or the byte count exceeds int64.
constexpr std::optional<uint64_t> checked_nbytes(uint8_t dtype, std::span<const int32_t> sizes) noexcept {
  // Counts zero sizes as one, so that the strides of an empty tensor are in range, too.
  int64_t extent = element_nbytes(dtype);
  bool is_empty = false;
  for (const int32_t size : sizes) {
    if (size < 0) return std::nullopt;
    if (size == 0) is_empty = true;
    if (size > 1 && __builtin_mul_overflow(extent, int64_t{size}, &extent)) return std::nullopt;
  }
  return is_empty ? 0 : static_cast<uint64_t>(extent);
}

// True if `order` contains each dimension once.
constexpr bool is_permutation(std::span<const uint8_t> order) noexcept {
  if (order.size() > kMaxRank) return false;
  uint32_t seen = 0;
  for (const uint8_t dim : order) {
    if (dim >= order.size() || (seen >> dim & 1U) != 0) return false;
    seen |= 1U << dim;
  }
  return true;
}

}  // namespace etb::format
