// SPDX-License-Identifier: Apache-2.0
// aten::geqrf, linalg_householder_product and ormqr. Matrices are worked on transposed, because reflections are columns.
#include "host/kernels/linalg_reflections.hpp"
#include "ops/geqrf.hpp"
#include "ops/linalg_householder_product.hpp"
#include "ops/ormqr.hpp"

namespace etb::host {
namespace {

template <class T>
etb_status geqrf(KernelContext& context, ops::geqrf_a<KernelArguments> args) {
  const Tensor& self = args.self();
  const int64_t rows = self.size(self.rank() - 2), columns = self.size(self.rank() - 1);
  const MatrixBatch<T> from(self, 2), to(args.a(), 2), to_taus(args.tau(), 1);
  Matrix<T> work;
  T* taus = nullptr;
  const int64_t count = std::min(rows, columns);
  ETB_CHECK(allocate_matrix(context, columns, rows, &work));
  ETB_CHECK(allocate_vector(context, count, &taus));
  const int64_t batch_count = product(batch_sizes(self, 2));
  for (int64_t item = 0; item < batch_count; ++item) {
    ETB_CHECK(copy_matrix(context, from[item], work.transposed()));
    ETB_CHECK(factor_qr(context, work, taus));
    ETB_CHECK(copy_matrix(context, work.transposed(), to[item]));
    ETB_CHECK(copy_matrix(context, Matrix<T>{taus, count, 1, 1, 1}, to_taus[item]));
  }
  return ETB_OK;
}

etb_status geqrf_out(KernelContext& context, ops::geqrf_a<KernelArguments> args) {
  const Tensor& self = args.self();
  ETB_CHECK(expect_matrices(context, "self", self));
  ETB_CHECK(expect_one_dtype(context, {&self, &args.a(), &args.tau()}));
  const int64_t count = std::min(self.size(self.rank() - 2), self.size(self.rank() - 1));
  ETB_CHECK(resize_output(context, args.a(), self.sizes()));
  ETB_CHECK(resize_output(context, args.tau(), BatchedSizes(batch_sizes(self, 2), {count})));
  return with_number(self.dtype(), [&](auto type) { return geqrf<decltype(type)>(context, args); });
}

// Checks reflections as geqrf returns them, with at most as many taus as columns and rows.
etb_status expect_reflections(KernelContext& context, const Tensor& input, const Tensor& tau) {
  ETB_CHECK(expect_matrices(context, "input", input));
  const int rank = input.rank();
  const auto batch = batch_sizes(input, 2);
  if (tau.rank() == rank - 1 && std::equal(batch.begin(), batch.end(), tau.sizes().begin()) &&
      tau.size(rank - 2) <= input.size(rank - 1) && tau.size(rank - 2) <= input.size(rank - 2))
    return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "tau has sizes %s, for reflections of sizes %s",
                      SizesText(tau.sizes()).text, SizesText(input.sizes()).text);
}

// Scratch of reflections that are read from a batch.
template <class T>
struct LoadedReflections {
  Matrix<T> rows;
  T* taus = nullptr;

