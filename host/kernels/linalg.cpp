// SPDX-License-Identifier: Apache-2.0
// Batches and products for the kernels of linear algebra.
#include "host/kernels/linalg.hpp"

namespace etb::host {
namespace {

template <class T>
GemmTask make_task(const Matrix<T>& c, const Matrix<T>& a, const Matrix<T>& b) {
  GemmTask task = {};
  task.m = c.rows;
  task.n = c.columns;
  task.k = a.columns;
  task.a = a.data;
  task.a_row_stride = a.row_stride;
  task.a_column_stride = a.column_stride;
  task.b = b.data;
  task.b_row_stride = b.row_stride;
  task.b_column_stride = b.column_stride;
  task.c = c.data;
  task.c_row_stride = c.row_stride;
  task.c_column_stride = c.column_stride;
  task.a_dtype = task.b_dtype = task.c_dtype = task.init_dtype = kDtypeOf<T>;
  task.c_run = task.c_pitch = std::max<int64_t>(1, task.n);
  return task;
}

}  // namespace

int64_t product(std::span<const int64_t> sizes) noexcept {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;  // of a tensor that exists
  return count;
}

etb_status broadcast_batches(KernelContext& context, const Tensor& a, int a_item_rank, const Tensor& b,
                             int b_item_rank, int64_t* out_sizes, size_t* out_count) noexcept {
  const auto of_a = batch_sizes(a, a_item_rank), of_b = batch_sizes(b, b_item_rank);
  const size_t count = *out_count = std::max(of_a.size(), of_b.size());
  for (size_t i = 0; i < count; ++i) {
    const int64_t size_a = i + of_a.size() < count ? 1 : of_a[i + of_a.size() - count];
    const int64_t size_b = i + of_b.size() < count ? 1 : of_b[i + of_b.size() - count];
    if (size_a != size_b && size_a != 1 && size_b != 1)
      return context.fail(ETB_INVALID_ARGUMENT, "batches of %s and %s do not broadcast",
                          SizesText(a.sizes()).text, SizesText(b.sizes()).text);
    out_sizes[i] = size_a == 1 ? size_b : size_a;
  }
  return ETB_OK;
}

etb_status expect_matrices(KernelContext& context, const char* name, const Tensor& tensor) noexcept {
  if (tensor.rank() >= 2) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "%s has rank %d, expected at least 2", name, tensor.rank());
}

etb_status expect_square(KernelContext& context, const char* name, const Tensor& tensor) noexcept {
  ETB_CHECK(expect_matrices(context, name, tensor));
  if (tensor.size(tensor.rank() - 1) == tensor.size(tensor.rank() - 2)) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "%s has sizes %s, expected square matrices", name,
                      SizesText(tensor.sizes()).text);
}

etb_status expect_one_dtype(KernelContext& context, std::initializer_list<const Tensor*> tensors) noexcept {
  const Dtype first = (*tensors.begin())->dtype();
  const Dtype part = ops::real_part(first);
  if (part != Dtype::FLOAT32 && part != Dtype::FLOAT64)
    return context.fail(ETB_INVALID_TYPE,
                        "a matrix of %s, expected float32, float64, complex64 or complex128", to_text(first));
  for (const Tensor* tensor : tensors)
    if (tensor->dtype() != first)
      return context.fail(ETB_INVALID_TYPE, "%s beside %s, expected one dtype", to_text(tensor->dtype()),
                          to_text(first));
  return ETB_OK;
}

etb_status expect_int32(KernelContext& context, const char* name, const Tensor& tensor) noexcept {
  if (tensor.dtype() == Dtype::INT32) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "%s is %s, expected int32", name, to_text(tensor.dtype()));
}

namespace {

// The real (0) or imaginary (1) parts of a matrix.
template <class T>
Matrix<T> part_of(const Matrix<ComplexNumber<T>>& a, int64_t index) {
  T* data = reinterpret_cast<T*>(a.data);
  return {data == nullptr ? data : data + index, a.rows, a.columns, 2 * a.row_stride, 2 * a.column_stride};
}

// Four real products.
template <class T>
etb_status add_complex_products(KernelContext& context, const Matrix<ComplexNumber<T>>& c,
                                const Matrix<ComplexNumber<T>>& a, bool conjugates_a,
                                const Matrix<ComplexNumber<T>>& b, double factor) {
  for (const int64_t i : {0, 1}) {
    for (const int64_t j : {0, 1}) {
      const bool is_negated = i == 1 && (j == 1) != conjugates_a;
      ETB_CHECK(multiply_add(context, part_of(c, i ^ j), part_of(a, i), part_of(b, j),
                             is_negated ? -factor : factor));
    }
  }
  return ETB_OK;
}

}  // namespace

template <class T>
etb_status multiply_add(KernelContext& context, const Matrix<T>& c, const Matrix<T>& a, const Matrix<T>& b,
                        double factor) noexcept {
  if (a.columns == 0) return ETB_OK;
  if constexpr (kIsComplex<T>) {
    return add_complex_products(context, c, a, false, b, factor);
  } else {
    GemmTask task = make_task(c, a, b);
    task.alpha = factor;
    task.init = c.data;
    task.init_row_stride = c.row_stride;
    task.init_column_stride = c.column_stride;
    const KernelContext::Mark mark(context);
    return run_gemm(context, task, kComputeOf<T>);
  }
}

template <class T>
etb_status add_adjoint_product(KernelContext& context, const Matrix<T>& c, const Matrix<T>& a,
                               const Matrix<T>& b, double factor) noexcept {
  if constexpr (kIsComplex<T>) {
    return a.rows == 0 ? ETB_OK : add_complex_products(context, c, a.transposed(), true, b, factor);
  } else {
    return multiply_add(context, c, a.transposed(), b, factor);
  }
}

template <class T>
etb_status multiply(KernelContext& context, const Matrix<T>& c, const Matrix<T>& a,
                    const Matrix<T>& b) noexcept {
  if constexpr (kIsComplex<T>) {
    ETB_CHECK(fill_matrix(context, c, T(0)));
    return multiply_add(context, c, a, b, 1);
  } else {
    GemmTask task = make_task(c, a, b);
    const KernelContext::Mark mark(context);
    return run_gemm(context, task, kComputeOf<T>);
  }
}

#define ETB_INSTANTIATE(T)                                                                               \
  template etb_status multiply_add(KernelContext&, const Matrix<T>&, const Matrix<T>&, const Matrix<T>&, \
                                   double) noexcept;                                                     \
  template etb_status add_adjoint_product(KernelContext&, const Matrix<T>&, const Matrix<T>&,            \
                                          const Matrix<T>&, double) noexcept;                            \
  template etb_status multiply(KernelContext&, const Matrix<T>&, const Matrix<T>&, const Matrix<T>&) noexcept;
ETB_INSTANTIATE(float)
ETB_INSTANTIATE(double)
ETB_INSTANTIATE(ComplexNumber<float>)
ETB_INSTANTIATE(ComplexNumber<double>)
#undef ETB_INSTANTIATE

}  // namespace etb::host
