// SPDX-License-Identifier: Apache-2.0
// aten::split_copy, split_with_sizes_copy, unbind_copy, select_scatter and slice_scatter: slices of a tensor, out of it or into it.
#include <algorithm>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/view.hpp"
#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/select_scatter.hpp"
#include "ops/slice_scatter.hpp"
#include "ops/split_copy.hpp"
#include "ops/split_with_sizes_copy.hpp"
#include "ops/unbind_copy.hpp"

namespace etb::host {
namespace {

etb_status expect_rank(KernelContext& context, const Tensor& self) {
  return self.rank() > 0 ? ETB_OK
                         : context.fail(ETB_INVALID_ARGUMENT, "the input has rank 0, expected at least 1");
}

char* element_at(const Tensor& tensor, int64_t offset) {
  return tensor.data_as<char>() + offset * static_cast<int64_t>(element_nbytes(tensor.dtype()));
}

// Copies between the part of `whole` that starts at `start` along `dim`, `step` apart, and all of `part`, which may lack the dim.
etb_status copy_slices(KernelContext& context, const Tensor& whole, int dim, int64_t start, int64_t step,
                       const Tensor& part, bool into_whole) {
  if (part.numel() == 0) return ETB_OK;
  const bool lacks_dim = part.rank() < whole.rank();
  int64_t whole_strides[kMaxRank];
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(whole.dtype());
  copy.rank = part.rank();
  for (int i = 0; i < part.rank(); ++i) {
    const int own = lacks_dim && i >= dim ? i + 1 : i;
    copy.sizes[i] = part.size(i);
    // A single slice takes no step, and a step that is longer than the dim may be any number.
    const bool has_step = own == dim && !lacks_dim && part.size(i) > 1;
    whole_strides[i] = has_step ? whole.stride(own) * step : whole.stride(own);
  }
  char* at = element_at(whole, start * whole.stride(dim));
  copy.to = into_whole ? at : part.data();
  copy.from = into_whole ? part.data() : at;
  std::copy_n(into_whole ? whole_strides : part.strides().data(), part.rank(), copy.to_strides);
  std::copy_n(into_whole ? part.strides().data() : whole_strides, part.rank(), copy.from_strides);
  return copy.run(context);
}

etb_status take_slices(KernelContext& context, const Tensor& self, int dim, int64_t start, int64_t count,
                       bool drops_dim, Tensor& out) {
  int64_t sizes[kMaxRank];
  size_t rank = 0;
  for (int i = 0; i < self.rank(); ++i) {
    if (i != dim || !drops_dim) sizes[rank++] = i == dim ? count : self.size(i);
  }
  ETB_CHECK(resize_output(context, out, {sizes, rank}));
  if (out.dtype() != self.dtype()) {
    return context.fail(ETB_INVALID_TYPE, "an output is %s, expected %s", to_text(out.dtype()),
                        to_text(self.dtype()));
  }
  return copy_slices(context, self, dim, start, 1, out, false);
}

etb_status expect_count(KernelContext& context, int64_t found, size_t expected) {
  if (found == static_cast<int64_t>(expected)) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "%lld parts for %zu outputs", static_cast<long long>(found),
                      expected);
}

etb_status split_copy_out(KernelContext& context, ops::split_copy_Tensor_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const int64_t split = args.split_size();
  const auto outs = args.out();
  int dim = 0;
  ETB_CHECK(expect_rank(context, self));
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  const int64_t size = self.size(dim);
  if (split < 0 || (split == 0 && size != 0))
    return context.fail(ETB_INVALID_ARGUMENT, "a split of %lld", static_cast<long long>(split));
  const int64_t count = split == 0 ? 1 : std::max<int64_t>(1, size / split + (size % split != 0 ? 1 : 0));
  ETB_CHECK(expect_count(context, count, outs.size()));
  for (int64_t i = 0; i < count; ++i) {
    const etb_status status = take_slices(context, self, dim, i * split, std::min(split, size - i * split),
                                          false, outs[static_cast<size_t>(i)]->tensor());
    if (status != ETB_OK) return status;
  }
  return ETB_OK;
}

etb_status split_with_sizes_copy_out(KernelContext& context,
                                     ops::split_with_sizes_copy_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const IntList sizes = args.split_sizes();
  const auto outs = args.out();
  int dim = 0;
  ETB_CHECK(expect_rank(context, self));
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  ETB_CHECK(expect_count(context, static_cast<int64_t>(sizes.size()), outs.size()));
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > self.size(dim) - start) {
      return context.fail(ETB_INVALID_ARGUMENT, "part %zu has size %lld", i,
                          static_cast<long long>(sizes[i]));
    }
    ETB_CHECK(take_slices(context, self, dim, start, sizes[i], false, outs[i]->tensor()));
    start += sizes[i];
  }
  if (start != self.size(dim))
    return context.fail(ETB_INVALID_ARGUMENT, "parts add up to %lld", static_cast<long long>(start));
  return ETB_OK;
}

