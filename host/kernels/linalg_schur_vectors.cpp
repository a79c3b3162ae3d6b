// SPDX-License-Identifier: Apache-2.0
// Eigenvectors of triangular matrices, and of real ones with blocks of two rows, by substitution from the last row on.
#include <cmath>

#include "host/kernels/linalg_schur.hpp"

namespace etb::host {
namespace {

using Number = ComplexNumber<double>;

// Bounds that keep vectors in the range of T: the smallest divisor beside the matrix's norm, and the element above which a vector is
// made smaller.
template <class Real>
struct Bounds {
  static constexpr int kExponent = std::numeric_limits<Real>::max_exponent;
  double smallest_divisor, largest_element;

  Bounds(double norm, double value)
      : smallest_divisor(std::max(std::ldexp(norm, -kExponent * 5 / 16),
                                  static_cast<double>(std::numeric_limits<Real>::epsilon()) * value)),
        largest_element(std::ldexp(1.0, kExponent / 8)) {
    if (smallest_divisor == 0) smallest_divisor = 1;
  }
  Number divisor(Number x) const {
    return sum_of_magnitudes(x) < smallest_divisor ? Number(smallest_divisor) : x;
  }
};

// The largest element of the upper triangle.
template <class T>
etb_status largest_element(KernelContext& context, const Matrix<T>& a, double* out) {
  RealOf<T> largest = 0;
  ETB_CHECK(for_each_rows(context, a.rows, a.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i)
      for (int64_t j = i; j < a.columns; ++j) largest = std::max(largest, sum_of_magnitudes(a.at(i, j)));
  }));
  *out = static_cast<double>(largest);
  return ETB_OK;
}

template <class Real>
void shrink(Real* x, int64_t count, double largest) {
  const int exponent = std::ilogb(largest);
  for (int64_t i = 0; i < count; ++i) x[i] = std::ldexp(x[i], -exponent);
}

// The vector of a real matrix's eigenvalue, in two rows: real and imaginary parts. Real values need the first one only.
template <class T>
class RealSubstitution {
 public:
  RealSubstitution(const LinearLoops<T>& loops, const Matrix<T>& t, Number value, double norm, T* re, T* im)
      : loops_(loops), t_(t), value_(value), bounds_(norm, sum_of_magnitudes(value)), re_(re), im_(im) {}

  // Rows [row, row + count) of a diagonal block, when elements [row + count, end) of the vector are known.
  void solve(int64_t row, int64_t count, int64_t end) {
    const Number low = -row_product(row + count - 1, row + count, end);
    if (count == 1) {
      set(row, low / bounds_.divisor(Number(at(row, row)) - value_));
    } else {
      const Number a = Number(at(row, row)) - value_, d = Number(at(row + 1, row + 1)) - value_;
      solve_pair(row, {a, Number(at(row, row + 1)), Number(at(row + 1, row)), d},
                 -row_product(row, row + count, end), low);
    }
    const double largest = std::max(size_at(row), size_at(row + count - 1));
    if (largest <= bounds_.largest_element) return;
    shrink(re_ + row, end - row, largest);
    if (im_ != nullptr) shrink(im_ + row, end - row, largest);
  }
  void set(int64_t i, Number x) {
    re_[i] = static_cast<T>(x.re);
    if (im_ != nullptr) im_[i] = static_cast<T>(x.im);
  }

 private:
  struct Pair {
    Number a, b, c, d;
  };
  double at(int64_t i, int64_t j) const { return static_cast<double>(t_.at(i, j)); }
  double size_at(int64_t i) const {
    return std::max(std::abs(static_cast<double>(re_[i])),
                    im_ == nullptr ? 0 : std::abs(static_cast<double>(im_[i])));
  }
  Number row_product(int64_t row, int64_t begin, int64_t end) const {
    const T* from = t_.row(row) + begin;
    const T re = loops_.dot(from, re_ + begin, end - begin);
    const T im = im_ == nullptr ? T(0) : loops_.dot(from, im_ + begin, end - begin);
    return {static_cast<double>(re), static_cast<double>(im)};
  }
  // [a b; c d] x = (high, low), by elimination with the larger element of the first column.
  void solve_pair(int64_t row, Pair p, Number high, Number low) {
    if (sum_of_magnitudes(p.a) < sum_of_magnitudes(p.c)) {
      std::swap(p.a, p.c);
      std::swap(p.b, p.d);
      std::swap(high, low);
    }
    const Number pivot = bounds_.divisor(p.a), factor = p.c / pivot;
    const Number second = (low - factor * high) / bounds_.divisor(p.d - factor * p.b);
    set(row + 1, second);
    set(row, (high - p.b * second) / pivot);
  }

