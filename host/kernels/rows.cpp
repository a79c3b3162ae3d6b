// SPDX-License-Identifier: Apache-2.0
// Rows of a tensor along any dims.
#include "host/kernels/rows.hpp"

#include <algorithm>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/reduction.hpp"
#include "host/kernels/long_loops.hpp"

namespace etb::host {

RowWalk::RowWalk(const Tensor& tensor, const DimSet& reduced) noexcept : tensor_(tensor) {
  for (int dim = 0; dim < tensor.rank(); ++dim) {
    const Dim one = {tensor.size(dim), tensor.stride(dim)};
    if (!reduced.test(static_cast<size_t>(dim))) {
      kept_[kept_count_++] = one;
      row_count_ *= one.size;
      continue;
    }
    row_numel_ *= one.size;
    if (one.size == 1) continue;
    // Merge with the dim before when it goes on seamlessly.
    if (inner_count_ > 0 && inner_[inner_count_ - 1].stride == one.stride * one.size) {
      inner_[inner_count_ - 1] = {inner_[inner_count_ - 1].size * one.size, one.stride};
    } else {
      inner_[inner_count_++] = one;
    }
  }
  if (inner_count_ > 0) {
    --inner_count_;
    inner_size_ = inner_[inner_count_].size;
    inner_stride_ = inner_[inner_count_].stride;
  }
}

void RowWalk::advance() noexcept {
  for (int dim = kept_count_ - 1; dim >= 0; --dim) {
    offset_ += kept_[dim].stride;
    if (++indices_[dim] < kept_[dim].size) return;
    offset_ -= kept_[dim].stride * kept_[dim].size;
    indices_[dim] = 0;
  }
}

template <class Visit>
void RowWalk::for_each_run(int64_t begin, int64_t count, Visit visit) const noexcept {
  for (int64_t done = 0; done < count;) {
    const int64_t at = begin + done, within = at % inner_size_;
    int64_t offset = offset_ + within * inner_stride_, rest = at / inner_size_;
    for (int dim = inner_count_ - 1; dim >= 0; --dim) {
      offset += rest % inner_[dim].size * inner_[dim].stride;
      rest /= inner_[dim].size;
    }
    const int64_t length = std::min(count - done, inner_size_ - within);
    visit(offset * static_cast<int64_t>(element_nbytes(tensor_.dtype())), done, length);
    done += length;
  }
}

void RowWalk::load(const ConvertLoops& loops, Compute compute, void* to, int64_t begin,
                   int64_t count) const noexcept {
  const ConvertLoop loop = loops.load[static_cast<int>(tensor_.dtype())][static_cast<int>(compute)];
  const int64_t value_nbytes = compute == Compute::kFloat ? 4 : 8;
  for_each_run(begin, count, [&](int64_t offset, int64_t done, int64_t length) {
    loop(static_cast<char*>(to) + done * value_nbytes, tensor_.data_as<char>() + offset, inner_stride_,
         length);
  });
}

void RowWalk::store(const ConvertLoops& loops, Compute compute, const void* from, int64_t begin,
                    int64_t count) const noexcept {
  const ConvertLoop loop = loops.store[static_cast<int>(tensor_.dtype())][static_cast<int>(compute)];
  const int64_t value_nbytes = compute == Compute::kFloat ? 4 : 8;
  for_each_run(begin, count, [&](int64_t offset, int64_t done, int64_t length) {
    loop(tensor_.data_as<char>() + offset, static_cast<const char*>(from) + done * value_nbytes,
         inner_stride_, length);
  });
}

void RowWalk::load(KernelContext& context, const ConvertLoops& loops, Compute compute, void* to,
                   int64_t count) const noexcept {
  const int64_t value_nbytes = compute == Compute::kFloat ? 4 : 8;
  static_cast<void>(for_each_piece(context, count, [&](int64_t begin, int64_t length) {
    load(loops, compute, static_cast<char*>(to) + begin * value_nbytes, begin, length);
  }));
}

void RowWalk::store(KernelContext& context, const ConvertLoops& loops, Compute compute, const void* from,
                    int64_t count) const noexcept {
  const int64_t value_nbytes = compute == Compute::kFloat ? 4 : 8;
  static_cast<void>(for_each_piece(context, count, [&](int64_t begin, int64_t length) {
    store(loops, compute, static_cast<const char*>(from) + begin * value_nbytes, begin, length);
  }));
}

size_t reduced_sizes(const Tensor& tensor, const DimSet& reduced, bool keeps_dims,
                     int64_t* out_sizes) noexcept {
  size_t count = 0;
  ops::reduce_sizes(
      ops::Numbers(), tensor.sizes(), [&](size_t dim) { return reduced.test(dim); }, keeps_dims,
      [&](int64_t size) { out_sizes[count++] = size; });
  return count;
}

int64_t row_major_offset(const Tensor& tensor, int64_t index) noexcept {
  int64_t offset = 0;
  for (int dim = tensor.rank() - 1; dim >= 0; --dim) {
    offset += index % tensor.size(dim) * tensor.stride(dim);
    index /= tensor.size(dim);
  }
  return offset;
}

}  // namespace etb::host
