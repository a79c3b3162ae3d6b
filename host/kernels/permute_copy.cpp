// SPDX-License-Identifier: Apache-2.0
// aten::permute_copy, transpose_copy and t_copy: reordered dims.
#include "ops/permute_copy.hpp"
#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/view.hpp"
#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/t_copy.hpp"
#include "ops/transpose_copy.hpp"

namespace etb::host {
namespace {

// order[i] is the dim of `self` that becomes dim i.
etb_status permute(KernelContext& context, const Tensor& self, const int* order, Tensor& out) {
  int64_t sizes[kMaxRank];
  const int rank = self.rank();
  for (int i = 0; i < rank; ++i) sizes[i] = self.size(order[i]);
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(rank)}));
  if (self.dtype() != out.dtype()) {
    return context.fail(ETB_INVALID_TYPE, "the output is %s, expected %s", to_text(out.dtype()),
                        to_text(self.dtype()));
  }
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(self.dtype());
  copy.rank = rank;
  copy.to = out.data();
  copy.from = self.data();
  for (int i = 0; i < rank; ++i) {
    copy.sizes[i] = sizes[i];
    copy.to_strides[i] = out.stride(i);
    copy.from_strides[i] = self.stride(order[i]);
  }
  return copy.run(context);
}

etb_status permute_copy_out(KernelContext& context, ops::permute_copy_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const IntList dims = args.dims();
  int order[kMaxRank];
  size_t index = 0;
  switch (ops::read_permutation(dims, static_cast<size_t>(self.rank()), order, &index)) {
    case ops::PermutationError::kNone:
      return permute(context, self, order, args.out());
    case ops::PermutationError::kCount:
      return context.fail(ETB_INVALID_ARGUMENT, "%zu dims for a tensor of rank %d", dims.size(), self.rank());
    case ops::PermutationError::kTwice:
      return context.fail(ETB_INVALID_ARGUMENT, "dim %d appears twice", order[index]);
    case ops::PermutationError::kAxis:
      break;
  }
  return wrap_dim(context, dims[index], self.rank(), &order[index]);  // names the dim and what was expected
}

etb_status swap_dims(KernelContext& context, const Tensor& self, int64_t first, int64_t second, Tensor& out) {
  int order[kMaxRank], a = 0, b = 0;
  ETB_CHECK(wrap_dim(context, first, self.rank(), &a));
  ETB_CHECK(wrap_dim(context, second, self.rank(), &b));
  for (int i = 0; i < self.rank(); ++i) order[i] = i == a ? b : i == b ? a : i;
  return permute(context, self, order, out);
}

etb_status transpose_copy_out(KernelContext& context, ops::transpose_copy_int_out<KernelArguments> args) {
  return swap_dims(context, args.self(), args.dim0(), args.dim1(), args.out());
}

etb_status t_copy_out(KernelContext& context, ops::t_copy_out<KernelArguments> args) {
  const Tensor& self = args.self();
  if (self.rank() > 2)
    return context.fail(ETB_INVALID_ARGUMENT, "the input has rank %d, expected at most 2", self.rank());
  return swap_dims(context, self, 0, self.rank() < 2 ? 0 : 1, args.out());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::permute_copy_out, permute_copy_out>(),
    kernel_row<ops::transpose_copy_int_out, transpose_copy_out>(),
    kernel_row<ops::t_copy_out, t_copy_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(permute_copy, kRows);

}  // namespace etb::host
