// SPDX-License-Identifier: Apache-2.0
// Constant matrices that are larger than the range of a buffer, such as the embedding of a large vocabulary: pieces of rows.
#pragma once

#include <vector>

#include "plugins/gpu/compile/lowering_context.hpp"

namespace etb::gpu {

struct RowPiece {
  uint32_t first = 0, count = 0;  // rows
};

// The rows of a matrix of floats, in pieces of which each fits into a buffer of every device. One piece for a matrix that fits, or
// whose single rows do not.
std::vector<RowPiece> find_row_pieces(const Shape& matrix);

}  // namespace etb::gpu
