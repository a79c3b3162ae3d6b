// SPDX-License-Identifier: Apache-2.0
// Matrices for the kernels of linear algebra: views, batches of them in tensors, copies, products and triangular systems.
//
// Kernels copy each matrix of a batch into dense rows of scratch, work there in the tensor's own dtype (float, double or complex
// numbers of those), and copy the result out. Loops run along rows; products of blocks run in the matrix kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

#include "host/kernels/kernel.hpp"
#include "host/kernels/matrix.hpp"
#include "host/kernels/rows.hpp"

namespace etb::host {

// Element (i, j) is data[i * row_stride + j * column_stride].
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 1;

  T& at(int64_t i, int64_t j) const { return data[i * row_stride + j * column_stride]; }
  T* row(int64_t i) const { return data + i * row_stride; }
  Matrix block(int64_t i, int64_t j, int64_t row_count, int64_t column_count) const {
    return {data + i * row_stride + j * column_stride, row_count, column_count, row_stride, column_stride};
  }
  Matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
  // Rows, or rows and columns, from the last to the first.
  Matrix with_rows_reversed() const {
    return rows == 0 ? *this : Matrix{row(rows - 1), rows, columns, -row_stride, column_stride};
  }
  Matrix reversed() const { return with_rows_reversed().transposed().with_rows_reversed().transposed(); }
};

// The items of a batch: the last `item_rank` dims of a tensor are a matrix, a column (1) or a single element (0), the others count
// the items. A tensor with fewer or smaller batch dims than `batch_sizes` is broadcast.
template <class T>
class MatrixBatch {
 public:
  MatrixBatch(const Tensor& tensor, int item_rank, std::span<const int64_t> batch_sizes)
      : tensor_(tensor), item_rank_(item_rank), batch_sizes_(batch_sizes) {}
  MatrixBatch(const Tensor& tensor, int item_rank)
      : MatrixBatch(tensor, item_rank, tensor.sizes().first(static_cast<size_t>(tensor.rank() - item_rank))) {
  }

  Matrix<T> operator[](int64_t index) const {
    const int rank = tensor_.rank();
    int64_t offset = 0;
    for (size_t i = batch_sizes_.size(); i-- > 0; index /= batch_sizes_[i]) {
      const int dim = static_cast<int>(i) + rank - item_rank_ - static_cast<int>(batch_sizes_.size());
      if (dim >= 0 && tensor_.size(dim) != 1) offset += index % batch_sizes_[i] * tensor_.stride(dim);
    }
    T* data = tensor_.data_as<T>();
    if (data != nullptr) data += offset;  // null only when there are no elements
    if (item_rank_ == 0) return {data, 1, 1, 1, 1};
    if (item_rank_ == 1) return {data, tensor_.size(rank - 1), 1, tensor_.stride(rank - 1), 1};
    return {data, tensor_.size(rank - 2), tensor_.size(rank - 1), tensor_.stride(rank - 2),
            tensor_.stride(rank - 1)};
  }

 private:
  const Tensor& tensor_;
  int item_rank_;
  std::span<const int64_t> batch_sizes_;
};

// The sizes in front of the last `item_rank` dims.
inline std::span<const int64_t> batch_sizes(const Tensor& tensor, int item_rank) {
  return tensor.sizes().first(static_cast<size_t>(tensor.rank() - item_rank));
}
int64_t product(std::span<const int64_t> sizes) noexcept;

// Sizes of a result: those of a batch, then those of an item.
class BatchedSizes {
 public:
  BatchedSizes(std::span<const int64_t> batch, std::initializer_list<int64_t> item) {
    for (const int64_t size : batch) sizes_[count_++] = size;
    for (const int64_t size : item)
      if (count_ < kMaxRank) sizes_[count_++] = size;
  }
  operator std::span<const int64_t>() const { return {sizes_, count_}; }  // NOLINT: a list of sizes

 private:
  int64_t sizes_[kMaxRank] = {};
  size_t count_ = 0;
};

// Writes the broadcast batch sizes of two tensors whose items have these ranks to `out_sizes`, which has room for kMaxRank.
etb_status broadcast_batches(KernelContext& context, const Tensor& a, int a_item_rank, const Tensor& b,
                             int b_item_rank, int64_t* out_sizes, size_t* out_count) noexcept;

// Checks that a tensor is a batch of matrices, or of square ones.
etb_status expect_matrices(KernelContext& context, const char* name, const Tensor& tensor) noexcept;
etb_status expect_square(KernelContext& context, const char* name, const Tensor& tensor) noexcept;
// Checks that the first tensor is of float or double, or complex, and the others of the same dtype.
etb_status expect_one_dtype(KernelContext& context, std::initializer_list<const Tensor*> tensors) noexcept;
etb_status expect_int32(KernelContext& context, const char* name, const Tensor& tensor) noexcept;

// Calls f(T{}) for the number of a dtype that expect_one_dtype accepts.
template <class F>
etb_status with_number(Dtype dtype, F f) {
  if (dtype == Dtype::COMPLEX64) return f(ComplexNumber<float>{});
  if (dtype == Dtype::COMPLEX128) return f(ComplexNumber<double>{});
  return dtype == Dtype::FLOAT64 ? f(double{}) : f(float{});
}

