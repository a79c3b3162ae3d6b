// SPDX-License-Identifier: Apache-2.0
// aten::embedding_renorm: a table in which the rows that are named, and whose norm is larger than max_norm, are scaled to it.
#include <algorithm>
#include <cmath>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/embedding_renorm.hpp"

namespace etb::host {
namespace {

constexpr int64_t kChunk = 256;

template <class T>
T power_of_norm(const T* items, int64_t count, double order, T sum) {
  for (int64_t i = 0; i < count; ++i) {
    const T x = std::abs(items[i]);
    if (order == 1)
      sum += x;
    else if (order == 2)
      sum += x * x;
    else if (std::isinf(order))
      sum = x > sum || x != x ? x : sum;
    else if (order == 0)
      sum += T(x != 0);
    else
      sum += std::pow(x, static_cast<T>(order));
  }
  return sum;
}

// Scales one row of `out` where its norm is too large.
template <class T>
etb_status renorm_row(KernelContext& context, RowWalk& row, double max_norm, double order) {
  const ConvertLoops& loops = *vector_table(context).conversions;
  T items[kChunk], norm = 0;
  for (int64_t begin = 0; begin < row.row_numel(); begin += kChunk) {
    const int64_t count = std::min(kChunk, row.row_numel() - begin);
    if (context.should_stop(8 * count)) return context.stopped();
    row.load(loops, kComputeOf<T>, items, begin, count);
    norm = power_of_norm(items, count, order, norm);
  }
  if (order == 2)
    norm = std::sqrt(norm);
  else if (order != 1 && order != 0 && !std::isinf(order))
    norm = std::pow(norm, static_cast<T>(1 / order));
  if (!(norm > static_cast<T>(max_norm))) return ETB_OK;
  const T scale = static_cast<T>(max_norm / (static_cast<double>(norm) + 1e-7));
  for (int64_t begin = 0; begin < row.row_numel(); begin += kChunk) {
    const int64_t count = std::min(kChunk, row.row_numel() - begin);
    if (context.should_stop(2 * count)) return context.stopped();
    row.load(loops, kComputeOf<T>, items, begin, count);
    for (int64_t i = 0; i < count; ++i) items[i] *= scale;
    row.store(loops, kComputeOf<T>, items, begin, count);
  }
  return ETB_OK;
}

// embedding_renorm(self, indices, max_norm, norm_type, out). An index that occurs again does not scale its row again.
etb_status embedding_renorm_out(KernelContext& context, ops::embedding_renorm_out<KernelArguments> args) {
  const Tensor &self = args.self(), &indices = args.indices();
  Tensor& out = args.out();
  if (self.rank() != 2 || !is_floating(self.dtype()))
    return context.fail(ETB_INVALID_ARGUMENT, "the table is %s %s, expected rows of floats",
                        to_text(self.dtype()), SizesText(self.sizes()).text);
  ETB_CHECK(expect_index(context, indices));
  ETB_CHECK(expect_same_dtype(context, self, out));
  ETB_CHECK(resize_output(context, out, self.sizes()));
  const int64_t rows = self.size(0);
  auto* is_named = context.allocate_array<uint8_t>(rows);
  if (is_named == nullptr) return context.fail_scratch(static_cast<uint64_t>(rows) + 64);
  ETB_CHECK(clear_bytes(context, is_named, static_cast<uint64_t>(rows)));
  ETB_CHECK(copy_tensor(context, self, out));
  ETB_CHECK(for_each_element(context, indices, [&](int64_t, int64_t offset) {
    const int64_t index = index_at(indices, offset);
    if (index < 0 || index >= rows) return fail_index(context, index, rows);
    is_named[index] = 1;
    return static_cast<etb_status>(ETB_OK);
  }));
  RowWalk row(out, one_dim(out, 1));
  for (int64_t i = 0; i < rows; ++i, row.advance()) {
    if (context.should_stop(1)) return context.stopped();
    if (is_named[i] == 0) continue;
    ETB_CHECK(self.dtype() == Dtype::FLOAT64
                  ? renorm_row<double>(context, row, args.max_norm(), args.norm_type())
                  : renorm_row<float>(context, row, args.max_norm(), args.norm_type()));
  }
  return ETB_OK;
}

constexpr Kernel kRows[] = {kernel_row<ops::embedding_renorm_out, embedding_renorm_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(embedding_renorm, kRows);

}  // namespace etb::host
