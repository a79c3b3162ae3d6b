// SPDX-License-Identifier: Apache-2.0
// aten::expand_copy: sizes of 1 repeated.
#include "ops/expand_copy.hpp"
#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/view.hpp"
#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"

namespace etb::host {
namespace {

// expand_copy(self, size, implicit, out): -1 keeps a size.
etb_status expand_copy_out(KernelContext& context, ops::expand_copy_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const IntList wanted = args.size();
  Tensor& out = args.out();
  const int rank = static_cast<int>(wanted.size()), added = rank - self.rank();
  if (wanted.size() > kMaxRank || added < 0) {
    return context.fail(ETB_INVALID_ARGUMENT, "%zu sizes for a tensor of rank %d", wanted.size(),
                        self.rank());
  }
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(self.dtype());
  copy.rank = rank;
  copy.from = self.data();
  for (int dim = 0; dim < rank; ++dim) {
    const int own = dim - added;
    const int64_t size = wanted[static_cast<size_t>(dim)];
    const auto expanded = own < 0 ? ops::expand_new_size(ops::Numbers(), size)
                                  : ops::expand_size(ops::Numbers(), self.size(own), size);
    if (!expanded) {
      return context.fail(ETB_INVALID_ARGUMENT, "dim %d of %s cannot become %lld", dim,
                          SizesText(self.sizes()).text, static_cast<long long>(size));
    }
    copy.sizes[dim] = expanded->size;
    copy.from_strides[dim] = expanded->is_kept ? self.stride(own) : 0;
  }
  ETB_CHECK(resize_output(context, out, {copy.sizes, static_cast<size_t>(rank)}));
  if (self.dtype() != out.dtype()) {
    return context.fail(ETB_INVALID_TYPE, "the output is %s, expected %s", to_text(out.dtype()),
                        to_text(self.dtype()));
  }
  copy.to = out.data();
  for (int dim = 0; dim < rank; ++dim) copy.to_strides[dim] = out.stride(dim);
  return copy.run(context);
}

constexpr Kernel kRows[] = {kernel_row<ops::expand_copy_out, expand_copy_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(expand_copy, kRows);

}  // namespace etb::host
