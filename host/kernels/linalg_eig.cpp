// SPDX-License-Identifier: Apache-2.0
// aten::linalg_eig and linalg_eigvals: eigenvalues and eigenvectors of any square matrices. Results are complex for real matrices, too.
// The value with a positive imaginary part comes first in a conjugate pair.
#include "ops/linalg_eig.hpp"
#include "host/kernels/linalg_schur.hpp"
#include "host/kernels/linalg_spectrum.hpp"
#include "ops/linalg_eigvals.hpp"

namespace etb::host {
namespace {

template <class T>
struct Work {
  using Value = ComplexNumber<RealOf<T>>;
  Matrix<T> h, q;
  Balance balance;
  HessenbergWork<T> reduction;
  Value *values, *vector;

  etb_status allocate(KernelContext& context, int64_t size, bool has_vectors) {
    ETB_CHECK(allocate_matrix(context, size, size, &h));
    if (has_vectors) ETB_CHECK(allocate_matrix(context, size, size, &q));
    ETB_CHECK(balance.allocate(context, size));
    ETB_CHECK(reduction.allocate(context, size, has_vectors));
    ETB_CHECK(allocate_vector(context, size, &values));
    return allocate_vector(context, size, &vector);
  }

  // Decomposes the matrix in `h`, where eigenvectors become rows.
  etb_status run(KernelContext& context) {
    ETB_CHECK(etb::host::balance(context, h, &balance));
    ETB_CHECK(make_hessenberg(context, h, balance, reduction, q));
    const SchurTask<T> task = {h, q, balance.first, balance.last, values};
    ETB_CHECK(make_triangular(context, task));
    if (q.data == nullptr) return ETB_OK;
    const Matrix<T>& of_triangle = reduction.vectors;  // reflections are not needed any more
    ETB_CHECK(find_triangular_vectors(context, task, of_triangle));
    ETB_CHECK(multiply(context, h, of_triangle, q));
    return undo_balance(context, balance, h);
  }

  // Copies eigenvector k to `vector`, and returns true if it is that of a real matrix's conjugate pair.
  bool read_vector(int64_t k) const {
    const bool is_pair = !kIsComplex<T> && values[k].im > 0;
    for (int64_t i = 0; i < h.columns; ++i) {
      if constexpr (kIsComplex<T>) {
        vector[i] = h.at(k, i);
      } else {
        vector[i] = {h.at(k, i), is_pair ? h.at(k + 1, i) : T(0)};
      }
    }
    return is_pair;
  }

  // Gives `vector` the norm 1, and a real element where its magnitude is the largest. A real vector keeps its sign.
  void normalise(bool is_complex) const {
    using Real = RealOf<T>;
    double largest = 0, squares = 0;
    int64_t position = 0;
    for (int64_t i = 0; i < h.columns; ++i) {
      const auto size = static_cast<double>(magnitude(vector[i]));
      if (size > largest) position = i;
      largest = std::max(largest, size);
      squares += size * size;
    }
    if (largest == 0) return;
    const auto norm = static_cast<Real>(std::sqrt(squares));
    const Value phase = is_complex ? conjugate(vector[position]) / static_cast<Real>(largest) : Value(1);
    for (int64_t i = 0; i < h.columns; ++i) vector[i] = vector[i] * phase / norm;
    if (is_complex) vector[position].im = 0;
  }

  etb_status write_vectors(KernelContext& context, const Matrix<Value>& out) const {
    for (int64_t k = 0; k < h.rows; ++k) {
      if (context.should_stop(1 + 2 * h.columns)) return context.stopped();
      const bool is_pair = read_vector(k);
      normalise(is_pair || kIsComplex<T>);
      for (int64_t i = 0; i < h.columns; ++i) out.at(i, k) = vector[i];
      if (!is_pair) continue;
      ++k;
      for (int64_t i = 0; i < h.columns; ++i) out.at(i, k) = conjugate(vector[i]);
    }
    return ETB_OK;
  }
};

template <class T>
etb_status eig(KernelContext& context, const Tensor& a, const Tensor& out_values, const Tensor* out_vectors) {
  using Value = ComplexNumber<RealOf<T>>;
  const int64_t size = a.size(a.rank() - 1);
  const MatrixBatch<T> from(a, 2);
  const MatrixBatch<Value> values(out_values, 1);
  Work<T> work;
  ETB_CHECK(work.allocate(context, size, out_vectors != nullptr));
  const int64_t batch_count = product(batch_sizes(a, 2));
  for (int64_t item = 0; item < batch_count; ++item) {
    double scale = 1;
    ETB_CHECK(copy_matrix(context, from[item], work.h));
    ETB_CHECK(scale_to_range(context, as_parts(work.h), &scale));
    if (scale != scale)
      return context.fail(ETB_INVALID_ARGUMENT, "matrix %lld of the batch has elements that are not finite",
                          static_cast<long long>(item));
    ETB_CHECK(work.run(context));
    const Matrix<Value> values_out = values[item];
    for (int64_t i = 0; i < size; ++i) {
      const Value value = work.values[i];
      values_out.at(i, 0) = {static_cast<RealOf<T>>(value.re * scale),
                             static_cast<RealOf<T>>(value.im * scale)};
    }
    if (out_vectors != nullptr)
      ETB_CHECK(work.write_vectors(context, MatrixBatch<Value>(*out_vectors, 2)[item]));
  }
  return ETB_OK;
}

// Checks the matrices and the dtypes of results, and resizes these; there may be no vectors.
etb_status run(KernelContext& context, const Tensor& a, Tensor& values, Tensor* vectors) {
  ETB_CHECK(expect_square(context, "self", a));
  ETB_CHECK(expect_one_dtype(context, {&a}));
  const Dtype expected = is_complex(a.dtype()) ? a.dtype() : ops::complex_of(a.dtype());
  for (const Tensor* out : {static_cast<const Tensor*>(&values), static_cast<const Tensor*>(vectors)})
    if (out != nullptr && out->dtype() != expected)
      return context.fail(ETB_INVALID_TYPE, "a result of %s, expected %s for a matrix of %s",
                          to_text(out->dtype()), to_text(expected), to_text(a.dtype()));
  ETB_CHECK(resize_output(context, values, BatchedSizes(batch_sizes(a, 2), {a.size(a.rank() - 1)})));
  if (vectors != nullptr) ETB_CHECK(resize_output(context, *vectors, a.sizes()));
  return with_number(a.dtype(), [&](auto type) { return eig<decltype(type)>(context, a, values, vectors); });
}

etb_status eig_out(KernelContext& context, ops::linalg_eig_out<KernelArguments> args) {
  return run(context, args.self(), args.eigenvalues(), &args.eigenvectors());
}
etb_status eigvals_out(KernelContext& context, ops::linalg_eigvals_out<KernelArguments> args) {
  return run(context, args.self(), args.out(), nullptr);
}

constexpr Kernel kRows[] = {
    kernel_row<ops::linalg_eig_out, eig_out>(),
    kernel_row<ops::linalg_eigvals_out, eigvals_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(linalg_eig, kRows);

}  // namespace etb::host
