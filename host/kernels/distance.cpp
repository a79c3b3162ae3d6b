// SPDX-License-Identifier: Apache-2.0
// aten::_cdist_forward and _pdist_forward: p-norms of differences of rows.
#include <cmath>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/broadcast.hpp"
#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/_cdist_forward.hpp"
#include "ops/_pdist_forward.hpp"

namespace etb::host {
namespace {

// Columns that are computed together: a row of sums and a block of transposed rows stay in the cache.
constexpr int64_t kColumns = 512, kBlockNumel = 1 << 18;
// Terms that are added in the computing type, before their sum is added in double.
constexpr int64_t kTerms = 128;

// Distances of rows of `a` to rows of `b`.
template <class T>
class Distances {
 public:
  Distances(KernelContext& context, double p, int64_t length)
      : context_(context),
        loops_(*vector_table(context).conversions),
        rows_(vector_table(context).rows<T>()),
        p_(p),
        length_(length),
        columns_(std::clamp<int64_t>(kBlockNumel / std::max<int64_t>(length, 1), 1, kColumns)) {}

  etb_status allocate() {
    block_ = context_.allocate_array<T>(length_ * columns_);
    row_ = context_.allocate_array<T>(length_);
    sums_ = context_.allocate_array<T>(columns_);
    totals_ = context_.allocate_array<double>(columns_);
    if (block_ != nullptr && row_ != nullptr && sums_ != nullptr && totals_ != nullptr) return ETB_OK;
    return context_.fail_scratch(static_cast<uint64_t>(length_ * (columns_ + 1)) * sizeof(T));
  }
  int64_t columns() const { return columns_; }

  // Takes `count` rows of b from element `at` on.
  etb_status take_block(const Tensor& b, int64_t at, int64_t row_stride, int64_t stride, int64_t count) {
    count_ = count;
    const ConvertLoop load = load_of(b);
    for (int64_t k = 0; k < length_; ++k) {
      if (context_.should_stop(count)) return context_.stopped();
      load(block_ + k * count, element_at(b, at + k * stride), row_stride, count);
    }
    return ETB_OK;
  }

  // Writes the distances of one row of a, from element `at` on, to the block's rows from `first` on.
  etb_status store_row(const Tensor& a, int64_t at, int64_t stride, int64_t first, const Tensor& out,
                       int64_t out_at, int64_t out_stride) {
    const int64_t count = count_ - first;
    if (length_ > 0) load_of(a)(row_, element_at(a, at), stride, length_);  // else `a` may have no memory
    std::fill_n(totals_, count, 0.0);
    for (int64_t begin = 0; begin < length_; begin += kTerms) {
      const int64_t end = std::min(begin + kTerms, length_);
      if (context_.should_stop(1 + (end - begin) * count / (is_power() ? 1 : 8))) return context_.stopped();
      add_terms(begin, end, first, count);
    }
    for (int64_t i = 0; i < count; ++i) sums_[i] = static_cast<T>(root(totals_[i]));
    loops_.store[static_cast<int>(out.dtype())][static_cast<int>(kComputeOf<T>)](element_at(out, out_at),
                                                                                 sums_, out_stride, count);
    return ETB_OK;
  }

 private:
  ConvertLoop load_of(const Tensor& tensor) const {
    return loops_.load[static_cast<int>(tensor.dtype())][static_cast<int>(kComputeOf<T>)];
  }
  bool is_power() const { return p_ != 0 && p_ != 1 && p_ != 2 && !std::isinf(p_); }

  void add_terms(int64_t begin, int64_t end, int64_t first, int64_t count) {
    if (is_power()) {
      for (int64_t k = begin; k < end; ++k)
        for (int64_t i = 0; i < count; ++i)
          totals_[i] +=
              std::pow(std::fabs(static_cast<double>(row_[k]) - block_[k * count_ + first + i]), p_);
      return;
    }
    const GapSum kind = p_ == 0   ? GapSum::kCount
                        : p_ == 1 ? GapSum::kSum
                        : p_ == 2 ? GapSum::kSquares
                                  : GapSum::kLargest;
    std::fill_n(sums_, count, T(0));
    for (int64_t k = begin; k < end; ++k)
      rows_.add_gaps(sums_, row_[k], block_ + k * count_ + first, count, kind);
    for (int64_t i = 0; i < count; ++i) {
      const auto sum = static_cast<double>(sums_[i]);
      if (kind == GapSum::kLargest)
        totals_[i] = sum > totals_[i] || sum != sum ? sum : totals_[i];
      else
        totals_[i] += sum;
    }
  }

  double root(double total) const {
    if (p_ == 2) return std::sqrt(total);
    return is_power() ? std::pow(total, 1 / p_) : total;
  }

