// SPDX-License-Identifier: Apache-2.0
// aten::slice_copy, narrow_copy and select_copy: part of a tensor along one dim.
#include <algorithm>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/view.hpp"
#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/narrow_copy.hpp"
#include "ops/select_copy.hpp"
#include "ops/slice_copy.hpp"

namespace etb::host {
namespace {

// Copies `count` slices of `self`, from `start` on and `step` apart, along `dim`; `drops_dim` leaves the dim out of the result.
etb_status copy_slices(KernelContext& context, const Tensor& self, int dim, int64_t start, int64_t count,
                       int64_t step, bool drops_dim, Tensor& out) {
  int64_t sizes[kMaxRank];
  size_t rank = 0;
  for (int i = 0; i < self.rank(); ++i) {
    if (i != dim) sizes[rank++] = self.size(i);
    if (i == dim && !drops_dim) sizes[rank++] = count;
  }
  ETB_CHECK(resize_output(context, out, {sizes, rank}));
  if (self.dtype() != out.dtype()) {
    return context.fail(ETB_INVALID_TYPE, "the output is %s, expected %s", to_text(out.dtype()),
                        to_text(self.dtype()));
  }
  if (out.numel() == 0) return ETB_OK;
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(self.dtype());
  copy.rank = out.rank();
  copy.to = out.data();
  copy.from = self.data_as<char>() + static_cast<size_t>(start * self.stride(dim)) * copy.element_nbytes;
  for (int i = 0; i < out.rank(); ++i) {
    const int own = drops_dim && i >= dim ? i + 1 : i;
    copy.sizes[i] = out.size(i);
    copy.to_strides[i] = out.stride(i);
    // A single slice takes no step, and a step that is longer than the dim may be any number.
    const bool has_step = own == dim && count > 1;
    copy.from_strides[i] = has_step ? self.stride(own) * step : self.stride(own);
  }
  return copy.run(context);
}

etb_status expect_rank(KernelContext& context, const Tensor& self) {
  return self.rank() > 0 ? ETB_OK
                         : context.fail(ETB_INVALID_ARGUMENT, "the input has rank 0, expected at least 1");
}

// slice_copy(self, dim, start, end, step, out): bounds beyond the ends are clamped, as in Python.
etb_status slice_copy_out(KernelContext& context, ops::slice_copy_Tensor_out<KernelArguments> args) {
  const Tensor& self = args.self();
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
  const int64_t count = ops::slice_count(numbers, start, end, step);
  return copy_slices(context, self, dim, start, count, step, false, args.out());
}

etb_status narrow_copy_out(KernelContext& context, ops::narrow_copy_out<KernelArguments> args) {
  const Tensor& self = args.self();
  int dim = 0;
  ETB_CHECK(expect_rank(context, self));
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  const int64_t size = self.size(dim), length = args.length();
  int64_t start = args.start();
  if (start >= -size && start < 0) start += size;
  if (start < 0 || start > size || length < 0 || length > size - start) {
    return context.fail(ETB_INVALID_ARGUMENT, "start %lld, length %lld along a dim of size %lld",
                        static_cast<long long>(start), static_cast<long long>(length),
                        static_cast<long long>(size));
  }
  return copy_slices(context, self, dim, start, length, 1, false, args.out());
}

etb_status select_copy_out(KernelContext& context, ops::select_copy_int_out<KernelArguments> args) {
  const Tensor& self = args.self();
  int dim = 0;
  ETB_CHECK(expect_rank(context, self));
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  const int64_t size = self.size(dim), index = args.index();
  const std::optional<int64_t> offset = ops::wrap_index(index, size);
  if (!offset) {
    return context.fail(ETB_INVALID_ARGUMENT, "index %lld along a dim of size %lld",
                        static_cast<long long>(index), static_cast<long long>(size));
  }
  return copy_slices(context, self, dim, *offset, 1, 1, true, args.out());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::slice_copy_Tensor_out, slice_copy_out>(),
    kernel_row<ops::narrow_copy_out, narrow_copy_out>(),
    kernel_row<ops::select_copy_int_out, select_copy_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(slice_copy, kRows);

}  // namespace etb::host
