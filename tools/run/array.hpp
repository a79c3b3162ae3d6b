// SPDX-License-Identifier: Apache-2.0
// Array: a value between a file and a method. It is a tensor with its bytes, or a number.
#pragma once

#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "host/runtime/evalue.hpp"

namespace etb::tools {

// Elements dense in dim order (row-major if empty).
struct Array {
  host::Dtype dtype = host::Dtype::FLOAT32;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<std::byte> bytes;
};

// Returns the bytes that the sizes need, or an error for invalid sizes.
[[nodiscard]] Result<uint64_t> count_bytes(host::Dtype dtype, const std::vector<int64_t>& sizes);

// Returns the same elements in another dim order.
Array reorder(const Array& from, const std::vector<uint8_t>& dim_order);
std::vector<uint8_t> row_major(size_t rank);

// Rounds float32 elements: NumPy has no bfloat16, so that float32 is accepted for it.
Array round_to_bfloat16(const Array& from);

// Copies a method's tensor into row-major order.
Array to_row_major(const host::Tensor& tensor);

// Parses "float32", "bfloat16", ...
[[nodiscard]] Result<host::Dtype> parse_dtype(std::string_view text);

// Returns "float32 [2, 3]".
std::string format_shape(host::Dtype dtype, std::span<const int64_t> sizes);

}  // namespace etb::tools
