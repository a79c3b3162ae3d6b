// SPDX-License-Identifier: Apache-2.0
// aten::embedding, index_select and gather: elements picked by one index tensor.
#include <algorithm>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/embedding.hpp"
#include "ops/gather.hpp"
#include "ops/index_select.hpp"

namespace etb::host {
namespace {

// Copies slice `from_index` of `from` along `from_dim` to slice `to_index` of `to` along `to_dim`; the other dims agree in order.
etb_status copy_slice(KernelContext& context, const Tensor& from, int from_dim, int64_t from_index,
                      const Tensor& to, int to_dim, int64_t to_index) {
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(from.dtype());
  copy.rank = 0;
  for (int i = 0, j = 0; i < from.rank(); ++i, ++j) {
    if (i == from_dim) {
      --j;
      continue;
    }
    const int target = j >= to_dim ? j + 1 : j;
    copy.sizes[copy.rank] = from.size(i);
    copy.from_strides[copy.rank] = from.stride(i);
    copy.to_strides[copy.rank++] = to.stride(target);
  }
  copy.from = element_at(from, from_dim < from.rank() ? from_index * from.stride(from_dim) : 0);
  copy.to = element_at(to, to_dim < to.rank() ? to_index * to.stride(to_dim) : 0);
  return copy.run(context);
}

// Dense rows picked one after the other: for each of `outer` blocks of `size` rows, the rows that a dense index names.
struct DenseRows {
  int64_t outer, size, numel;  // numel: elements of a row
  size_t row_nbytes;
  const char* from;
  char* to;

  // Rows along `dim` of contiguous tensors.
  static DenseRows along(const Tensor& from, const Tensor& to, int dim) {
    DenseRows rows = {1, from.size(dim), 1, 0, from.data_as<char>(), to.data_as<char>()};
    for (int i = 0; i < from.rank(); ++i) {
      if (i < dim) rows.outer *= from.size(i);
      if (i > dim) rows.numel *= from.size(i);
    }
    rows.row_nbytes = static_cast<size_t>(rows.numel) * element_nbytes(from.dtype());
    return rows;
  }

  etb_status copy(KernelContext& context, const Tensor& index) const {
    return with_element_copy(row_nbytes, [&](auto copy_row) { return copy_each(context, index, copy_row); });
  }

 private:
  template <class Copy>
  etb_status copy_each(KernelContext& context, const Tensor& index, Copy copy_row) const {
    const bool is_long = numel > KernelContext::kPiece;
    char* target = to;
    for (int64_t block = 0; block < outer; ++block) {
      const char* source = from + static_cast<size_t>(block * size) * row_nbytes;
      for (int64_t i = 0; i < index.numel(); ++i, target += row_nbytes) {
        const int64_t at = index_at(index, i);
        if (at < 0 || at >= size) return fail_index(context, at, size);
        if (context.should_stop(is_long ? 1 : 1 + numel)) return context.stopped();
        const char* row = source + static_cast<size_t>(at) * row_nbytes;
        if (is_long) {
          ETB_CHECK(move_bytes(context, target, row, row_nbytes));
        } else {
          copy_row(target, row);
        }
      }
    }
    return ETB_OK;
  }
};

// embedding(weight [n, d], indices, padding_idx, scale_grad_by_freq, sparse, out [..., d])
etb_status embedding_out(KernelContext& context, ops::embedding_out<KernelArguments> args) {
  const Tensor &weight = args.weight(), &indices = args.indices();
  Tensor& out = args.out();
  if (weight.rank() != 2 || indices.rank() == kMaxRank) {
    return context.fail(ETB_INVALID_ARGUMENT, "weight of rank %d with indices of rank %d", weight.rank(),
                        indices.rank());
  }
  ETB_CHECK(expect_index(context, indices));
  ETB_CHECK(expect_same_dtype(context, weight, out));
  int64_t sizes[kMaxRank];
  std::copy(indices.sizes().begin(), indices.sizes().end(), sizes);
  sizes[indices.rank()] = weight.size(1);
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(indices.rank()) + 1}));
  if (out.numel() == 0) return ETB_OK;
  if (weight.is_contiguous() && indices.is_contiguous() && out.is_contiguous())
    return DenseRows::along(weight, out, 0).copy(context, indices);
  const int last = out.rank() - 1;
  RowWalk to(out, DimSet().set(static_cast<size_t>(last)));
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(weight.dtype());
  copy.rank = 1;
  copy.sizes[0] = weight.size(1);
  copy.from_strides[0] = weight.stride(1);
  copy.to_strides[0] = out.stride(last);
  return for_each_element(context, indices, [&](int64_t, int64_t offset) {
    const int64_t index = index_at(indices, offset);
    if (index < 0 || index >= weight.size(0)) return fail_index(context, index, weight.size(0));
    copy.from = element_at(weight, index * weight.stride(0));
    copy.to = element_at(out, to.offset());
    ETB_CHECK(copy.run(context));
    to.advance();
    return static_cast<etb_status>(ETB_OK);
  });
}

