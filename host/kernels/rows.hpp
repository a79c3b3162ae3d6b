// SPDX-License-Identifier: Apache-2.0
// Walking a tensor row by row for ops that reduce or normalise along dims: a row holds all elements that belong to one result.
#pragma once

#include <cstdint>

#include "host/kernels/dims.hpp"
#include "host/kernels/elementwise.hpp"

namespace etb::host {

// Splits the dims of a tensor into kept and reduced ones. Rows come in row-major order of the kept dims; within a row, elements
// come in row-major order of the reduced dims.
class RowWalk {
 public:
  RowWalk(const Tensor& tensor, const DimSet& reduced) noexcept;

  int64_t row_count() const noexcept { return row_count_; }
  int64_t row_numel() const noexcept { return row_numel_; }

  // Offset in elements of the current row's first element, and the step to the next row.
  int64_t offset() const noexcept { return offset_; }
  void advance() noexcept;

  // Reads the current row, from element `begin` on, `count` elements, into dense values of a computing type.
  void load(const ConvertLoops& loops, Compute compute, void* to, int64_t begin,
            int64_t count) const noexcept;
  void store(const ConvertLoops& loops, Compute compute, const void* from, int64_t begin,
             int64_t count) const noexcept;

  // The whole row, in pieces between which the run may stop; then some elements are missing.
  void load(KernelContext& context, const ConvertLoops& loops, Compute compute, void* to,
            int64_t count) const noexcept;
  void store(KernelContext& context, const ConvertLoops& loops, Compute compute, const void* from,
             int64_t count) const noexcept;

  // The current row's own elements when they are dense and of the dtype of T, else null. An empty row has none: its tensor may
  // have no memory.
  template <class T>
  T* dense(Dtype dtype) const noexcept {
    if (row_numel_ == 0 || tensor_.dtype() != dtype || inner_count_ != 0 || inner_stride_ != 1)
      return nullptr;
    return tensor_.data_as<T>() + offset_;
  }

 private:
  template <class Visit>
  void for_each_run(int64_t begin, int64_t count, Visit visit) const noexcept;

  struct Dim {
    int64_t size, stride;
  };
  const Tensor& tensor_;
  Dim kept_[kMaxRank];   // outermost first
  Dim inner_[kMaxRank];  // reduced dims but the last run, outermost first
  int kept_count_ = 0, inner_count_ = 0;
  int64_t inner_size_ = 1, inner_stride_ = 1;  // the last run of a row
  int64_t row_count_ = 1, row_numel_ = 1, offset_ = 0;
  int64_t indices_[kMaxRank] = {};
};

// All dims: the whole tensor is a row.
inline DimSet all_dims(const Tensor& tensor) {
  DimSet dims;
  for (int dim = 0; dim < tensor.rank(); ++dim) dims.set(static_cast<size_t>(dim));
  return dims;
}

// The set of one dim. A tensor of rank 0 has none, and its element is a row.
inline DimSet one_dim(const Tensor& tensor, int dim) noexcept {
  DimSet dims;
  if (tensor.rank() > 0) dims.set(static_cast<size_t>(dim));
  return dims;
}

// The sizes of a reduction's result; returns their number.
size_t reduced_sizes(const Tensor& tensor, const DimSet& reduced, bool keeps_dims,
                     int64_t* out_sizes) noexcept;

// Element `index` in row-major order of a tensor of any dim order, as an offset.
int64_t row_major_offset(const Tensor& tensor, int64_t index) noexcept;

// Calls f(T{}) with the computing type of a dtype: float, double or int64_t.
template <class F>
auto with_compute(Dtype dtype, F f) {
  switch (compute_of(dtype)) {
    case Compute::kFloat:
      return f(float{});
    case Compute::kDouble:
      if constexpr (kHasFloat64) return f(double{});
      [[fallthrough]];
    default:
      return f(int64_t{});
  }
}
template <class T>
inline constexpr Compute kComputeOf = sizeof(T) == 4                ? Compute::kFloat
                                      : static_cast<T>(0.5) != T(0) ? Compute::kDouble
                                                                    : Compute::kInt64;
template <class T>
inline constexpr Dtype kDtypeOf = sizeof(T) == 4                ? Dtype::FLOAT32
                                  : static_cast<T>(0.5) != T(0) ? Dtype::FLOAT64
                                                                : Dtype::INT64;
template <>
inline constexpr Dtype kDtypeOf<ComplexNumber<float>> = Dtype::COMPLEX64;
template <>
inline constexpr Dtype kDtypeOf<ComplexNumber<double>> = Dtype::COMPLEX128;

}  // namespace etb::host