// A dense matrix in scratch with uninitialised elements. Fails when the scratch does not suffice.
template <class T>
etb_status allocate_matrix(KernelContext& context, int64_t rows, int64_t columns, Matrix<T>* out) {
  uint64_t count = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), &count) ||
      count > INT64_MAX / sizeof(T))
    return context.fail(ETB_INVALID_ARGUMENT, "a matrix of %lld x %lld", static_cast<long long>(rows),
                        static_cast<long long>(columns));
  T* data = context.allocate_array<T>(static_cast<int64_t>(count));
  if (data == nullptr) return context.fail_scratch(count * sizeof(T) + 64);
  *out = {data, rows, columns, columns, 1};
  return ETB_OK;
}
template <class T>
etb_status allocate_vector(KernelContext& context, int64_t count, T** out) {
  *out = context.allocate_array<T>(count);
  return *out != nullptr ? ETB_OK : context.fail_scratch(static_cast<uint64_t>(count) * sizeof(T) + 64);
}

// Copies all elements; the sizes are equal.
template <class T>
etb_status copy_matrix(KernelContext& context, const Matrix<T>& from, const Matrix<T>& to) {
  const StridedCopy copy = {sizeof(T),
                            2,
                            {to.rows, to.columns},
                            to.data,
                            {to.row_stride, to.column_stride},
                            from.data,
                            {from.row_stride, from.column_stride}};
  return copy.run(context);
}

// Returns the matrix itself if its rows or columns are dense, which is how products and triangular systems read it fast; else a copy.
template <class T>
etb_status dense_side(KernelContext& context, const Matrix<T>& a, Matrix<T>* out) {
  *out = a;
  if (a.column_stride == 1 || a.row_stride == 1) return ETB_OK;
  ETB_CHECK(allocate_matrix(context, a.rows, a.columns, out));
  return copy_matrix(context, a, *out);
}

// C += factor * A x B. C overlaps neither operand.
template <class T>
etb_status multiply_add(KernelContext& context, const Matrix<T>& c, const Matrix<T>& a, const Matrix<T>& b,
                        double factor) noexcept;
// C = A x B
template <class T>
etb_status multiply(KernelContext& context, const Matrix<T>& c, const Matrix<T>& a,
                    const Matrix<T>& b) noexcept;

// C += factor * (A transposed, conjugated if complex) x B. C overlaps neither operand.
template <class T>
etb_status add_adjoint_product(KernelContext& context, const Matrix<T>& c, const Matrix<T>& a,
                               const Matrix<T>& b, double factor) noexcept;

// Calls visit(begin, length) for pieces of `row_count` rows of `row_numel` elements, between which the run may stop.
template <class Visit>
etb_status for_each_rows(KernelContext& context, int64_t row_count, int64_t row_numel, Visit visit) {
  const int64_t rows_of_piece = std::max<int64_t>(1, KernelContext::kPiece / std::max<int64_t>(1, row_numel));
  const int64_t step = context.piece_of(row_count, rows_of_piece);
  for (int64_t begin = 0; begin < row_count; begin += step) {
    const int64_t length = std::min(step, row_count - begin);
    if (context.should_stop(1 + length * row_numel)) return context.stopped();
    visit(begin, length);
  }
  return ETB_OK;
}

// Sets every element, or the diagonal.
template <class T>
etb_status fill_matrix(KernelContext& context, const Matrix<T>& a, T value) {
  return for_each_rows(context, a.rows, a.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i)
      for (int64_t j = 0; j < a.columns; ++j) a.at(i, j) = value;
  });
}
template <class T>
etb_status set_identity(KernelContext& context, const Matrix<T>& a) {
  ETB_CHECK(fill_matrix(context, a, T(0)));
  for (int64_t i = 0; i < std::min(a.rows, a.columns); ++i) a.at(i, i) = 1;
  return ETB_OK;
}

// Replaces all elements by their conjugates.
template <class T>
etb_status conjugate_matrix(KernelContext& context, const Matrix<T>& a) {
  if constexpr (!kIsComplex<T>) return ETB_OK;
  return for_each_rows(context, a.rows, a.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i)
      for (int64_t j = 0; j < a.columns; ++j) a.at(i, j) = conjugate(a.at(i, j));
  });
}

// Copies the upper or the lower triangle to the other.
template <class T>
etb_status mirror(KernelContext& context, const Matrix<T>& a, bool is_upper) {
  const Matrix<T> given = is_upper ? a.transposed() : a, other = given.transposed();
  return for_each_rows(context, a.rows, a.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i)
      for (int64_t j = 0; j < i; ++j) other.at(i, j) = given.at(i, j);
  });
}

// Solves T X = B for a triangular T of any layout; only that triangle is read, and its diagonal unless `is_unit`. `x` holds B and
// becomes X; its columns are dense.
template <class T>
etb_status solve_triangular(KernelContext& context, const Matrix<T>& triangle, bool is_upper, bool is_unit,
                            const Matrix<T>& x) noexcept;

}  // namespace etb::host