etb_status index_select_out(KernelContext& context, ops::index_select_out<KernelArguments> args) {
  const Tensor &self = args.self(), &index = args.index();
  Tensor& out = args.out();
  int dim = 0;
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  ETB_CHECK(expect_index(context, index));
  ETB_CHECK(expect_same_dtype(context, self, out));
  if (index.rank() > 1)
    return context.fail(ETB_INVALID_ARGUMENT, "the index has rank %d, expected at most 1", index.rank());
  int64_t sizes[kMaxRank];
  std::copy(self.sizes().begin(), self.sizes().end(), sizes);
  if (self.rank() > 0) sizes[dim] = index.numel();
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(self.rank())}));
  if (out.numel() != 0 && self.rank() > 0 && self.is_contiguous() && out.is_contiguous())
    return DenseRows::along(self, out, dim).copy(context, index);
  const int64_t size = self.rank() == 0 ? 1 : self.size(dim);
  for (int64_t i = 0; i < index.numel(); ++i) {
    const int64_t at = index_at(index, i);
    if (at < 0 || at >= size) return fail_index(context, at, size);
    if (context.should_stop(1)) return context.stopped();
    if (out.numel() == 0) continue;
    ETB_CHECK(copy_slice(context, self, dim, at, out, dim, i));
  }
  return ETB_OK;
}

// gather(self, dim, index, sparse_grad, out): out[i][j] = self[index[i][j]][j] for dim 0.
etb_status gather_out(KernelContext& context, ops::gather_out<KernelArguments> args) {
  const Tensor &self = args.self(), &index = args.index();
  Tensor& out = args.out();
  int dim = 0;
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  ETB_CHECK(resize_output(context, out, index.sizes()));
  if (index.numel() == 0) return ETB_OK;
  ETB_CHECK(expect_index(context, index));
  ETB_CHECK(expect_same_dtype(context, self, out));
  const int rank = index.rank();
  if (rank != self.rank() && rank > 0 && self.rank() > 0) {
    return context.fail(ETB_INVALID_ARGUMENT, "the index has rank %d, expected %d", rank, self.rank());
  }
  for (int i = 0; i < std::min(rank, self.rank()); ++i) {
    if (i != dim && index.size(i) > self.size(i)) {
      return context.fail(ETB_INVALID_ARGUMENT, "the index has sizes %s, self %s",
                          SizesText(index.sizes()).text, SizesText(self.sizes()).text);
    }
  }
  const int64_t size = self.rank() == 0 ? 1 : self.size(dim);
  int64_t from_strides[kMaxRank], to_strides[kMaxRank];
  fill_index_strides(self, rank, dim, from_strides);
  fill_index_strides(out, rank, -1, to_strides);
  const int64_t step = self.rank() == 0 ? 0 : self.stride(dim);
  const auto nbytes = static_cast<int64_t>(element_nbytes(self.dtype()));
  const char* const source = self.data_as<char>();
  char* const target = out.data_as<char>();
  return with_element_copy(static_cast<size_t>(nbytes), [&](auto copy) {
    return for_each_index(context, index, size, from_strides, to_strides,
                          [=](int64_t at, int64_t from, int64_t to) {
                            copy(target + to * nbytes, source + (from + at * step) * nbytes);
                          });
  });
}

constexpr Kernel kRows[] = {
    kernel_row<ops::embedding_out, embedding_out>(),
    kernel_row<ops::index_select_out, index_select_out>(),
    kernel_row<ops::gather_out, gather_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(index_select, kRows);

}  // namespace etb::host
