// Tensors that a case owns: bytes with a dtype, sizes and a dim order; and single elements as doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "etb/tensor.h"

namespace etb::conformance {

// What a tensor is, without data.
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

// "f32", "bf16", "i8", "bool": the words of case names.
const char* short_name(etb_dtype dtype);

// Element `index` in memory order. Integers of 64 bits lose what a double cannot hold; exact comparisons use the bytes.
double load_element(etb_dtype dtype, const void* data, int64_t index);

// Rounds to nearest even once, straight from the double; integers are truncated and clamped to their range.
void store_element(etb_dtype dtype, void* data, int64_t index, double value);

// Facts of a floating dtype.
struct FloatFormat {
  int significand_bits;  // with the hidden one: float32 has 24
  int min_exponent;      // of the smallest normal number, as frexp counts: float32 -125
  double largest;
  double unit() const;  // largest relative error of one rounding: 2^-significand_bits
  // Distance between neighbours at this magnitude; inside the subnormals it is constant.
  double ulp(double value) const;
  // Nearest representable number, ties to even, beyond the largest infinity.
  double round(double value) const;
};
const FloatFormat& float_format(etb_dtype dtype);

}  // namespace etb::conformance
