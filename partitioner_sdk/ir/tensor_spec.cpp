// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/ir/tensor_spec.hpp"

#include <algorithm>
#include <numeric>

namespace etb::ir {

Dims strides_in_order(SymbolTable& symbols, const Dims& sizes, const std::vector<uint8_t>& order) {
  Dims strides(sizes.size(), Dim(1));
  Dim step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    if (!sizes[order[i]].is(0)) step = symbols.mul(step, sizes[order[i]]);
  }
  return strides;
}

namespace {

std::vector<uint8_t> row_major_order(size_t rank) {
  std::vector<uint8_t> order(rank);
  std::iota(order.begin(), order.end(), uint8_t{0});
  return order;
}

// True if the strides match this order. A stride counts only if the dimension has more than one element.
bool has_strides(SymbolTable& symbols, const TensorSpec& spec, const std::vector<uint8_t>& order) {
  const Dims wanted = strides_in_order(symbols, spec.sizes, order);
  for (size_t i = 0; i < spec.rank(); ++i) {
    if (spec.sizes[i].is(0)) return true;
    if (!spec.sizes[i].is(1) && spec.strides[i] != wanted[i]) return false;
  }
  return true;
}

}  // namespace

Dims contiguous_strides(SymbolTable& symbols, const Dims& sizes) {
  return strides_in_order(symbols, sizes, row_major_order(sizes.size()));
}

bool is_contiguous(SymbolTable& symbols, const TensorSpec& spec) {
  return has_strides(symbols, spec, row_major_order(spec.rank()));
}

std::vector<uint8_t> channels_last_order(size_t rank) {
  std::vector<uint8_t> order = row_major_order(rank);
  if (rank >= 3) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

bool is_channels_last(SymbolTable& symbols, const TensorSpec& spec) {
  if (spec.rank() != 4 && spec.rank() != 5) return false;
  return has_strides(symbols, spec, channels_last_order(spec.rank()));
}

std::optional<std::vector<uint8_t>> find_dim_order(SymbolTable& symbols, const TensorSpec& spec) {
  std::vector<uint8_t> order = row_major_order(spec.rank());
  if (has_strides(symbols, spec, order)) return order;
  // Strides with symbols are compared by their example's value, which has the exporter's order.
  const auto key = [&](uint8_t i) {
    return symbols.hint(spec.strides[i]).value_or(symbols.range(spec.strides[i]).max);
  };
  std::stable_sort(order.begin(), order.end(), [&](uint8_t a, uint8_t b) { return key(a) > key(b); });
  if (!has_strides(symbols, spec, order)) return std::nullopt;
  return order;
}

Dim numel(SymbolTable& symbols, const Dims& sizes) {
  Dim total = 1;
  for (const Dim size : sizes) total = symbols.mul(total, size);
  return total;
}

}  // namespace etb::ir