  KernelContext& context_;
  const ConvertLoops& loops_;
  const RowLoops<T>& rows_;
  const double p_;
  const int64_t length_, columns_;
  int64_t count_ = 0;  // rows of b in the block
  T *block_ = nullptr, *row_ = nullptr, *sums_ = nullptr;
  double* totals_ = nullptr;
};

// The element at which an item of a batch begins, for a tensor that is broadcast to the batch.
int64_t batch_offset(const Tensor& tensor, std::span<const int64_t> sizes, int64_t batch) {
  const int rank = static_cast<int>(sizes.size());
  int64_t offset = 0;
  for (int dim = rank - 3; dim >= 0; --dim) {
    const int own = dim - (rank - tensor.rank());
    if (own >= 0 && tensor.size(own) != 1) offset += batch % sizes[dim] * tensor.stride(own);
    batch /= sizes[dim];
  }
  return offset;
}

template <class T>
etb_status cdist(KernelContext& context, const Tensor& a, const Tensor& b, double p, Tensor& out) {
  const int rank = out.rank(), last_a = a.rank() - 1, last_b = b.rank() - 1;
  const int64_t row_count = out.size(rank - 2), column_count = out.size(rank - 1);
  if (out.numel() == 0) return ETB_OK;
  Distances<T> distances(context, p, a.size(last_a));
  ETB_CHECK(distances.allocate());
  const int64_t batch_count = out.numel() / row_count / column_count;
  for (int64_t batch = 0; batch < batch_count; ++batch) {
    const int64_t at_a = batch_offset(a, out.sizes(), batch), at_b = batch_offset(b, out.sizes(), batch),
                  at_out = batch_offset(out, out.sizes(), batch);
    for (int64_t column = 0; column < column_count; column += distances.columns()) {
      const int64_t count = std::min(distances.columns(), column_count - column),
                    stride = b.stride(last_b - 1);
      ETB_CHECK(distances.take_block(b, at_b + column * stride, stride, b.stride(last_b), count));
      for (int64_t row = 0; row < row_count; ++row)
        ETB_CHECK(distances.store_row(a, at_a + row * a.stride(last_a - 1), a.stride(last_a), 0, out,
                                      at_out + row * out.stride(rank - 2) + column * out.stride(rank - 1),
                                      out.stride(rank - 1)));
    }
  }
  return ETB_OK;
}

// The result has the pairs (0, 1), (0, 2), ..., (1, 2), ... of rows.
template <class T>
etb_status pdist(KernelContext& context, const Tensor& self, double p, Tensor& out) {
  const int64_t row_count = self.size(0);
  Distances<T> distances(context, p, self.size(1));
  ETB_CHECK(distances.allocate());
  for (int64_t begin = 0; begin < row_count; begin += distances.columns()) {
    const int64_t count = std::min(distances.columns(), row_count - begin);
    ETB_CHECK(distances.take_block(self, begin * self.stride(0), self.stride(0), self.stride(1), count));
    for (int64_t row = 0; row + 1 < begin + count; ++row) {
      const int64_t first = std::max(row + 1, begin);
      const int64_t at = row * row_count - row * (row + 1) / 2 + first - row - 1;
      ETB_CHECK(distances.store_row(self, row * self.stride(0), self.stride(1), first - begin, out,
                                    at * out.stride(0), out.stride(0)));
    }
  }
  return ETB_OK;
}

// _cdist_forward(x1 [.., P, M], x2 [.., R, M], p, compute_mode, out [.., P, R])
etb_status cdist_out(KernelContext& context, ops::_cdist_forward_out<KernelArguments> args) {
  const Tensor &a = args.x1(), &b = args.x2();
  Tensor& out = args.out();
  const double p = args.p();
  if (a.rank() < 2 || b.rank() < 2 || a.size(a.rank() - 1) != b.size(b.rank() - 1) || !(p >= 0.0)) {
    return context.fail(ETB_INVALID_ARGUMENT, "rows of %s and %s, p %g", SizesText(a.sizes()).text,
                        SizesText(b.sizes()).text, p);
  }
  if (!is_floating(a.dtype()))
    return context.fail(ETB_INVALID_TYPE, "x1 is %s, expected a float", to_text(a.dtype()));
  ETB_CHECK(expect_same_dtype(context, a, b));
  ETB_CHECK(expect_same_dtype(context, a, out));
  const int rank = std::max(a.rank(), b.rank());
  int64_t sizes[kMaxRank];
  std::fill_n(sizes, rank, 1);
  for (const Tensor* rows : {&a, &b}) {
    const auto batch = rows->sizes().first(static_cast<size_t>(rows->rank()) - 2);
    if (!ops::broadcast_into(ops::Numbers(), batch, sizes, static_cast<size_t>(rank) - 2)) {
      return context.fail(ETB_INVALID_ARGUMENT, "sizes %s and %s do not broadcast", SizesText(a.sizes()).text,
                          SizesText(b.sizes()).text);
    }
  }
  sizes[rank - 2] = a.size(a.rank() - 2);
  sizes[rank - 1] = b.size(b.rank() - 2);
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(rank)}));
  if (is_float64(a.dtype())) return cdist<double>(context, a, b, p, out);
  return cdist<float>(context, a, b, p, out);
}

// _pdist_forward(self [N, M], p, out [N (N - 1) / 2])
etb_status pdist_out(KernelContext& context, ops::_pdist_forward_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  const double p = args.p();
  if (self.rank() != 2 || !(p >= 0.0))
    return context.fail(ETB_INVALID_ARGUMENT, "rows of %s, p %g", SizesText(self.sizes()).text, p);
  if (!is_floating(self.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the input is %s, expected a float", to_text(self.dtype()));
  ETB_CHECK(expect_same_dtype(context, self, out));
  int64_t count = 0;
  if (self.size(0) >= 2 && __builtin_mul_overflow(self.size(0), self.size(0) - 1, &count)) {
    return context.fail(ETB_INVALID_ARGUMENT, "pairs of %lld rows", static_cast<long long>(self.size(0)));
  }
  count /= 2;
  ETB_CHECK(resize_output(context, out, {&count, 1}));
  if (count == 0) return ETB_OK;
  if (is_float64(self.dtype())) return pdist<double>(context, self, p, out);
  return pdist<float>(context, self, p, out);
}

constexpr Kernel kRows[] = {
    kernel_row<ops::_cdist_forward_out, cdist_out>(),
    kernel_row<ops::_pdist_forward_out, pdist_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(distance, kRows);

}  // namespace etb::host
