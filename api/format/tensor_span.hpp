// SPDX-License-Identifier: Apache-2.0
// Bytes from the first to the last element of a tensor, whose numbers may be hostile.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "api/format/tensor_layout.hpp"

namespace etb::format {

// `strides` in elements; empty: packed in any order. Returns nullopt for an unknown dtype, a negative size or stride,
// and a number that exceeds int64.
constexpr std::optional<uint64_t> tensor_span_nbytes(int32_t dtype, std::span<const int64_t> sizes,
                                                     std::span<const int64_t> strides) noexcept {
  if (dtype < 0 || dtype > UINT8_MAX) return std::nullopt;
  const int64_t element = element_nbytes(static_cast<uint8_t>(dtype));
  if (element == 0) return std::nullopt;
  int64_t count = 1, last = 0;
  bool is_empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || (!strides.empty() && strides[i] < 0)) return std::nullopt;
    if (sizes[i] == 0) is_empty = true;
    if (sizes[i] > 1 && __builtin_mul_overflow(count, sizes[i], &count)) return std::nullopt;
    int64_t step = 0;
    if (!strides.empty() && sizes[i] > 1 &&
        (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) ||
         __builtin_add_overflow(last, step, &last)))
      return std::nullopt;
  }
  if (is_empty) return 0;
  if (!strides.empty() && __builtin_add_overflow(last, int64_t{1}, &count)) return std::nullopt;
  if (__builtin_mul_overflow(count, element, &count)) return std::nullopt;
  return static_cast<uint64_t>(count);
}

}  // namespace etb::format
