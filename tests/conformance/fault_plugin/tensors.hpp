// SPDX-License-Identifier: Apache-2.0
// Tensors for the ops of the fault plugin, and iteration over them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/conformance/fault_plugin/program.hpp"

namespace faulty {

struct View {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  std::vector<int64_t> sizes, strides;
  std::byte* data = nullptr;

  int64_t numel() const {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    return count;
  }
  float* floats() const { return reinterpret_cast<float*>(data); }
};

// Returns strides that are dense in dim order.
inline std::vector<int64_t> dense_strides(const std::vector<int64_t>& sizes,
                                          const std::vector<uint8_t>& order) {
  std::vector<int64_t> strides(sizes.size(), 1);
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    const size_t dim = has_fault(10) || (has_fault(351) && sizes.size() == 5) ? i : order[i];
    strides[dim] = step;
    step *= std::max<int64_t>(sizes[dim], 1);
  }
  return strides;
}

// Calls body(offset in out, offsets in a and b) for every element. Operands are broadcast.
template <class Body>
void for_each(const View& out, const View& a, const View& b, Body body) {
  const size_t rank = out.sizes.size();
  const auto broadcast = [&](const View& view) {
    std::vector<int64_t> strides(rank, 0);
    const size_t missing = rank - view.sizes.size();
    for (size_t i = missing; i < rank; ++i)
      strides[i] = view.sizes[i - missing] == 1 ? 0 : view.strides[i - missing];
    return strides;
  };
  const std::vector<int64_t> sa = broadcast(a);
  std::vector<int64_t> sb = broadcast(b);
  if (has_fault(350) && rank > 4) sb[0] = 0;  // loops over four dimensions
  std::vector<int64_t> at(rank, 0);
  const int64_t count = out.numel(), b_count = b.numel();
  for (int64_t i = 0; i < count; ++i) {
    int64_t o = 0, x = 0, y = 0;
    for (size_t d = 0; d < rank; ++d) {
      o += at[d] * out.strides[d];
      x += at[d] * sa[d];
      y += at[d] * sb[d];
    }
    if (has_fault(11) && b_count != count) y = i % b_count;
    body(o, x, y);
    for (size_t d = rank; d-- > 0;) {
      if (++at[d] < out.sizes[d]) break;
      at[d] = 0;
    }
  }
}

// Rounds the significand once, to fewer bits.
inline float keep_bits(float value, int bits) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(value), &exponent);
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits));
}

inline float add_toward_zero(float sum, float term) {
  const double exact = static_cast<double>(sum) + static_cast<double>(term);
  float rounded = static_cast<float>(exact);
  if (std::abs(static_cast<double>(rounded)) > std::abs(exact)) rounded = std::nextafter(rounded, 0.0f);
  return rounded;
}

// Adds products in the order and precision of this variant.
class Sum {
 public:
  explicit Sum(float start = 0) : sum_(start), wide_(start) { lanes_[0] = start; }
  void add(float a, float b) {
    if (has_fault(2)) {
      a = keep_bits(a, 8);
      b = keep_bits(b, 8);
    }
    if (kVariant == 2) {
      sum_ = std::fma(a, b, sum_);
    } else if (kVariant == 3) {
      lanes_[count_++ % 16] += a * b;
    } else if (kVariant == 4) {
      wide_ += static_cast<double>(a) * static_cast<double>(b);
    } else if (has_fault(3)) {
      sum_ = keep_bits(sum_ + a * b, 11);
    } else if (has_fault(4)) {
      sum_ = add_toward_zero(sum_, a * b);
    } else {
      sum_ += a * b;
    }
  }
  float get() const {
    if (kVariant == 4) return static_cast<float>(wide_);
    if (kVariant != 3) return sum_;
    float lanes = 0;
    for (const float lane : lanes_) lanes += lane;
    return lanes;
  }

 private:
  float sum_;
  double wide_;
  float lanes_[16] = {};
  size_t count_ = 0;
};

}  // namespace faulty
