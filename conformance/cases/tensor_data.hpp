// SPDX-License-Identifier: Apache-2.0
// Tensors that a case owns: bytes with a dtype, sizes and a dim order. Also single elements as doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "etb/tensor.h"

namespace etb::conformance {

// A tensor's type without its data.
struct Shape {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> dim_order;  // empty: row-major

  int64_t numel() const;
};

struct TensorData {
  Shape shape;
  std::vector<std::byte> bytes;  // dense in dim order
};

size_t element_nbytes(etb_dtype dtype);
bool is_floating(etb_dtype dtype);
bool is_integer(etb_dtype dtype);  // without bool
bool is_half(etb_dtype dtype);     // a float of 16 bits

// Returns "f32", "bf16", "i8", "bool": the words of case names.
const char* short_name(etb_dtype dtype);

// Reads element `index` in memory order. 64-bit integers lose bits that a double cannot hold; exact
// comparisons use the bytes.
double load_element(etb_dtype dtype, const void* data, int64_t index);

// Rounds to nearest even once, directly from the double. Integers are truncated and clamped to their range.
void store_element(etb_dtype dtype, void* data, int64_t index, double value);

// Properties of a floating dtype.
struct FloatFormat {
  int significand_bits;  // number of bits with the hidden one: float32 has 24
  int min_exponent;      // smallest normal number, in frexp's convention: float32 -125
  double largest;
  double unit() const;  // largest relative error of one rounding: 2^-significand_bits
  // Returns the distance between neighbours at this magnitude. It is constant for subnormals.
  double ulp(double value) const;
  // Returns the nearest representable number, ties to even; infinity beyond the largest.
  double round(double value) const;
};
const FloatFormat& float_format(etb_dtype dtype);

}  // namespace etb::conformance
