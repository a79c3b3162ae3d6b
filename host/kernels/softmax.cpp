// SPDX-License-Identifier: Apache-2.0
// aten::_softmax and aten::_log_softmax.
#include "host/kernels/kernel.hpp"
#include "host/kernels/rows.hpp"
#include "ops/_log_softmax.hpp"
#include "ops/_softmax.hpp"

namespace etb::host {
namespace {

// Rows are converted into scratch unless they are dense; 16-bit floats are computed in float32.
template <class T>
etb_status run_rows(KernelContext& context, const Tensor& self, const DimSet& dims, bool is_log,
                    Tensor& out) {
  const VectorTable& table = vector_table(context);
  RowWalk from(self, dims), to(out, dims);
  const int64_t count = from.row_numel();
  T* buffer = nullptr;
  if (from.dense<T>(kDtypeOf<T>) == nullptr || to.dense<T>(kDtypeOf<T>) == nullptr) {
    buffer = context.allocate_array<T>(count);
    if (buffer == nullptr) return context.fail_scratch(static_cast<uint64_t>(count) * sizeof(T));
  }
  for (int64_t row = 0; row < from.row_count(); ++row, from.advance(), to.advance()) {
    const T* x = from.dense<T>(kDtypeOf<T>);
    T* y = to.dense<T>(kDtypeOf<T>);
    if (x == nullptr) from.load(context, *table.conversions, kComputeOf<T>, buffer, count);
    table.rows<T>().softmax(y != nullptr ? y : buffer, x != nullptr ? x : buffer, count, is_log,
                            stop_hook(context.stop_check()));
    if (context.should_stop(1)) return context.stopped();
    if (y == nullptr) to.store(context, *table.conversions, kComputeOf<T>, buffer, count);
  }
  return ETB_OK;
}

template <bool is_log>
etb_status softmax_out(KernelContext& context, ops::_softmax_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  int dim = 0;
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  if (!is_floating(self.dtype()) || !is_floating(out.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s, expected floats", to_text(self.dtype()),
                        to_text(out.dtype()));
  }
  ETB_CHECK(resize_output(context, out, self.sizes()));
  if (out.numel() == 0) return ETB_OK;
  const DimSet dims = one_dim(self, dim);
  if (is_float64(self.dtype())) return run_rows<double>(context, self, dims, is_log, out);
  return run_rows<float>(context, self, dims, is_log, out);
}

constexpr Kernel kRows[] = {
    kernel_row<ops::_softmax_out, softmax_out<false>>(),
    kernel_row<ops::_log_softmax_out, softmax_out<true>>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(softmax, kRows);

}  // namespace etb::host
