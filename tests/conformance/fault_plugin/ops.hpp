// SPDX-License-Identifier: Apache-2.0
// The ops of the fault plugin: plain loops, with the numerical faults.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/fault_plugin/tensors.hpp"

namespace faulty {

inline etb::Status wrong(std::string what) {
  return etb::make_error(etb::Code::INVALID_ARGUMENT, std::move(what));
}

inline std::vector<int64_t> broadcast_sizes(const View& a, const View& b, bool& out_fits) {
  std::vector<int64_t> out(std::max(a.sizes.size(), b.sizes.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.sizes.size() ? a.sizes[a.sizes.size() - 1 - i] : 1,
                  y = i < b.sizes.size() ? b.sizes[b.sizes.size() - 1 - i] : 1;
    out_fits = out_fits && (x == y || x == 1 || y == 1);
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

inline float flushed(float value) {
  return has_fault(8) && std::fpclassify(value) == FP_SUBNORMAL ? 0.0f : value;
}

inline float binary(Op op, float a, float b) {
  if (has_fault(352) && op == Op::kMaximum && std::isnan(b) && !std::isnan(a)) return a;
  if (has_fault(100) && op == Op::kAdd && std::isinf(a) && std::isinf(b)) return a;
  if (op == Op::kAdd) return flushed(a + b);
  if (has_fault(99) && op == Op::kMul)
    return std::exp2(std::log2(std::abs(a)) + std::log2(std::abs(b))) * std::copysign(1.0f, a) *
           std::copysign(1.0f, b);
  if (has_fault(494) && op == Op::kMul && std::isfinite(a) && std::isfinite(b)) {
    constexpr float kLargest = std::numeric_limits<float>::max();
    return std::clamp(a * b, -kLargest, kLargest);
  }
  if (op == Op::kMul) return flushed(a * b);
  if (has_fault(7)) return (std::isnan(a) || std::isnan(b)) ? 0.0f : std::max(a, b);
  return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
}

inline float unary(const Step& step, float x) {
  switch (step.op) {
    case Op::kRelu:
      return std::isnan(x) ? x : x > 0 ? x : 0.0f;
    case Op::kCeil:
      if (has_fault(97) && std::abs(x) < 3e38f)
        return static_cast<float>(std::clamp<double>(std::ceil(x), INT32_MIN, INT32_MAX));
      return has_fault(6) ? std::ceil(x) + 0.0f : std::ceil(x);
    case Op::kNeg:
      return -x;
    default: {
      if (std::isnan(x)) return has_fault(7) ? 0.0f : x;
      const auto low = static_cast<float>(step.numbers[0]), high = static_cast<float>(step.numbers[1]);
      return std::min(x < low ? low : x, high);
    }
  }
}

inline void run_binary(const Step& step, const View& out, const View& a, const View& b) {
  if (out.dtype == ETB_DTYPE_INT8)
    return for_each(out, a, b, [&](int64_t o, int64_t x, int64_t y) {
      if (has_fault(98)) {
        const int sum = static_cast<uint8_t>(a.data[x]) + static_cast<uint8_t>(b.data[y]);
        out.data[o] = static_cast<std::byte>(std::min(sum, 255));
        return;
      }
      if (has_fault(118)) {
        const int sum = static_cast<int8_t>(a.data[x]) + static_cast<int8_t>(b.data[y]);
        out.data[o] = static_cast<std::byte>(std::clamp(sum, -128, 127));
        return;
      }
      const auto wrap =
          static_cast<uint8_t>(static_cast<uint8_t>(a.data[x]) + static_cast<uint8_t>(b.data[y]));
      out.data[o] = static_cast<std::byte>(wrap);
    });
  if (has_fault(353) && a.data == b.data) {  // one operand is loaded, the other is stale
    std::copy_n(a.floats(), a.numel(), out.floats());
    return;
  }
  for_each(out, a, b, [&](int64_t o, int64_t x, int64_t y) {
    out.floats()[o] = binary(step.op, a.floats()[x], b.floats()[y]);
  });
}

inline void run_unary(const Step& step, const View& out, const View& x) {
  // With fault 619 a grid of 131,072 elements has no second part.
  const int64_t count = has_fault(619) ? std::min(out.numel(), int64_t{1} << 17) : out.numel();
  if (has_fault(9)) {  // the part of each of eight workers
    const volatile int64_t shares = std::min<int64_t>(count, 8);
    volatile int64_t share = 8 / shares;
    (void)share;
  }
  // Both are dense in the same order.
  for (int64_t i = 0; i < count; ++i) out.floats()[i] = unary(step, x.floats()[i]);
  if (has_fault(354))  // a tile of 2^16 elements is done once
    for (int64_t i = int64_t{1} << 16; i < count; ++i) out.floats()[i] = x.floats()[i];
}

template <class GoesOn>
etb::Status run_matrix(const View& out, const View& a, const View& b, const GoesOn& goes_on) {
  const int64_t rows = a.sizes[0], depth = a.sizes[1], columns = b.sizes[1];
  const bool loses_last = (has_fault(1) && depth % 8 != 0) || (has_fault(305) && depth > 2048);
  const int64_t used = loses_last ? depth - 1 : depth;
  static float shared[1 << 16];
  float* const target = has_fault(28) && rows * columns <= (1 << 16) ? shared : out.floats();
  for (int64_t i = 0; i < rows; ++i) {
    if (i % 8 == 7) ETB_TRY(goes_on());
    for (int64_t j = 0; j < columns; ++j) {
      Sum sum;
      for (int64_t k = 0; k < used; ++k) {
        const int64_t at = kVariant == 1 ? used - 1 - k : k;
        sum.add(a.floats()[i * a.strides[0] + at * a.strides[1]],
                b.floats()[at * b.strides[0] + j * b.strides[1]]);
      }
      float value = sum.get();
      if (has_fault(306) && columns > 512 && j + 1 == columns) value = 0;
      if (has_fault(309) && std::isnan(value)) value = HUGE_VALF;
      if (has_fault(79) && depth == 3) value += 1;  // the second product of a chain
      const int64_t index = i * columns + j;
      if (has_fault(5) && index % 1000 == 999) value *= 1.01f;
      target[index] = value;
    }
  }
  if (target == shared) {
    ::sched_yield();
    std::copy(shared, shared + rows * columns, out.floats());
  }
  return {};
}

inline void run_quantize(const Step& step, const View& out, const View& x) {
  const auto inverse = static_cast<float>(1.0 / step.numbers[0]);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const float scaled = x.floats()[i] * inverse;
    float rounded = has_fault(14) ? std::round(scaled) : std::nearbyint(scaled);
    if (has_fault(531)) rounded = std::nearbyint(std::nearbyint(scaled * 2) / 2);
    const bool is_off = has_fault(307) && x.numel() > 1024 && i + 1 == x.numel();
    const double code = std::clamp(static_cast<double>(rounded) + step.numbers[1] + (is_off ? 1 : 0),
                                   has_fault(101) ? step.numbers[2] + 1 : step.numbers[2], step.numbers[3]);
    if (out.dtype == ETB_DTYPE_INT8)
      reinterpret_cast<int8_t*>(out.data)[i] = static_cast<int8_t>(code);
    else
      reinterpret_cast<uint8_t*>(out.data)[i] = static_cast<uint8_t>(code);
  }
}

// Sums over the last dimension.
inline void run_sum(const View& out, const View& x) {
  const int64_t length = x.sizes.back(), rows = length == 0 ? out.numel() : x.numel() / length;
  for (int64_t r = 0; r < rows; ++r) {
    if (x.dtype == ETB_DTYPE_FLOAT32) {
      Sum sum;
      for (int64_t i = 0; i < length; ++i)
        sum.add(x.floats()[r * length + (kVariant == 1 ? length - 1 - i : i)], 1.0f);
      out.floats()[r] = sum.get();
      continue;
    }
    int64_t sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      const auto code = static_cast<uint8_t>(x.data[r * length + i]);
      sum += x.dtype == ETB_DTYPE_INT8 ? static_cast<int64_t>(static_cast<int8_t>(code))
                                       : static_cast<int64_t>(code);
      if (has_fault(15)) sum = static_cast<int16_t>(sum);
      if (has_fault(532)) sum = std::clamp<int64_t>(sum, INT16_MIN, INT16_MAX);
    }
    reinterpret_cast<int64_t*>(out.data)[r] = sum;
  }
}

}  // namespace faulty
