// SPDX-License-Identifier: Apache-2.0
// aten::_cdist_forward and _pdist_forward: p-norms of differences of rows.
#include <cmath>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/broadcast.hpp"
#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/_cdist_forward.hpp"
#include "ops/_pdist_forward.hpp"

namespace etb::host {
namespace {

// The p-norm of x - y over `count` elements, `x_stride` and `y_stride` apart.
double distance(KernelContext& context, const ConvertLoops& loops, const Tensor& a, int64_t x,
                int64_t x_stride, const Tensor& b, int64_t y, int64_t y_stride, int64_t count, double p) {
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    if (context.should_stop(1)) break;
    const double gap = std::fabs(load_element<double>(loops, a, x + i * x_stride) -
                                 load_element<double>(loops, b, y + i * y_stride));
    if (p == 0.0) {
      sum += gap != 0.0 ? 1.0 : 0.0;
    } else if (p == 1.0) {
      sum += gap;
    } else if (p == 2.0) {
      sum += gap * gap;
    } else if (std::isinf(p)) {
      sum = gap > sum || gap != gap ? gap : sum;
    } else {
      sum += std::pow(gap, p);
    }
  }
  if (p == 2.0) return std::sqrt(sum);
  return p == 0.0 || p == 1.0 || std::isinf(p) ? sum : std::pow(sum, 1.0 / p);
}

// _cdist_forward(x1 [.., P, M], x2 [.., R, M], p, compute_mode, out [.., P, R])
etb_status cdist_out(KernelContext& context, ops::_cdist_forward_out<KernelArguments> args) {
  const Tensor &a = args.x1(), &b = args.x2();
  Tensor& out = args.out();
  const double p = args.p();
  if (a.rank() < 2 || b.rank() < 2 || a.size(a.rank() - 1) != b.size(b.rank() - 1) || !(p >= 0.0)) {
    return context.fail(ETB_INVALID_ARGUMENT, "rows of %s and %s, p %g", SizesText(a.sizes()).text,
                        SizesText(b.sizes()).text, p);
  }
  if (!is_floating(a.dtype()))
    return context.fail(ETB_INVALID_TYPE, "x1 is %s, expected a float", to_text(a.dtype()));
  ETB_CHECK(expect_same_dtype(context, a, b));
  ETB_CHECK(expect_same_dtype(context, a, out));
  const int rank = std::max(a.rank(), b.rank());
  int64_t sizes[kMaxRank];
  std::fill_n(sizes, rank, 1);
  for (const Tensor* rows : {&a, &b}) {
    const auto batch = rows->sizes().first(static_cast<size_t>(rows->rank()) - 2);
    if (!ops::broadcast_into(ops::Numbers(), batch, sizes, static_cast<size_t>(rank) - 2)) {
      return context.fail(ETB_INVALID_ARGUMENT, "sizes %s and %s do not broadcast", SizesText(a.sizes()).text,
                          SizesText(b.sizes()).text);
    }
  }
  sizes[rank - 2] = a.size(a.rank() - 2);
  sizes[rank - 1] = b.size(b.rank() - 2);
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(rank)}));
  const ConvertLoops& loops = *vector_table(context).conversions;
  const auto batch_offset = [&](const Tensor& tensor, int64_t batch) {
    int64_t offset = 0;
    for (int dim = rank - 3; dim >= 0; --dim) {
      const int own = dim - (rank - tensor.rank());
      if (own >= 0 && tensor.size(own) != 1) offset += batch % sizes[dim] * tensor.stride(own);
      batch /= sizes[dim];
    }
    return offset;
  };
  return for_each_element(context, out, [&](int64_t position, int64_t offset) {
    const int64_t column = position % sizes[rank - 1], row = position / sizes[rank - 1] % sizes[rank - 2];
    const int64_t batch = position / (sizes[rank - 1] * sizes[rank - 2]);
    const int last_a = a.rank() - 1, last_b = b.rank() - 1;
    store_element(loops, out, offset,
                  distance(context, loops, a, batch_offset(a, batch) + row * a.stride(last_a - 1),
                           a.stride(last_a), b, batch_offset(b, batch) + column * b.stride(last_b - 1),
                           b.stride(last_b), a.size(last_a), p));
    return static_cast<etb_status>(ETB_OK);
  });
}

// _pdist_forward(self [N, M], p, out [N (N - 1) / 2])
etb_status pdist_out(KernelContext& context, ops::_pdist_forward_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  const double p = args.p();
  if (self.rank() != 2 || !(p >= 0.0))
    return context.fail(ETB_INVALID_ARGUMENT, "rows of %s, p %g", SizesText(self.sizes()).text, p);
  if (!is_floating(self.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the input is %s, expected a float", to_text(self.dtype()));
  ETB_CHECK(expect_same_dtype(context, self, out));
  int64_t count = 0;
  if (self.size(0) >= 2 && __builtin_mul_overflow(self.size(0), self.size(0) - 1, &count)) {
    return context.fail(ETB_INVALID_ARGUMENT, "pairs of %lld rows", static_cast<long long>(self.size(0)));
  }
  count /= 2;
  ETB_CHECK(resize_output(context, out, {&count, 1}));
  const ConvertLoops& loops = *vector_table(context).conversions;
  int64_t at = 0;
  for (int64_t i = 0; i < self.size(0); ++i) {
    for (int64_t j = i + 1; j < self.size(0); ++j) {
      if (context.should_stop(1)) return context.stopped();
      store_element(loops, out, at++,
                    distance(context, loops, self, i * self.stride(0), self.stride(1), self,
                             j * self.stride(0), self.stride(1), self.size(1), p));
    }
  }
  return ETB_OK;
}

constexpr Kernel kRows[] = {
    kernel_row<ops::_cdist_forward_out, cdist_out>(),
    kernel_row<ops::_pdist_forward_out, pdist_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(distance, kRows);

}  // namespace etb::host
