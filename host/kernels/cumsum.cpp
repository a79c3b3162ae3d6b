// aten::cumsum: running sums along a dim.
#include "ops/cumsum.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/rows.hpp"

namespace etb::host {
namespace {

// cumsum(self, dim, dtype, out): floats are added in double, integers in 64 bits.
etb_status cumsum_out(KernelContext& context, ops::cumsum_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  int dim = 0;
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  ETB_CHECK(resize_output(context, out, self.sizes()));
  if (!is_arithmetic(self.dtype()) || !is_arithmetic(out.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s", to_text(self.dtype()), to_text(out.dtype()));
  }
  if (out.numel() == 0) return ETB_OK;
  DimSet dims;
  if (self.rank() > 0) dims.set(static_cast<size_t>(dim));
  const ConvertLoops& loops = *vector_table(context).conversions;
  const bool is_real = is_floating(out.dtype());
  RowWalk from(self, dims), to(out, dims);
  constexpr int64_t kChunk = 512;
  for (int64_t row = 0; row < from.row_count(); ++row, from.advance(), to.advance()) {
    double real = 0.0;
    uint64_t integer = 0;
    for (int64_t begin = 0; begin < from.row_numel(); begin += kChunk) {
      if (context.should_stop(std::min(kChunk, from.row_numel()))) return context.stopped();
      const int64_t count = std::min(kChunk, from.row_numel() - begin);
      double reals[kChunk];
      int64_t integers[kChunk];
      if (is_real) {
        from.load(loops, Compute::kDouble, reals, begin, count);
        for (int64_t i = 0; i < count; ++i) reals[i] = real += reals[i];
        to.store(loops, Compute::kDouble, reals, begin, count);
      } else {
        from.load(loops, Compute::kInt64, integers, begin, count);
        for (int64_t i = 0; i < count; ++i)
          integers[i] = static_cast<int64_t>(integer += static_cast<uint64_t>(integers[i]));
        to.store(loops, Compute::kInt64, integers, begin, count);
      }
    }
  }
  return ETB_OK;
}

constexpr Kernel kRows[] = {kernel_row<ops::cumsum_out, cumsum_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(cumsum, kRows);

}  // namespace etb::host
