// aten::view_as_real_copy: complex numbers as pairs of reals in one more dim.
#include "ops/view_as_real_copy.hpp"
#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"

namespace etb::host {
namespace {

etb_status view_as_real_copy_out(KernelContext& context, ops::view_as_real_copy_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  if (!is_complex(self.dtype()) || out.dtype() != real_part(self.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s, expected a complex dtype and its real one",
                        to_text(self.dtype()), to_text(out.dtype()));
  }
  if (self.rank() >= kMaxRank)
    return context.fail(ETB_INVALID_ARGUMENT, "rank %d, expected less than %d", self.rank(), kMaxRank);
  int64_t sizes[kMaxRank];
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(out.dtype());
  copy.rank = self.rank() + 1;
  for (int dim = 0; dim < self.rank(); ++dim) {
    sizes[dim] = copy.sizes[dim] = self.size(dim);
  }
  sizes[self.rank()] = copy.sizes[self.rank()] = 2;
  copy.from_strides[self.rank()] = 1;
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(self.rank()) + 1}));
  if (out.numel() == 0) return ETB_OK;
  for (int dim = 0; dim < self.rank(); ++dim) copy.from_strides[dim] = 2 * self.stride(dim);
  for (int dim = 0; dim < out.rank(); ++dim) copy.to_strides[dim] = out.stride(dim);
  copy.to = out.data();
  copy.from = self.data();
  return copy.run(context);
}

constexpr Kernel kRows[] = {kernel_row<ops::view_as_real_copy_out, view_as_real_copy_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(view_as_real_copy, kRows);

}  // namespace etb::host
