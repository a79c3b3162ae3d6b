// SPDX-License-Identifier: Apache-2.0
// Dispatches of matrix products and convolutions by the kernels tile_*.comp, for CPU drivers. A workgroup has eight
// invocations (kLeastLocalSize).
#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/plan/product.hpp"

namespace etb::gpu {

namespace {
constexpr uint32_t kProductPart = 256,
                   kConvolutionPart = 32;  // kSteps of tile_matmul.comp and tile_convolution.comp
}

void dispatch_tile_product(const NodeDispatch& context, const Product& product,
                           const ProductOperands& operands) {
  constexpr uint32_t kRows = 16;
  const uint32_t whole = product.depth | product.columns | product.b_row | product.a_batch | product.b_batch;
  const bool is_whole = whole % 4 == 0 && context.tile != Tile::kNarrow;
  Dispatch& dispatch = context.add_empty(is_whole ? Kernel::kTileMatmul : Kernel::kTileMatmulEdge);
  bind_product(context, dispatch, product, operands);
  dispatch.turns = divide_up(product.depth, 4) + divide_up(product.depth, kProductPart);
  dispatch.items = {divide_up(product.columns, is_whole ? 32 : 16) * kLeastLocalSize,
                    divide_up(product.rows, kRows), product.batch};
}

void dispatch_tile_convolution(const NodeDispatch& context, bool is_depthwise) {
  const Shape &weight = context.input(1), &out = context.result();
  const auto groups = static_cast<uint32_t>(context.number(field::kGroups));
  if (!is_depthwise) {
    Dispatch& dispatch = context.add_empty(Kernel::kTileConvolution);
    bind_convolution(context, dispatch, false);
    dispatch.turns = divide_up(weight.product(1, 4), 4) + divide_up(weight.product(1, 4), kConvolutionPart);
    dispatch.items = {divide_up(out.product(2, 4), 16) * kLeastLocalSize,
                      groups * divide_up(out.sizes[1] / groups, 16), out.sizes[0]};
    return;
  }
  const int32_t stride = context.number(field::kStride + 1);
  const bool is_fixed = weight.sizes[2] == 3 && weight.sizes[3] == 3 &&
                        context.number(field::kDilation) == 1 && context.number(field::kDilation + 1) == 1 &&
                        stride <= 2;
  Dispatch& dispatch = context.add_empty(!is_fixed     ? Kernel::kTileDepthwise
                                         : stride == 1 ? Kernel::kTileDepthwise1
                                                       : Kernel::kTileDepthwise2);
  bind_convolution(context, dispatch, true);
  if (!is_fixed) dispatch.turns = uint64_t{weight.sizes[2]} * (weight.sizes[3] + 1);
  dispatch.items = {divide_up(out.sizes[3], 8) * out.sizes[2], groups, out.sizes[0]};
}

}  // namespace etb::gpu