  etb_status allocate(KernelContext& context, int64_t count, int64_t length) {
    ETB_CHECK(allocate_matrix(context, count, length, &rows));
    return allocate_vector(context, count, &taus);
  }
  etb_status load(KernelContext& context, const Matrix<T>& columns, const Matrix<T>& from_taus) {
    ETB_CHECK(copy_matrix(context, columns.block(0, 0, rows.columns, rows.rows), rows.transposed()));
    return copy_matrix(context, from_taus, Matrix<T>{taus, rows.rows, 1, 1, 1});
  }
  etb_status conjugate_all(KernelContext& context) const {
    ETB_CHECK(conjugate_elements(context, rows));
    return conjugate_elements(context, Matrix<T>{taus, 1, rows.rows, rows.rows, 1});
  }
  Reflections<T> get() const { return {rows, 0, taus}; }
};

template <class T>
etb_status householder_product(KernelContext& context, const Tensor& input, const Tensor& tau,
                               const Tensor& out) {
  const int64_t rows = input.size(input.rank() - 2), columns = input.size(input.rank() - 1);
  const MatrixBatch<T> from(input, 2), from_taus(tau, 1), to(out, 2);
  LoadedReflections<T> reflections;
  Matrix<T> q;
  ETB_CHECK(reflections.allocate(context, tau.size(tau.rank() - 1), rows));
  ETB_CHECK(allocate_matrix(context, columns, rows, &q));
  const int64_t batch_count = product(batch_sizes(input, 2));
  for (int64_t item = 0; item < batch_count; ++item) {
    ETB_CHECK(reflections.load(context, from[item], from_taus[item]));
    ETB_CHECK(set_identity(context, q));
    ETB_CHECK(apply_reflections(context, reflections.get(), true, true, q));
    ETB_CHECK(copy_matrix(context, q.transposed(), to[item]));
  }
  return ETB_OK;
}

etb_status householder_product_out(KernelContext& context,
                                   ops::linalg_householder_product_out<KernelArguments> args) {
  const Tensor &input = args.input(), &tau = args.tau();
  ETB_CHECK(expect_reflections(context, input, tau));
  ETB_CHECK(expect_one_dtype(context, {&input, &tau, &args.out()}));
  if (input.size(input.rank() - 2) < input.size(input.rank() - 1))
    return context.fail(ETB_INVALID_ARGUMENT, "input has sizes %s, expected at least as many rows as columns",
                        SizesText(input.sizes()).text);
  ETB_CHECK(resize_output(context, args.out(), input.sizes()));
  return with_number(input.dtype(), [&](auto type) {
    return householder_product<decltype(type)>(context, input, tau, args.out());
  });
}

template <class T>
etb_status ormqr(KernelContext& context, ops::ormqr_out<KernelArguments> args) {
  const Tensor &input = args.self(), &tau = args.input2(), &other = args.input3();
  const bool is_left = args.left();
  const int64_t length = input.size(input.rank() - 2);
  const MatrixBatch<T> from(input, 2), from_taus(tau, 1), others(other, 2), to(args.out(), 2);
  LoadedReflections<T> reflections;
  Matrix<T> x;
  ETB_CHECK(reflections.allocate(context, tau.size(tau.rank() - 1), length));
  ETB_CHECK(allocate_matrix(context, other.size(other.rank() - (is_left ? 1 : 2)), length, &x));
  const Matrix<T> shown = is_left ? x.transposed() : x;
  const int64_t batch_count = product(batch_sizes(input, 2));
  for (int64_t item = 0; item < batch_count; ++item) {
    ETB_CHECK(reflections.load(context, from[item], from_taus[item]));
    ETB_CHECK(copy_matrix(context, others[item], shown));
    // (C Q)' = Q' C', and Q' is the product of the conjugate reflections' adjoints.
    if (!is_left) ETB_CHECK(reflections.conjugate_all(context));
    ETB_CHECK(apply_reflections(context, reflections.get(), is_left != args.transpose(), false, x));
    ETB_CHECK(copy_matrix(context, shown, to[item]));
  }
  return ETB_OK;
}

etb_status ormqr_out(KernelContext& context, ops::ormqr_out<KernelArguments> args) {
  const Tensor &input = args.self(), &tau = args.input2(), &other = args.input3();
  ETB_CHECK(expect_reflections(context, input, tau));
  ETB_CHECK(expect_matrices(context, "other", other));
  ETB_CHECK(expect_one_dtype(context, {&input, &tau, &other, &args.out()}));
  const auto batch = batch_sizes(input, 2), other_batch = batch_sizes(other, 2);
  if (!std::equal(batch.begin(), batch.end(), other_batch.begin(), other_batch.end()) ||
      other.size(other.rank() - (args.left() ? 2 : 1)) != input.size(input.rank() - 2))
    return context.fail(ETB_INVALID_ARGUMENT, "other has sizes %s, for reflections of sizes %s",
                        SizesText(other.sizes()).text, SizesText(input.sizes()).text);
  ETB_CHECK(resize_output(context, args.out(), other.sizes()));
  return with_number(input.dtype(), [&](auto type) { return ormqr<decltype(type)>(context, args); });
}

constexpr Kernel kRows[] = {
    kernel_row<ops::geqrf_a, geqrf_out>(),
    kernel_row<ops::linalg_householder_product_out, householder_product_out>(),
    kernel_row<ops::ormqr_out, ormqr_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(linalg_qr, kRows);

}  // namespace etb::host
