// SPDX-License-Identifier: Apache-2.0
// The butterflies of Fourier transforms. Many transforms run side by side: the innermost index counts them, so that every loop
// is over neighbouring numbers with one pair of factors.
#include "host/kernels/vector/table.hpp"
#include "host/kernels/vector/variant.hpp"

namespace etb::host::ETB_VARIANT {
namespace {

// A complex number, in registers.
template <class T>
struct Number {
  T re, im;
};
template <class T>
ETB_INLINE Number<T> operator+(Number<T> a, Number<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
ETB_INLINE Number<T> operator-(Number<T> a, Number<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
ETB_INLINE Number<T> operator*(Number<T> a, Number<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T>
ETB_INLINE Number<T> operator*(T a, Number<T> b) {
  return {a * b.re, a * b.im};
}
template <class T>
ETB_INLINE Number<T> times_minus_i(Number<T> a) {
  return {a.im, -a.re};
}

// out[j] = the sum over k of in[k] e^(-2 pi i j k / kRadix).
template <int kRadix, class T>
ETB_INLINE void butterfly(const Number<T>* in, Number<T>* out) {
  if constexpr (kRadix == 2) {
    out[0] = in[0] + in[1];
    out[1] = in[0] - in[1];
  } else if constexpr (kRadix == 3) {
    constexpr T kSine = static_cast<T>(0.86602540378443864676);
    const Number<T> sum = in[1] + in[2], middle = in[0] - T(0.5) * sum;
    const Number<T> turned = times_minus_i(kSine * (in[1] - in[2]));
    out[0] = in[0] + sum;
    out[1] = middle + turned;
    out[2] = middle - turned;
  } else if constexpr (kRadix == 4) {
    const Number<T> a = in[0] + in[2], b = in[0] - in[2], c = in[1] + in[3];
    const Number<T> d = times_minus_i(in[1] - in[3]);
    out[0] = a + c;
    out[1] = b + d;
    out[2] = a - c;
    out[3] = b - d;
  } else {
    static_assert(kRadix == 5);
    constexpr T kCosine1 = static_cast<T>(0.30901699437494742410),
                kCosine2 = static_cast<T>(-0.80901699437494742410);
    constexpr T kSine1 = static_cast<T>(0.95105651629515357212),
                kSine2 = static_cast<T>(0.58778525229247312917);
    const Number<T> a = in[1] + in[4], b = in[2] + in[3], c = in[1] - in[4], d = in[2] - in[3];
    const Number<T> first = in[0] + kCosine1 * a + kCosine2 * b, second = in[0] + kCosine2 * a + kCosine1 * b;
    const Number<T> third = times_minus_i(kSine1 * c + kSine2 * d),
                    fourth = times_minus_i(kSine2 * c - kSine1 * d);
    out[0] = in[0] + a + b;
    out[1] = first + third;
    out[2] = second + fourth;
    out[3] = second - fourth;
    out[4] = first - third;
  }
}

template <int kRadix, class T>
void pass_of(const FourierPass<T>& pass) {
  for (int64_t p = pass.p_begin; p < pass.p_end; ++p) {
    Number<T> factors[kRadix];
    for (int j = 1; j < kRadix; ++j)
      factors[j] = {pass.roots_re[j * p * pass.step], pass.roots_im[j * p * pass.step]};
    const int64_t in = p * pass.run, in_step = pass.groups * pass.run, out = p * pass.run * kRadix;
    const T* in_re = pass.in_re + in;
    const T* in_im = pass.in_im + in;
    T* out_re = pass.out_re + out;
    T* out_im = pass.out_im + out;
    ETB_LOOP for (int64_t q = pass.q_begin; q < pass.q_end; ++q) {
      Number<T> a[kRadix], b[kRadix];
      for (int k = 0; k < kRadix; ++k) a[k] = {in_re[q + k * in_step], in_im[q + k * in_step]};
      butterfly<kRadix>(a, b);
      out_re[q] = b[0].re;
      out_im[q] = b[0].im;
      for (int j = 1; j < kRadix; ++j) {
        const Number<T> y = b[j] * factors[j];
        out_re[q + j * pass.run] = y.re;
        out_im[q + j * pass.run] = y.im;
      }
    }
  }
}

// Any radix, by the definition.
template <class T>
void pass_of_any(const FourierPass<T>& pass) {
  const int64_t root_step = pass.length / pass.radix;
  for (int64_t p = pass.p_begin; p < pass.p_end; ++p) {
    const int64_t in = p * pass.run, in_step = pass.groups * pass.run, out = p * pass.run * pass.radix;
    for (int64_t j = 0; j < pass.radix; ++j) {
      T* out_re = pass.out_re + out + j * pass.run;
      T* out_im = pass.out_im + out + j * pass.run;
      ETB_LOOP for (int64_t q = pass.q_begin; q < pass.q_end; ++q) {
        out_re[q] = pass.in_re[in + q];
        out_im[q] = pass.in_im[in + q];
      }
      for (int64_t k = 1; k < pass.radix; ++k) {
        const int64_t at = j * k % pass.radix * root_step;
        const Number<T> root = {pass.roots_re[at], pass.roots_im[at]};
        const T* in_re = pass.in_re + in + k * in_step;
        const T* in_im = pass.in_im + in + k * in_step;
        ETB_LOOP for (int64_t q = pass.q_begin; q < pass.q_end; ++q) {
          out_re[q] += in_re[q] * root.re - in_im[q] * root.im;
          out_im[q] += in_re[q] * root.im + in_im[q] * root.re;
        }
      }
      const int64_t at = j * p * pass.step;
      const Number<T> factor = {pass.roots_re[at], pass.roots_im[at]};
      ETB_LOOP for (int64_t q = pass.q_begin; q < pass.q_end; ++q) {
        const Number<T> y = Number<T>{out_re[q], out_im[q]} * factor;
        out_re[q] = y.re;
        out_im[q] = y.im;
      }
    }
  }
}

template <class T>
void run_pass(const FourierPass<T>& pass) {
  switch (pass.radix) {
    case 2:
      return pass_of<2>(pass);
    case 3:
      return pass_of<3>(pass);
    case 4:
      return pass_of<4>(pass);
    case 5:
      return pass_of<5>(pass);
    default:
      return pass_of_any(pass);
  }
}

// out[i] = in[i] * factors[i / lanes], for i from begin * lanes to end * lanes.
template <class T>
void scale_rows(T* out_re, T* out_im, const T* in_re, const T* in_im, const T* factors_re,
                const T* factors_im, int64_t begin, int64_t end, int64_t lanes) {
  for (int64_t i = begin; i < end; ++i) {
    const Number<T> factor = {factors_re[i], factors_im[i]};
    ETB_LOOP for (int64_t q = i * lanes; q < (i + 1) * lanes; ++q) {
      const Number<T> y = Number<T>{in_re[q], in_im[q]} * factor;
      out_re[q] = y.re;
      out_im[q] = y.im;
    }
  }
}

// A transform Z of length m of pairs of neighbours (x[2j], x[2j + 1]) as complex numbers holds that of the 2 m real ones, at k:
// (Z[k] + conj Z[m - k]) / 2 - i w^k (Z[k] - conj Z[m - k]) / 2, with Z[m] = Z[0].
template <class T>
void split_pairs(T* out_re, T* out_im, const T* in_re, const T* in_im, const T* roots_re, const T* roots_im,
                 int64_t m, int64_t begin, int64_t end, int64_t lanes) {
  for (int64_t k = begin; k < end; ++k) {
    const Number<T> half_root = {T(0.5) * roots_re[k], T(0.5) * roots_im[k]};
    const int64_t here = (k == m ? 0 : k) * lanes, there = (k == 0 ? 0 : m - k) * lanes;
    ETB_LOOP for (int64_t q = 0; q < lanes; ++q) {
      const Number<T> a = {in_re[here + q], in_im[here + q]}, b = {in_re[there + q], -in_im[there + q]};
      const Number<T> y = T(0.5) * (a + b) + times_minus_i(half_root * (a - b));
      out_re[k * lanes + q] = y.re;
      out_im[k * lanes + q] = y.im;
    }
  }
}

// The other way round, for an inverse transform without its scale: Z[k] = X[k] + conj X[m - k] + i w^-k (X[k] - conj X[m - k]).
template <class T>
void join_pairs(T* out_re, T* out_im, const T* in_re, const T* in_im, const T* roots_re, const T* roots_im,
                int64_t m, int64_t begin, int64_t end, int64_t lanes) {
  for (int64_t k = begin; k < end; ++k) {
    const Number<T> root = {roots_re[k], -roots_im[k]};
    const int64_t here = k * lanes, there = (m - k) * lanes;
    ETB_LOOP for (int64_t q = 0; q < lanes; ++q) {
      const Number<T> a = {in_re[here + q], in_im[here + q]}, b = {in_re[there + q], -in_im[there + q]};
      const Number<T> turned = root * (a - b);
      out_re[here + q] = a.re + b.re - turned.im;
      out_im[here + q] = a.im + b.im + turned.re;
    }
  }
}

}  // namespace

#define ETB_FOURIER(type) \
  { run_pass<type>, scale_rows<type>, split_pairs<type>, join_pairs<type> }
extern const FourierLoops<float> kFloatFourier;
extern const FourierLoops<double> kDoubleFourier;
const FourierLoops<float> kFloatFourier = ETB_FOURIER(float);
const FourierLoops<double> kDoubleFourier = ETB_FOURIER(double);

}  // namespace etb::host::ETB_VARIANT
