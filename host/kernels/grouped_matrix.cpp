// SPDX-License-Identifier: Apache-2.0
// aten::_int_mm, and transformers::grouped_mm_fallback: the products of a mixture of experts, whose rows are sorted by expert.
#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/long_loops.hpp"
#include "host/kernels/matrix.hpp"
#include "ops/_int_mm.hpp"
#include "ops/transformers/grouped_mm_fallback.hpp"

namespace etb::host {
namespace {

// C [m, n] = A [m, k] * B [k, n], from the given dims of the tensors on.
GemmTask make_task(const Tensor& a, const Tensor& b, int b_dim, const Tensor& out) {
  GemmTask task = {};
  task.m = a.size(0);
  task.k = a.size(1);
  task.n = task.c_run = task.c_pitch = out.size(1);
  task.a = a.data();
  task.b = b.data();
  task.c = out.data();
  task.a_dtype = a.dtype();
  task.b_dtype = b.dtype();
  task.c_dtype = out.dtype();
  task.a_row_stride = a.stride(0);
  task.a_column_stride = a.stride(1);
  task.b_row_stride = b.stride(b_dim);
  task.b_column_stride = b.stride(b_dim + 1);
  task.c_row_stride = out.stride(0);
  task.c_column_stride = out.stride(1);
  return task;
}

// int8 or uint8 [m, k] times int8 [k, n] into int32.
etb_status int_mm_out(KernelContext& context, ops::_int_mm_out<KernelArguments> args) {
  const Tensor &a = args.self(), &b = args.mat2();
  Tensor& out = args.out();
  if (a.rank() != 2 || b.rank() != 2 || a.size(1) != b.size(0)) {
    return context.fail(ETB_INVALID_ARGUMENT, "%s times %s", SizesText(a.sizes()).text,
                        SizesText(b.sizes()).text);
  }
  const bool is_byte = a.dtype() == Dtype::INT8 || a.dtype() == Dtype::UINT8;
  if (!is_byte || b.dtype() != Dtype::INT8 || out.dtype() != Dtype::INT32) {
    return context.fail(ETB_INVALID_TYPE, "%s times %s into %s, expected int8 into int32", to_text(a.dtype()),
                        to_text(b.dtype()), to_text(out.dtype()));
  }
  const int64_t sizes[] = {a.size(0), b.size(1)};
  ETB_CHECK(resize_output(context, out, sizes));
  if (out.numel() == 0) return ETB_OK;
  GemmTask task = make_task(a, b, 0, out);
  // Sums of products of int8 are exact in float64, whose products are faster than those of int64. Longer sums may exceed int32,
  // and wrap as PyTorch's do.
  constexpr int64_t kExactDepth = 1 << 16;
  return run_gemm(context, task, kHasFloat64 && task.k <= kExactDepth ? Compute::kDouble : Compute::kInt64);
}

etb_status check_groups(KernelContext& context, const Tensor& input, const Tensor& weight, const Tensor& ends,
                        const Tensor& out) {
  if (input.rank() != 2 || weight.rank() != 3 || ends.rank() != 1 || input.size(1) != weight.size(1) ||
      ends.size(0) != weight.size(0)) {
    return context.fail(ETB_INVALID_ARGUMENT, "%s times %s in groups %s", SizesText(input.sizes()).text,
                        SizesText(weight.sizes()).text, SizesText(ends.sizes()).text);
  }
  if (!is_floating(input.dtype()) || weight.dtype() != input.dtype() || out.dtype() != input.dtype()) {
    return context.fail(ETB_INVALID_TYPE, "%s times %s into %s, expected floats of one dtype",
                        to_text(input.dtype()), to_text(weight.dtype()), to_text(out.dtype()));
  }
  return expect_index(context, ends);
}

// Group i is the rows from the end of the group before to ends[i], times weight[i]. Rows after the last group are 0.
etb_status grouped_mm_out(KernelContext& context,
                          ops::transformers::grouped_mm_fallback_out<KernelArguments> args) {
  const Tensor &input = args.input(), &weight = args.weight(), &ends = args.offs();
  Tensor& out = args.out();
  ETB_CHECK(check_groups(context, input, weight, ends, out));
  const int64_t sizes[] = {input.size(0), weight.size(2)};
  ETB_CHECK(resize_output(context, out, sizes));
  if (out.numel() == 0) return ETB_OK;
  ETB_CHECK(clear_bytes(context, out.data(), out.nbytes()));
  const Compute compute = compute_of(input.dtype());
  int64_t begin = 0;
  return for_each_element(context, ends, [&](int64_t group, int64_t offset) {
    const int64_t end = index_at(ends, offset);
    if (end < begin || end > input.size(0)) {
      return context.fail(ETB_INVALID_ARGUMENT, "group %lld of rows %lld to %lld, expected at most %lld",
                          static_cast<long long>(group), static_cast<long long>(begin),
                          static_cast<long long>(end), static_cast<long long>(input.size(0)));
    }
    if (end == begin || input.size(1) == 0) return static_cast<etb_status>(ETB_OK);
    GemmTask task = make_task(input, weight, 1, out);
    task.m = end - begin;
    task.a = element_at(input, begin * input.stride(0));
    task.b = element_at(weight, group * weight.stride(0));
    task.c = element_at(out, begin * out.stride(0));
    begin = end;
    KernelContext::Mark mark(context);
    return run_gemm(context, task, compute);
  });
}

constexpr Kernel kRows[] = {
    kernel_row<ops::_int_mm_out, int_mm_out>(),
    kernel_row<ops::transformers::grouped_mm_fallback_out, grouped_mm_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(grouped_matrix, kRows);

}  // namespace etb::host
