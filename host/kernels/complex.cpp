// SPDX-License-Identifier: Apache-2.0
// aten::complex and aten::view_as_complex_copy: complex numbers from their parts.
#include "ops/complex.hpp"
#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/view_as_complex_copy.hpp"

namespace etb::host {
namespace {

// Writes one part of every number of `out`: 0 the real part, 1 the imaginary one. A size of 1 in `from` is repeated.
etb_status write_part(KernelContext& context, const Tensor& from, const Tensor& out, int part) {
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(from.dtype());
  copy.rank = out.rank();
  const int missing = out.rank() - from.rank();
  for (int dim = 0; dim < out.rank(); ++dim) {
    const bool repeats = dim < missing || from.size(dim - missing) == 1;
    copy.sizes[dim] = out.size(dim);
    copy.from_strides[dim] = repeats ? 0 : from.stride(dim - missing);
    copy.to_strides[dim] = 2 * out.stride(dim);
  }
  copy.from = from.data();
  copy.to = static_cast<std::byte*>(out.data()) + static_cast<size_t>(part) * copy.element_nbytes;
  return copy.run(context);
}

etb_status complex_out(KernelContext& context, ops::complex_out<KernelArguments> args) {
  const Tensor &real = args.real(), &imaginary = args.imag();
  Tensor& out = args.out();
  if (!is_complex(out.dtype()) || real.dtype() != real_part(out.dtype()) ||
      imaginary.dtype() != real.dtype()) {
    return context.fail(ETB_INVALID_TYPE, "%s and %s into %s, expected floats and the complex dtype of both",
                        to_text(real.dtype()), to_text(imaginary.dtype()), to_text(out.dtype()));
  }
  int64_t sizes[kMaxRank];
  const int rank = std::max(real.rank(), imaginary.rank());
  for (int dim = 0; dim < rank; ++dim) {
    const int first = dim - (rank - real.rank()), second = dim - (rank - imaginary.rank());
    const int64_t a = first < 0 ? 1 : real.size(first), b = second < 0 ? 1 : imaginary.size(second);
    if (a != b && a != 1 && b != 1)
      return context.fail(ETB_INVALID_ARGUMENT, "sizes %lld and %lld do not broadcast",
                          static_cast<long long>(a), static_cast<long long>(b));
    sizes[dim] = a == 1 ? b : a;
  }
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(rank)}));
  if (out.numel() == 0) return ETB_OK;
  ETB_CHECK(write_part(context, real, out, 0));
  return write_part(context, imaginary, out, 1);
}

etb_status view_as_complex_copy_out(KernelContext& context,
                                    ops::view_as_complex_copy_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  if (!is_complex(out.dtype()) || self.dtype() != real_part(out.dtype()))
    return context.fail(ETB_INVALID_TYPE, "%s into %s, expected floats and their complex dtype",
                        to_text(self.dtype()), to_text(out.dtype()));
  const int rank = self.rank() - 1;
  if (rank < 0 || self.size(rank) != 2)
    return context.fail(ETB_INVALID_ARGUMENT, "sizes %s, expected a last one of 2",
                        SizesText(self.sizes()).text);
  ETB_CHECK(resize_output(context, out, self.sizes().subspan(0, static_cast<size_t>(rank))));
  if (out.numel() == 0) return ETB_OK;
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(self.dtype());
  copy.rank = self.rank();
  for (int dim = 0; dim < self.rank(); ++dim) {
    copy.sizes[dim] = self.size(dim);
    copy.from_strides[dim] = self.stride(dim);
    copy.to_strides[dim] = dim == rank ? 1 : 2 * out.stride(dim);
  }
  copy.from = self.data();
  copy.to = out.data();
  return copy.run(context);
}

constexpr Kernel kRows[] = {kernel_row<ops::complex_out, complex_out>(),
                            kernel_row<ops::view_as_complex_copy_out, view_as_complex_copy_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(complex, kRows);

}  // namespace etb::host
