// SPDX-License-Identifier: Apache-2.0
// A matrix product, as the kernels of both families read it.
#pragma once

#include "plugins/gpu/plan/node_dispatch.hpp"

namespace etb::gpu {

inline uint32_t divide_up(uint32_t number, uint32_t by) { return (number + by - 1) / by; }

// y = limited(alpha * a * b + beta * bias), before a residual, as matmul.comp and tile_matmul.comp read it.
struct Product {
  uint32_t rows = 0, columns = 0, depth = 0, batch = 1;
  uint32_t a_batch = 0, b_batch = 0, y_batch = 0;
  uint32_t b_row = 0;
  uint32_t bias_row = 0, bias_column = 0;
  float alpha = 1, beta = 1, low = 0, high = 0;
  uint32_t bits = 0;   // bits of an element of b: 16, or 8 or 4 for codes; 0: floats
  uint32_t group = 0;  // codes of a row with one scale; 0: the whole row
};

struct ProductOperands {
  uint32_t a, b, bias;
  uint32_t factors = kNoValue;  // of codes
};

// True if a node gets the kernel that adds what its sums lose: a product of few numbers with a constant matrix of small depth. The
// bounds of the sizes decide, because descriptors are made for one kind of kernel.
bool is_exact_product(const GpuGraph& graph, const GpuNode& node, std::span<const Shape> bounds);

// Binds the operands and the result, and adds the arguments.
void bind_product(const NodeDispatch& context, Dispatch& dispatch, const Product& product,
                  const ProductOperands& operands);

// Adds the dispatch of a product by a kernel of kRegisters.
void dispatch_register_product(const NodeDispatch& context, const Product& product,
                               const ProductOperands& operands);
// Likewise for a b of float16 or of codes.
void dispatch_packed_product(const NodeDispatch& context, const Product& product,
                             const ProductOperands& operands);

}  // namespace etb::gpu
