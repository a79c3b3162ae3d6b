// SPDX-License-Identifier: Apache-2.0
// QR steps with two shifts at a time (Francis), so that conjugate eigenvalues of a real matrix need no complex numbers.
#include <cmath>

#include "host/kernels/linalg_schur.hpp"

namespace etb::host {
namespace {

// H = I - tau v v' for v = (1, v1, v2), of which the last is 0 in a reflection of two rows.
struct SmallReflection {
  double v1, v2, tau, beta;
};
SmallReflection make_small_reflection(double x0, double x1, double x2) {
  const double rest = std::hypot(x1, x2);
  if (rest == 0) return {0, 0, 0, x0};
  const double beta = -std::copysign(std::hypot(x0, rest), x0);
  return {x1 / (x0 - beta), x2 / (x0 - beta), (beta - x0) / beta, beta};
}

template <class T>
bool reflect_rows(KernelContext& context, const Matrix<T>& a, int64_t row, int64_t column, int64_t end,
                  int64_t count, const SmallReflection& h) {
  const T v[] = {1, static_cast<T>(h.v1), static_cast<T>(h.v2)};
  vector_table(context).linear<T>().reflect(a.row(row) + column, a.row(row + 1) + column,
                                            count == 3 ? a.row(row + 2) + column : nullptr, v,
                                            static_cast<T>(h.tau), end - column);
  return !context.should_stop(1 + end - column);
}

template <class T>
bool reflect_columns(KernelContext& context, const Matrix<T>& a, int64_t column, int64_t row, int64_t end,
                     int64_t count, const SmallReflection& h) {
  const auto v1 = static_cast<T>(h.v1), v2 = static_cast<T>(h.v2);
  const auto t0 = static_cast<T>(h.tau), t1 = static_cast<T>(h.tau * h.v1), t2 = static_cast<T>(h.tau * h.v2);
  for (int64_t i = row; i < end; ++i) {
    T* x = a.row(i) + column;
    const T sum = count == 2 ? x[0] + v1 * x[1] : x[0] + v1 * x[1] + v2 * x[2];
    x[0] -= t0 * sum;
    x[1] -= t1 * sum;
    if (count == 3) x[2] -= t2 * sum;
  }
  return !context.should_stop(1 + end - row);
}

// Two conjugate numbers, or two real ones.
struct Shifts {
  double first, second, imaginary;
};

// Eigenvalues of a block of two rows; of two real ones that closer to d, twice.
Shifts shifts_of(double a, double b, double c, double d) {
  const double middle = (a + d) / 2, square = (a - d) / 2 * ((a - d) / 2) + b * c;
  if (square < 0) return {middle, middle, std::sqrt(-square)};
  const double root = std::sqrt(square), larger = middle + root, smaller = middle - root;
  const double best = std::abs(larger - d) <= std::abs(smaller - d) ? larger : smaller;
  return {best, best, 0};
}

template <class T>
Shifts choose_shifts(const Matrix<T>& h, int64_t begin, int64_t end, int64_t step) {
  const auto at = [&](int64_t i, int64_t j) { return static_cast<double>(h.at(i, j)); };
  const int64_t unusual = step % (2 * kStepsToUnusualShift);
  if (step > 0 && unusual == 0) {
    const double size = std::abs(at(end, end - 1)) + (end - 2 >= begin ? std::abs(at(end - 1, end - 2)) : 0);
    const double value = 0.75 * size + at(end, end);
    return shifts_of(value, -0.4375 * size, size, value);
  }
  if (unusual == kStepsToUnusualShift) {
    const double size = std::abs(at(begin + 1, begin)) + std::abs(at(begin + 2, begin + 1));
    const double value = 0.75 * size + at(begin, begin);
    return shifts_of(value, -0.4375 * size, size, value);
  }
  return shifts_of(at(end - 1, end - 1), at(end - 1, end), at(end, end - 1), at(end, end));
}

// The first column of (H - s1)(H - s2) from row m on, divided by its size.
struct Start {
  double x, y, z;
};
template <class T>
Start start_at(const Matrix<T>& h, int64_t m, const Shifts& s) {
  const auto at = [&](int64_t i, int64_t j) { return static_cast<double>(h.at(m + i, m + j)); };
  const double size = std::abs(at(0, 0) - s.second) + std::abs(s.imaginary) + std::abs(at(1, 0));
  const double below = at(1, 0) / size;
  const double x = below * at(0, 1) + (at(0, 0) - s.first) * ((at(0, 0) - s.second) / size) +
                   s.imaginary * (s.imaginary / size);
  const double y = below * (at(0, 0) + at(1, 1) - s.first - s.second), z = below * at(2, 1);
  const double sum = std::abs(x) + std::abs(y) + std::abs(z);
  return sum == 0 ? Start{0, 0, 0} : Start{x / sum, y / sum, z / sum};
}

// A step on rows [begin, end], at least three.
template <class T>
bool run_step(KernelContext& context, const SchurTask<T>& task, int64_t begin, int64_t end,
              const Shifts& shifts) {
  constexpr double kEpsilon = std::numeric_limits<T>::epsilon();
  const Matrix<T>& h = task.h;
  const auto size = [&](int64_t i, int64_t j) { return std::abs(static_cast<double>(h.at(i, j))); };
  // Two small elements after each other below the diagonal let the step start there.
  int64_t m = end - 2;
  Start start = start_at(h, m, shifts);
  for (; m > begin; start = start_at(h, --m, shifts))
    if (size(m, m - 1) * (std::abs(start.y) + std::abs(start.z)) <=
        kEpsilon * std::abs(start.x) * (size(m - 1, m - 1) + size(m, m) + size(m + 1, m + 1)))
      break;
  const int64_t first_row = task.has_vectors() ? 0 : begin,
                columns = task.has_vectors() ? h.columns : end + 1;
  for (int64_t k = m; k < end; ++k) {
    const int64_t count = std::min<int64_t>(3, end - k + 1);
    if (k > m) start = {h.at(k, k - 1), h.at(k + 1, k - 1), count == 3 ? h.at(k + 2, k - 1) : T(0)};
    const SmallReflection reflection = make_small_reflection(start.x, start.y, start.z);
    if (k > m) {
      h.at(k, k - 1) = static_cast<T>(reflection.beta);
      for (int64_t i = 1; i < count; ++i) h.at(k + i, k - 1) = 0;
    } else if (m > begin) {
      h.at(k, k - 1) *= static_cast<T>(1 - reflection.tau);
    }
    if (!reflect_rows(context, h, k, k, columns, count, reflection) ||
        !reflect_columns(context, h, k, first_row, std::min(k + 3, end) + 1, count, reflection))
      return false;
    if (task.has_vectors() && !reflect_rows(context, task.q, k, 0, task.q.columns, count, reflection))
      return false;
  }
  return true;
}

// A block [a b; c d] after a rotation: triangular, or with equal diagonal elements where its eigenvalues are complex.
struct RotatedBlock {
  double a, b, c, d, cosine, sine;
};

RotatedBlock make_block_triangular(double a, double b, double c, double d) {
  if (c == 0) return {a, b, c, d, 1, 0};
  const double half = (a - d) / 2, root = std::sqrt(std::max(0.0, half * half + b * c));
  // d + z and d - b * c / z are the eigenvalues, (z, c) is a vector of the first.
  const double z = half + std::copysign(root, half), length = std::hypot(z, c);
  return {d + z, b - c, 0, z == 0 ? d : d - b * (c / z), z / length, c / length};
}

RotatedBlock rotate_block(double a, double b, double c, double d) {
  const double half = (a - d) / 2;
  if (half * half + b * c >= 0) return make_block_triangular(a, b, c, d);
  double cosine = 1, sine = 0;
  if (a != d) {  // tan(2 angle) = (d - a) / (b + c)
    const double length = std::hypot(b + c, a - d);
    cosine = std::sqrt((1 + std::abs(b + c) / length) / 2);
    sine = -half / (length * cosine) * std::copysign(1.0, b + c);
  }
  const double aa = a * cosine + b * sine, bb = b * cosine - a * sine, cc = c * cosine + d * sine,
               dd = d * cosine - c * sine;
  const double above = bb * cosine + dd * sine, below = cc * cosine - aa * sine, middle = (a + d) / 2;
  if (above * below >= 0) return make_block_triangular(a, b, c, d);  // by rounding
  return {middle, above, below, middle, cosine, sine};
}

// Rows [i, i + 1] are a block of their own.
template <class T>
etb_status finish_block(KernelContext& context, const SchurTask<T>& task, int64_t i) {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  const Matrix<T>& h = task.h;
  const auto at = [&](int64_t row, int64_t column) { return static_cast<double>(h.at(row, column)); };
  const RotatedBlock block = rotate_block(at(i, i), at(i, i + 1), at(i + 1, i), at(i + 1, i + 1));
  const double imaginary = block.c == 0 ? 0 : std::sqrt(std::abs(block.b)) * std::sqrt(std::abs(block.c));
  task.values[i] = {static_cast<T>(block.a), static_cast<T>(imaginary)};
  task.values[i + 1] = {static_cast<T>(block.d), static_cast<T>(-imaginary)};
  if (block.c == 0) task.values[i].im = task.values[i + 1].im = 0;
  h.at(i, i) = static_cast<T>(block.a);
  h.at(i, i + 1) = static_cast<T>(block.b);
  h.at(i + 1, i) = static_cast<T>(block.c);
  h.at(i + 1, i + 1) = static_cast<T>(block.d);
  if (!task.has_vectors() || block.sine == 0) return ETB_OK;
  if (context.should_stop(1 + 2 * h.columns)) return context.stopped();
  const auto cosine = static_cast<T>(block.cosine), sine = static_cast<T>(block.sine);
  if (i + 2 < h.columns)
    loops.rotate(h.row(i) + i + 2, h.row(i + 1) + i + 2, cosine, sine, h.columns - i - 2);
  for (int64_t j = 0; j < i; ++j) loops.rotate(&h.at(j, i), &h.at(j, i + 1), cosine, sine, 1);
  loops.rotate(task.q.row(i), task.q.row(i + 1), cosine, sine, task.q.columns);
  return ETB_OK;
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
    if (begin + 1 < end) {
      if (--steps_left < 0) return fail_qr_steps(context);
      if (!run_step(context, task, begin, end, choose_shifts(h, begin, end, step++)))
        return context.stopped();
      continue;
    }
    if (begin == end) task.values[end] = h.at(end, end);
    if (begin < end) ETB_CHECK(finish_block(context, task, begin));
    end = begin - 1;
    step = 0;
  }
  return ETB_OK;
}

template etb_status make_triangular(KernelContext&, const SchurTask<float>&) noexcept;
template etb_status make_triangular(KernelContext&, const SchurTask<double>&) noexcept;

}  // namespace etb::host
