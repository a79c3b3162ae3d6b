// SPDX-License-Identifier: Apache-2.0
// QR steps with one shift for complex matrices, by rotations of neighbouring rows and columns.
#include <cmath>
#include <complex>

#include "host/kernels/linalg_schur.hpp"
#include "host/kernels/linalg_spectrum.hpp"

namespace etb::host {
namespace {

using Number = ComplexNumber<double>;

template <class T>
Number wide(ComplexNumber<T> x) {
  return {static_cast<double>(x.re), static_cast<double>(x.im)};
}
template <class T>
ComplexNumber<T> narrow(Number x) {
  return {static_cast<T>(x.re), static_cast<T>(x.im)};
}
Number square_root(Number x) {
  const std::complex<double> root = std::sqrt(std::complex<double>(x.re, x.im));
  return {root.real(), root.imag()};
}

// [c s; -conj(s) c] turns (x, y) into (r, 0).
struct ComplexRotation {
  double cosine;
  Number sine, r;
};
ComplexRotation make_complex_rotation(Number x, Number y) {
  const double of_x = length_of(x.re, x.im), of_y = length_of(y.re, y.im), length = length_of(of_x, of_y);
  if (of_y == 0) return {1, Number(0), x};
  if (of_x == 0) return {0, conjugate(y) / of_y, Number(of_y)};
  const Number phase = x / of_x;
  return {of_x / length, phase * conjugate(y) / length, phase * length};
}

// Rotates columns k and k + 1 of rows [begin, end), which is the rotation of rows by the conjugate sine.
template <class T>
void rotate_columns(const Matrix<ComplexNumber<T>>& h, int64_t k, int64_t begin, int64_t end, T cosine,
                    ComplexNumber<T> sine) {
  for (int64_t i = begin; i < end; ++i) {
    ComplexNumber<T>* x = h.row(i) + k;
    const ComplexNumber<T> old = x[0], other = x[1];
    x[0] = cosine * old + conjugate(sine) * other;
    x[1] = cosine * other - sine * old;
  }
}

// Wilkinson's: the eigenvalue of the last two rows that is closer to the last element.
template <class T>
Number choose_shift(const Matrix<ComplexNumber<T>>& h, int64_t begin, int64_t end, int64_t step) {
  const auto at = [&](int64_t i, int64_t j) { return wide(h.at(i, j)); };
  const int64_t unusual = step % (2 * kStepsToUnusualShift);
  if (step > 0 && unusual == 0) return at(end, end) + Number(0.75 * magnitude(at(end, end - 1)));
  if (unusual == kStepsToUnusualShift)
    return at(begin, begin) + Number(0.75 * magnitude(at(begin + 1, begin)));
  const Number last = at(end, end), beside = square_root(at(end - 1, end)) * square_root(at(end, end - 1));
  if (beside == Number(0)) return last;
  const Number half = 0.5 * (at(end - 1, end - 1) - last);
  const double size = std::max(sum_of_magnitudes(half), sum_of_magnitudes(beside));
  const Number x = half / size, y = beside / size;
  Number root = size * square_root(x * x + y * y);
  if (half.re * root.re + half.im * root.im < 0) root = -root;
  return last - beside * (beside / (half + root));
}

// A step on rows [begin, end], at least two.
template <class T>
bool run_step(KernelContext& context, const SchurTask<ComplexNumber<T>>& task, int64_t begin, int64_t end,
              Number shift) {
  constexpr double kEpsilon = std::numeric_limits<T>::epsilon();
  const LinearLoops<ComplexNumber<T>>& loops = vector_table(context).linear<ComplexNumber<T>>();
  const Matrix<ComplexNumber<T>>& h = task.h;
  const auto size = [&](int64_t i, int64_t j) { return sum_of_magnitudes(wide(h.at(i, j))); };
  // Two small elements after each other below the diagonal let the step start there.
  int64_t m = end - 1;
  for (; m > begin; --m) {
    const double first = sum_of_magnitudes(wide(h.at(m, m)) - shift), second = size(m + 1, m);
    if (size(m, m - 1) * (second / (first + second)) <=
        kEpsilon * (first / (first + second)) * (size(m, m) + size(m + 1, m + 1)))
      break;
  }
  const bool has_vectors = task.has_vectors();
  const int64_t first_row = has_vectors ? 0 : begin, columns = has_vectors ? h.columns : end + 1;
  for (int64_t k = m; k < end; ++k) {
    const Number x = k > m ? wide(h.at(k, k - 1)) : wide(h.at(k, k)) - shift;
    const Number y = k > m ? wide(h.at(k + 1, k - 1)) : wide(h.at(k + 1, k));
    const ComplexRotation rotation = make_complex_rotation(x, y);
    const auto cosine = static_cast<T>(rotation.cosine);
    const ComplexNumber<T> sine = narrow<T>(rotation.sine);
    if (k > m) {
      h.at(k, k - 1) = narrow<T>(rotation.r);
      h.at(k + 1, k - 1) = T(0);
    } else if (m > begin) {
      h.at(k, k - 1) = cosine * h.at(k, k - 1);
    }
    loops.rotate_by_phase(h.row(k) + k, h.row(k + 1) + k, cosine, sine, columns - k);
    rotate_columns(h, k, first_row, std::min(k + 2, end) + 1, cosine, sine);
    if (has_vectors)
      loops.rotate_by_phase(task.q.row(k), task.q.row(k + 1), cosine, conjugate(sine), task.q.columns);
    if (context.should_stop(1 + columns + end)) return false;
  }
  return true;
}

}  // namespace

template <class T>
etb_status make_triangular(KernelContext& context, const SchurTask<T>& task) noexcept {
  const Matrix<T>& h = task.h;
  int64_t steps_left = kStepsOfMatrix * std::max<int64_t>(10, h.rows), step = 0;
  for (int64_t i = 0; i < h.rows; ++i) task.values[i] = h.at(i, i);
  for (int64_t end = task.last; end >= task.first;) {
    const int64_t begin = split_block(task, end);
    if (context.should_stop(1 + end - begin)) return context.stopped();
    if (begin == end) {
      task.values[end] = h.at(end, end);
      --end;
      step = 0;
      continue;
    }
    if (--steps_left < 0) return fail_qr_steps(context);
    if (!run_step(context, task, begin, end, choose_shift(h, begin, end, step++))) return context.stopped();
  }
  return ETB_OK;
}

template etb_status make_triangular(KernelContext&, const SchurTask<ComplexNumber<float>>&) noexcept;
template etb_status make_triangular(KernelContext&, const SchurTask<ComplexNumber<double>>&) noexcept;

}  // namespace etb::host
