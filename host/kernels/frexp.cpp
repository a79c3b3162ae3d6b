// SPDX-License-Identifier: Apache-2.0
// aten::frexp: x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1. A zero, an infinity and NaN are their own mantissas.
#include <algorithm>
#include <cmath>

#include "host/kernels/kernel.hpp"
#include "host/kernels/rows.hpp"
#include "ops/frexp.hpp"

namespace etb::host {
namespace {

template <class T>
etb_status split_elements(KernelContext& context, const Tensor& self, Tensor& mantissa, Tensor& exponent) {
  constexpr int64_t kChunk = 512;
  const ConvertLoops& loops = *vector_table(context).conversions;
  const DimSet all = DimSet().set();
  RowWalk from(self, all), mantissas(mantissa, all), exponents(exponent, all);
  for (int64_t begin = 0; begin < self.numel(); begin += kChunk) {
    const int64_t count = std::min(kChunk, self.numel() - begin);
    if (context.should_stop(4 * count)) return context.stopped();
    T items[kChunk];
    int64_t powers[kChunk];
    from.load(loops, kComputeOf<T>, items, begin, count);
    for (int64_t i = 0; i < count; ++i) {
      int power = 0;
      if (std::isfinite(items[i])) items[i] = std::frexp(items[i], &power);
      powers[i] = power;
    }
    mantissas.store(loops, kComputeOf<T>, items, begin, count);
    exponents.store(loops, Compute::kInt64, powers, begin, count);
  }
  return ETB_OK;
}

// frexp(self, mantissa, exponent)
etb_status frexp_out(KernelContext& context, ops::frexp_Tensor_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor &mantissa = args.mantissa(), &exponent = args.exponent();
  if (!is_floating(self.dtype()) || mantissa.dtype() != self.dtype() || exponent.dtype() != Dtype::INT32)
    return context.fail(ETB_INVALID_TYPE, "%s into %s and %s, expected floats into the same floats and int32",
                        to_text(self.dtype()), to_text(mantissa.dtype()), to_text(exponent.dtype()));
  ETB_CHECK(resize_output(context, mantissa, self.sizes()));
  ETB_CHECK(resize_output(context, exponent, self.sizes()));
  if (is_float64(self.dtype())) return split_elements<double>(context, self, mantissa, exponent);
  return split_elements<float>(context, self, mantissa, exponent);
}

constexpr Kernel kRows[] = {kernel_row<ops::frexp_Tensor_out, frexp_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(frexp, kRows);

}  // namespace etb::host