  const LinearLoops<T>& loops_;
  const Matrix<T>& t_;
  Number value_;
  Bounds<T> bounds_;
  T *re_, *im_;
};

// The first elements from the end: 1 for a real value, a vector of the block for a conjugate pair.
template <class T>
void start_vector(RealSubstitution<T>& vector, const Matrix<T>& t, int64_t k, bool is_pair,
                  double imaginary) {
  if (!is_pair) return vector.set(k, Number(1));
  const auto above = static_cast<double>(t.at(k, k + 1)), below = static_cast<double>(t.at(k + 1, k));
  const bool is_above_larger = std::abs(above) >= std::abs(below);
  vector.set(k, Number(is_above_larger ? 1 : -imaginary / below));
  vector.set(k + 1, {0, is_above_larger ? imaginary / above : 1});
}

template <class T>
etb_status find_vectors(KernelContext& context, const SchurTask<T>& task, const Matrix<T>& x, double norm) {
  const Matrix<T>& t = task.h;
  for (int64_t end = t.rows; end > 0;) {
    const int64_t k = end >= 2 && t.at(end - 1, end - 2) != T(0) ? end - 2 : end - 1;
    const bool is_pair = k + 2 == end;
    const Number value = {static_cast<double>(task.values[k].re), static_cast<double>(task.values[k].im)};
    RealSubstitution<T> vector(vector_table(context).linear<T>(), t, value, norm, x.row(k),
                               is_pair ? x.row(k + 1) : nullptr);
    start_vector(vector, t, k, is_pair, value.im);
    for (int64_t row = k - 1; row >= 0;) {
      const int64_t count = row > 0 && t.at(row, row - 1) != T(0) ? 2 : 1;
      row -= count - 1;
      vector.solve(row, count, end);
      if (context.should_stop(4 + 2 * count * (end - row))) return context.stopped();
      --row;
    }
    end = k;
  }
  return ETB_OK;
}

// Works on the conjugate of the vector, because an inner product conjugates the matrix's row.
template <class T>
etb_status find_vectors(KernelContext& context, const SchurTask<ComplexNumber<T>>& task,
                        const Matrix<ComplexNumber<T>>& x, double norm) {
  const LinearLoops<ComplexNumber<T>>& loops = vector_table(context).linear<ComplexNumber<T>>();
  const Matrix<ComplexNumber<T>>& t = task.h;
  const auto wide = [](ComplexNumber<T> number) {
    return Number(static_cast<double>(number.re), static_cast<double>(number.im));
  };
  for (int64_t k = 0; k < t.rows; ++k) {
    const Number value = wide(t.at(k, k));
    const Bounds<T> bounds(norm, sum_of_magnitudes(value));
    ComplexNumber<T>* vector = x.row(k);
    vector[k] = T(1);
    for (int64_t row = k - 1; row >= 0; --row) {
      const Number known = wide(loops.dot(t.row(row) + row + 1, vector + row + 1, k - row));
      const Number element = -known / conjugate(bounds.divisor(wide(t.at(row, row)) - value));
      vector[row] = {static_cast<T>(element.re), static_cast<T>(element.im)};
      const double size = std::max(std::abs(element.re), std::abs(element.im));
      if (size > bounds.largest_element) shrink(&vector[row].re, 2 * (k + 1 - row), size);
      if (context.should_stop(4 + 2 * (k - row))) return context.stopped();
    }
  }
  return conjugate_elements(context, x);
}

}  // namespace

template <class T>
etb_status find_triangular_vectors(KernelContext& context, const SchurTask<T>& task,
                                   const Matrix<T>& x) noexcept {
  double norm = 0;
  ETB_CHECK(largest_element(context, task.h, &norm));
  ETB_CHECK(fill_matrix(context, x, T(0)));
  return find_vectors(context, task, x, norm);
}

#define ETB_INSTANTIATE(T) \
  template etb_status find_triangular_vectors(KernelContext&, const SchurTask<T>&, const Matrix<T>&) noexcept;
ETB_INSTANTIATE(float)
ETB_INSTANTIATE(double)
ETB_INSTANTIATE(ComplexNumber<float>)
ETB_INSTANTIATE(ComplexNumber<double>)
#undef ETB_INSTANTIATE

}  // namespace etb::host