etb_status unbind_copy_out(KernelContext& context, ops::unbind_copy_int_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const auto outs = args.out();
  int dim = 0;
  ETB_CHECK(expect_rank(context, self));
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  ETB_CHECK(expect_count(context, self.size(dim), outs.size()));
  for (size_t i = 0; i < outs.size(); ++i) {
    ETB_CHECK(take_slices(context, self, dim, static_cast<int64_t>(i), 1, true, outs[i]->tensor()));
  }
  return ETB_OK;
}

// Copies self to out and checks that `src` has the dtype.
etb_status copy_whole(KernelContext& context, const Tensor& self, const Tensor& src, Tensor& out) {
  ETB_CHECK(resize_output(context, out, self.sizes()));
  if (self.dtype() != out.dtype() || src.dtype() != self.dtype()) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s into %s", to_text(src.dtype()), to_text(self.dtype()),
                        to_text(out.dtype()));
  }
  return copy_tensor(context, self, out);
}

etb_status expect_part(KernelContext& context, const Tensor& src, std::span<const int64_t> sizes) {
  if (std::equal(src.sizes().begin(), src.sizes().end(), sizes.begin(), sizes.end())) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "the source has sizes %s, expected %s",
                      SizesText(src.sizes()).text, SizesText(sizes).text);
}

etb_status select_scatter_out(KernelContext& context, ops::select_scatter_out<KernelArguments> args) {
  const Tensor &self = args.self(), &src = args.src();
  Tensor& out = args.out();
  int dim = 0;
  ETB_CHECK(expect_rank(context, self));
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  const int64_t size = self.size(dim), index = args.index();
  const std::optional<int64_t> offset = ops::wrap_index(index, size);
  if (!offset) {
    return context.fail(ETB_INVALID_ARGUMENT, "index %lld along a dim of size %lld",
                        static_cast<long long>(index), static_cast<long long>(size));
  }
  int64_t sizes[kMaxRank];
  size_t rank = 0;
  for (int i = 0; i < self.rank(); ++i) {
    if (i != dim) sizes[rank++] = self.size(i);
  }
  ETB_CHECK(expect_part(context, src, {sizes, rank}));
  ETB_CHECK(copy_whole(context, self, src, out));
  return copy_slices(context, out, dim, *offset, 1, src, true);
}

etb_status slice_scatter_out(KernelContext& context, ops::slice_scatter_out<KernelArguments> args) {
  const Tensor &self = args.self(), &src = args.src();
  Tensor& out = args.out();
  int dim = 0;
  ETB_CHECK(expect_rank(context, self));
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  const int64_t size = self.size(dim), step = args.step();
  if (step <= 0)
    return context.fail(ETB_INVALID_ARGUMENT, "step is %lld, expected at least 1",
                        static_cast<long long>(step));
  ops::Numbers numbers;
  const auto bound = [&](std::optional<int64_t> wanted, int64_t absent) {
    return wanted ? ops::slice_bound(numbers, size, *wanted) : absent;
  };
  const int64_t start = bound(args.start(), 0), end = std::max(start, bound(args.end(), size));
  int64_t sizes[kMaxRank];
  std::copy(self.sizes().begin(), self.sizes().end(), sizes);
  sizes[dim] = ops::slice_count(numbers, start, end, step);
  ETB_CHECK(expect_part(context, src, {sizes, static_cast<size_t>(self.rank())}));
  ETB_CHECK(copy_whole(context, self, src, out));
  return copy_slices(context, out, dim, start, step, src, true);
}

constexpr Kernel kRows[] = {
    kernel_row<ops::split_copy_Tensor_out, split_copy_out>(),
    kernel_row<ops::split_with_sizes_copy_out, split_with_sizes_copy_out>(),
    kernel_row<ops::unbind_copy_int_out, unbind_copy_out>(),
    kernel_row<ops::select_scatter_out, select_scatter_out>(),
    kernel_row<ops::slice_scatter_out, slice_scatter_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(split_copy, kRows);

}  // namespace etb::host
