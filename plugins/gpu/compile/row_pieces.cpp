// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/compile/row_pieces.hpp"

#include <algorithm>

#include "plugins/gpu/plan/execution_plan.hpp"

namespace etb::gpu {

std::vector<RowPiece> find_row_pieces(const Shape& matrix) {
  // Kernels pack columns and rows to multiples of up to this number.
  constexpr uint64_t kPacked = 64;
  const uint32_t rows = matrix.sizes[0];
  if (matrix.numel() * sizeof(float) <= kLeastRangeBytes) return {{0, rows}};
  const uint64_t row_bytes =
      (matrix.product(1, matrix.rank) + kPacked - 1) / kPacked * kPacked * sizeof(float);
  const uint64_t most = kLeastRangeBytes / row_bytes / kPacked * kPacked;
  if (most == 0) return {{0, rows}};
  std::vector<RowPiece> out;
  for (uint32_t first = 0; first < rows;) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(most, rows - first));
    out.push_back({first, count});
    first += count;
  }
  return out;
}

}  // namespace etb::gpu
