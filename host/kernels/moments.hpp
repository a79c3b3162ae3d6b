// SPDX-License-Identifier: Apache-2.0
// Mean and variance of one dense row, however long.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/kernels/vector/table.hpp"
#include "host/runtime/kernel_context.hpp"

namespace etb::host {

inline constexpr int64_t kSumPiece = KernelContext::kPiece;

struct Moments {
  double mean, variance;  // variance divided by the count
};

// In pieces whether the run is watched or not, so that the sums are the same.
template <class T>
__attribute__((noinline)) Moments moments_of_long_row(KernelContext& context, const VectorTable& table,
                                                      const T* x, int64_t count) {
  double sum = 0.0, squares = 0.0;
  for (int64_t begin = 0; begin < count && !context.should_stop(kSumPiece); begin += kSumPiece)
    sum += table.rows<T>().sum(x + begin, std::min(kSumPiece, count - begin));
  const double mean = sum / static_cast<double>(count);
  for (int64_t begin = 0; begin < count && !context.should_stop(kSumPiece); begin += kSumPiece)
    squares += table.rows<T>().squared_deviations(x + begin, std::min(kSumPiece, count - begin), mean);
  return {mean, squares / static_cast<double>(count)};
}

// The caller has counted a row of up to kSumPiece elements.
template <class T>
Moments moments(KernelContext& context, const VectorTable& table, const T* x, int64_t count) {
  if (count > kSumPiece) return moments_of_long_row(context, table, x, count);
  const double mean = table.rows<T>().sum(x, count) / static_cast<double>(count);
  return {mean, table.rows<T>().squared_deviations(x, count, mean) / static_cast<double>(count)};
}

}  // namespace etb::host
