// SPDX-License-Identifier: Apache-2.0
// Complex numbers as elements of tensors, and functions that a kernel for real and complex numbers calls on either.
//
// Products are the plain formula: std::complex would repair products of infinities, at the price of a branch for each.
// Functions are forced inline, as files that are compiled once per kind of CPU ask for.
#pragma once

#include <cmath>

#define ETB_ALWAYS_INLINE inline __attribute__((always_inline))

namespace etb::host {

// std::abs is a function of the standard library, which files for one kind of CPU may not call.
template <class T>
ETB_ALWAYS_INLINE T absolute_value(T x) {
  return x < 0 ? -x : x;
}

template <class T>
struct ComplexNumber {
  T re, im;

  ComplexNumber() = default;
  ETB_ALWAYS_INLINE constexpr ComplexNumber(T real)
      : re(real), im(0) {}  // NOLINT: a real number is a complex one
  ETB_ALWAYS_INLINE constexpr ComplexNumber(T real, T imaginary) : re(real), im(imaginary) {}

  ETB_ALWAYS_INLINE ComplexNumber operator-() const { return {-re, -im}; }
  ETB_ALWAYS_INLINE friend ComplexNumber operator+(ComplexNumber x, ComplexNumber y) {
    return {x.re + y.re, x.im + y.im};
  }
  ETB_ALWAYS_INLINE friend ComplexNumber operator-(ComplexNumber x, ComplexNumber y) {
    return {x.re - y.re, x.im - y.im};
  }
  ETB_ALWAYS_INLINE friend ComplexNumber operator*(ComplexNumber x, ComplexNumber y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  }
  ETB_ALWAYS_INLINE friend ComplexNumber operator*(T x, ComplexNumber y) { return {x * y.re, x * y.im}; }
  ETB_ALWAYS_INLINE friend ComplexNumber operator*(ComplexNumber x, T y) { return y * x; }
  ETB_ALWAYS_INLINE friend ComplexNumber operator/(ComplexNumber x, T y) { return {x.re / y, x.im / y}; }
  // Divides by the larger part first, so that no square overflows.
  ETB_ALWAYS_INLINE friend ComplexNumber operator/(ComplexNumber x, ComplexNumber y) {
    if (absolute_value(y.re) >= absolute_value(y.im)) {
      const T ratio = y.im / y.re, divisor = y.re + y.im * ratio;
      return {(x.re + x.im * ratio) / divisor, (x.im - x.re * ratio) / divisor};
    }
    const T ratio = y.re / y.im, divisor = y.re * ratio + y.im;
    return {(x.re * ratio + x.im) / divisor, (x.im * ratio - x.re) / divisor};
  }
  ETB_ALWAYS_INLINE ComplexNumber& operator+=(ComplexNumber y) { return *this = *this + y; }
  ETB_ALWAYS_INLINE ComplexNumber& operator-=(ComplexNumber y) { return *this = *this - y; }
  ETB_ALWAYS_INLINE ComplexNumber& operator*=(ComplexNumber y) { return *this = *this * y; }
  ETB_ALWAYS_INLINE ComplexNumber& operator/=(ComplexNumber y) { return *this = *this / y; }
  ETB_ALWAYS_INLINE friend bool operator==(ComplexNumber x, ComplexNumber y) {
    return x.re == y.re && x.im == y.im;
  }
};

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<ComplexNumber<T>> = true;

template <class T>
struct PartOf {
  using Type = T;
};
template <class T>
struct PartOf<ComplexNumber<T>> {
  using Type = T;
};
// The dtype of a number's parts: that of a real number itself.
template <class T>
using RealOf = typename PartOf<T>::Type;

template <class T>
ETB_ALWAYS_INLINE RealOf<T> real_part(T x) {
  if constexpr (kIsComplex<T>) {
    return x.re;
  } else {
    return x;
  }
}
template <class T>
ETB_ALWAYS_INLINE RealOf<T> imaginary_part(T x) {
  if constexpr (kIsComplex<T>) {
    return x.im;
  } else {
    return 0;
  }
}
template <class T>
ETB_ALWAYS_INLINE T conjugate(T x) {
  if constexpr (kIsComplex<T>) {
    return {x.re, -x.im};
  } else {
    return x;
  }
}
template <class T>
ETB_ALWAYS_INLINE RealOf<T> magnitude(T x) {
  if constexpr (kIsComplex<T>) {
    return std::hypot(x.re, x.im);
  } else {
    return std::abs(x);
  }
}
// A bound of the magnitude that costs no root; LAPACK chooses pivots by it.
template <class T>
ETB_ALWAYS_INLINE RealOf<T> sum_of_magnitudes(T x) {
  if constexpr (kIsComplex<T>) {
    return absolute_value(x.re) + absolute_value(x.im);
  } else {
    return std::abs(x);
  }
}

}  // namespace etb::host
