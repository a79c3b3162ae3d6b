// SPDX-License-Identifier: Apache-2.0
// A tensor's properties that are known ahead of time: dtype, sizes, strides.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/ops/dtype.hpp"
#include "partitioner_sdk/ir/symbols.hpp"

namespace etb::ir {

using ops::Dtype;
using Dims = std::vector<Dim>;

// Strides count elements. Until views_to_copies a tensor may be a strided view; after it every tensor is
// dense.
struct TensorSpec {
  Dtype dtype = Dtype::FLOAT32;
  Dims sizes;
  Dims strides;

  size_t rank() const { return sizes.size(); }
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// Returns strides of a dense row-major tensor. As in PyTorch, a size of 0 counts as 1.
Dims contiguous_strides(SymbolTable& symbols, const Dims& sizes);
// Returns strides of a dense tensor whose dimensions are stored in `order`, outermost first.
Dims strides_in_order(SymbolTable& symbols, const Dims& sizes, const std::vector<uint8_t>& order);

bool is_contiguous(SymbolTable& symbols, const TensorSpec& spec);
// True if dense in the order 0, 2, 3, 1 (rank 4) or 0, 2, 3, 4, 1 (rank 5).
bool is_channels_last(SymbolTable& symbols, const TensorSpec& spec);
std::vector<uint8_t> channels_last_order(size_t rank);

// Returns the dimensions, outermost first, if the tensor is dense; nullopt for a view with gaps or repeated
// elements. Ties keep their order, as in PyTorch's dim_order().
std::optional<std::vector<uint8_t>> find_dim_order(SymbolTable& symbols, const TensorSpec& spec);

// Returns the product of the sizes.
Dim numel(SymbolTable& symbols, const Dims& sizes);

}  // namespace etb::ir
