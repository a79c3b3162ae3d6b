// SPDX-License-Identifier: Apache-2.0
// Loops over dense rows for factorisations: inner products, sums of rows, updates by one column and one row, and plane rotations.
#include "host/kernels/vector/table.hpp"
#include "host/kernels/vector/variant.hpp"

namespace etb::host::ETB_VARIANT {
namespace {

template <class T>
struct Lanes {
  static constexpr int kCount = ETB_VECTOR_NBYTES / sizeof(T);
  typedef T Type __attribute__((vector_size(ETB_VECTOR_NBYTES), aligned(sizeof(T)), may_alias));
};

// Four vectors of partial sums, so that additions do not wait for each other.
template <class T>
T dot(const T* x, const T* y, int64_t count) {
  using V = typename Lanes<T>::Type;
  constexpr int kWidth = Lanes<T>::kCount, kSums = 4;
  V sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * kWidth <= count; i += kSums * kWidth) {
#pragma GCC unroll 4
    for (int s = 0; s < kSums; ++s) {
      sums[s] +=
          *reinterpret_cast<const V*>(x + i + s * kWidth) * *reinterpret_cast<const V*>(y + i + s * kWidth);
    }
  }
  for (; i + kWidth <= count; i += kWidth)
    sums[0] += *reinterpret_cast<const V*>(x + i) * *reinterpret_cast<const V*>(y + i);
  const V all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  T total = 0;
  for (int lane = 0; lane < kWidth; ++lane) total += all[lane];
  for (; i < count; ++i) total += x[i] * y[i];
  return total;
}

template <class T>
ComplexNumber<T> dot(const ComplexNumber<T>* x, const ComplexNumber<T>* y, int64_t count) {
  constexpr int kSums = 8;
  T re[kSums] = {}, im[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int s = 0; s < kSums; ++s) {
      const ComplexNumber<T> a = x[i + s], b = y[i + s];
      re[s] += a.re * b.re + a.im * b.im;
      im[s] += a.re * b.im - a.im * b.re;
    }
  }
  ComplexNumber<T> total(0);
  for (int s = 0; s < kSums; ++s) total += ComplexNumber<T>(re[s], im[s]);
  for (; i < count; ++i) total += ComplexNumber<T>(x[i].re, -x[i].im) * y[i];
  return total;
}

// Four rows at a time, so that `x` is read once for them and memory is read in four places.
template <class T>
void dot_four_rows(T* out, const T* a, int64_t a_stride, int64_t count, const T* x) {
  using V = typename Lanes<T>::Type;
  constexpr int kWidth = Lanes<T>::kCount, kRows = 4, kSteps = 2;
  V sums[kRows][kSteps] = {};
  int64_t i = 0;
  for (; i + kSteps * kWidth <= count; i += kSteps * kWidth) {
#pragma GCC unroll 2
    for (int s = 0; s < kSteps; ++s) {
      const V factor = *reinterpret_cast<const V*>(x + i + s * kWidth);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r)
        sums[r][s] += *reinterpret_cast<const V*>(a + r * a_stride + i + s * kWidth) * factor;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    const V all = sums[r][0] + sums[r][1];
    T total = 0;
    for (int lane = 0; lane < kWidth; ++lane) total += all[lane];
    for (int64_t j = i; j < count; ++j) total += a[r * a_stride + j] * x[j];
    out[r] = total;
  }
}

template <class T>
void dot_rows(T* out, const T* a, int64_t a_stride, int64_t rows, int64_t count, const T* x) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) dot_four_rows(out + i, a + i * a_stride, a_stride, count, x);
  for (; i < rows; ++i) out[i] = dot(a + i * a_stride, x, count);
}
template <class T>
void dot_rows(ComplexNumber<T>* out, const ComplexNumber<T>* a, int64_t a_stride, int64_t rows, int64_t count,
              const ComplexNumber<T>* x) {
  for (int64_t i = 0; i < rows; ++i) out[i] = dot(a + i * a_stride, x, count);
}

template <class T>
void divide(T* x, T divisor, int64_t count) {
  ETB_LOOP for (int64_t i = 0; i < count; ++i) x[i] /= divisor;
}

// The quotient's terms that depend on the divisor only are computed once.
template <class T>
void divide(ComplexNumber<T>* x, ComplexNumber<T> divisor, int64_t count) {
  const bool is_real_larger = absolute_value(divisor.re) >= absolute_value(divisor.im);
  const T large = is_real_larger ? divisor.re : divisor.im, small = is_real_larger ? divisor.im : divisor.re;
  const T ratio = small / large, by = large + small * ratio;
  const T re_factor = is_real_larger ? T(1) : ratio, im_factor = is_real_larger ? ratio : T(1);
  ETB_LOOP for (int64_t i = 0; i < count; ++i) {
    const ComplexNumber<T> old = x[i];
    x[i].re = (old.re * re_factor + old.im * im_factor) / by;
    x[i].im = (old.im * re_factor - old.re * im_factor) / by;
  }
}

// Four rows at a time, so that `y` is read and written once for them.
template <class T>
void add_rows(T* y, const T* a, int64_t a_stride, int64_t rows, int64_t count, const T* weights,
              int64_t weight_stride, T factor) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    const T *a0 = a + i * a_stride, *a1 = a0 + a_stride, *a2 = a1 + a_stride, *a3 = a2 + a_stride;
    const T w0 = factor * weights[i * weight_stride], w1 = factor * weights[(i + 1) * weight_stride],
            w2 = factor * weights[(i + 2) * weight_stride], w3 = factor * weights[(i + 3) * weight_stride];
    ETB_LOOP for (int64_t j = 0; j < count; ++j) y[j] += w0 * a0[j] + w1 * a1[j] + w2 * a2[j] + w3 * a3[j];
  }
  for (; i < rows; ++i) {
    const T* row = a + i * a_stride;
    const T weight = factor * weights[i * weight_stride];
    ETB_LOOP for (int64_t j = 0; j < count; ++j) y[j] += weight * row[j];
  }
}

template <class T>
void subtract_outer(T* a, int64_t a_stride, int64_t rows, int64_t count, const T* column,
                    int64_t column_stride, const T* row) {
  for (int64_t i = 0; i < rows; ++i) {
    T* to = a + i * a_stride;
    const T weight = column[i * column_stride];
    ETB_LOOP for (int64_t j = 0; j < count; ++j) to[j] -= weight * row[j];
  }
}

template <class T>
void subtract_two_outers(T* a, int64_t a_stride, int64_t rows, int64_t count, const T* x0, const T* y0,
                         const T* x1, const T* y1) {
  for (int64_t i = 0; i < rows; ++i) {
    T* to = a + i * a_stride;
    const T first = x0[i], second = x1[i];
    ETB_LOOP for (int64_t j = 0; j < count; ++j) to[j] -= first * y0[j] + second * y1[j];
  }
}

template <class T>
void rotate(T* x, T* y, T cosine, T sine, int64_t count) {
  ETB_LOOP for (int64_t i = 0; i < count; ++i) {
    const T old = x[i];
    x[i] = cosine * old + sine * y[i];
    y[i] = cosine * y[i] - sine * old;
  }
}

template <class T>
void rotate(ComplexNumber<T>* x, ComplexNumber<T>* y, T cosine, T sine, int64_t count) {
  rotate(reinterpret_cast<T*>(x), reinterpret_cast<T*>(y), cosine, sine, 2 * count);
}

template <class T>
void rotate_by_phase(T* x, T* y, T cosine, T sine, int64_t count) {
  rotate(x, y, cosine, sine, count);
}

template <class T>
void rotate_by_phase(ComplexNumber<T>* x, ComplexNumber<T>* y, T cosine, ComplexNumber<T> sine,
                     int64_t count) {
  ETB_LOOP for (int64_t i = 0; i < count; ++i) {
    const T x_re = x[i].re, x_im = x[i].im, y_re = y[i].re, y_im = y[i].im;
    x[i].re = cosine * x_re + (sine.re * y_re - sine.im * y_im);
    x[i].im = cosine * x_im + (sine.re * y_im + sine.im * y_re);
    y[i].re = cosine * y_re - (sine.re * x_re + sine.im * x_im);
    y[i].im = cosine * y_im - (sine.re * x_im - sine.im * x_re);
  }
}

template <class T>
void reflect(T* x, T* y, T* z, const T* v, T tau, int64_t count) {
  const T v1 = v[1], tau1 = tau * v1;
  if (z == nullptr) {
    ETB_LOOP for (int64_t i = 0; i < count; ++i) {
      const T sum = x[i] + v1 * y[i];
      x[i] -= tau * sum;
      y[i] -= tau1 * sum;
    }
    return;
  }
  const T v2 = v[2], tau2 = tau * v2;
  ETB_LOOP for (int64_t i = 0; i < count; ++i) {
    const T sum = x[i] + v1 * y[i] + v2 * z[i];
    x[i] -= tau * sum;
    y[i] -= tau1 * sum;
    z[i] -= tau2 * sum;
  }
}

template <class T>
constexpr LinearLoops<T> kLoops = {dot,         dot_rows,       divide,
                                   add_rows<T>, subtract_outer<T>, subtract_two_outers<T>,
                                   rotate,      rotate_by_phase,   reflect<T>};

}  // namespace

extern const LinearLoops<float> kFloatLinear;
extern const LinearLoops<double> kDoubleLinear;
extern const LinearLoops<ComplexNumber<float>> kComplex64Linear;
extern const LinearLoops<ComplexNumber<double>> kComplex128Linear;
const LinearLoops<float> kFloatLinear = kLoops<float>;
const LinearLoops<double> kDoubleLinear = kLoops<double>;
const LinearLoops<ComplexNumber<float>> kComplex64Linear = kLoops<ComplexNumber<float>>;
const LinearLoops<ComplexNumber<double>> kComplex128Linear = kLoops<ComplexNumber<double>>;

}  // namespace etb::host::ETB_VARIANT
