// SPDX-License-Identifier: Apache-2.0
// Dispatches of matrix products and convolutions by the kernels vector_*.cl, for CPU drivers of OpenCL. A workgroup is one
// work-item, which computes a tile.
#include "plugins/gpu/plan/product.hpp"

namespace etb::gpu {

void dispatch_vector_product(const NodeDispatch& context, const Product& product,
                             const ProductOperands& operands) {
  constexpr uint32_t kVector = 16, kRows = 8;
  if (product.columns < kVector) return dispatch_register_product(context, product, operands);
  const bool has_two = product.columns >= 2 * kVector;
  const bool is_half = !has_two || context.tile == Tile::kNarrow,
             is_row = !is_half && context.uses(Tile::kThin, product.rows < 4);
  Dispatch& dispatch = context.add_empty(is_half  ? Kernel::kVectorMatmulHalf
                                         : is_row ? Kernel::kVectorMatmulRow
                                                  : Kernel::kVectorMatmul);
  bind_product(context, dispatch, product, operands);
  dispatch.turns = product.depth;
  dispatch.items = {divide_up(product.rows, is_row ? 1 : kRows),
                    divide_up(product.columns, is_half ? kVector : 2 * kVector), product.batch};
}

bool has_vector_convolution(const NodeDispatch& context, bool is_depthwise) {
  if (!is_depthwise) return true;
  const Shape& weight = context.input(1);
  const auto is_pair = [&](uint32_t at, int32_t number) {
    return context.number(at) == number && context.number(at + 1) == number;
  };
  return weight.sizes[2] == 3 && weight.sizes[3] == 3 && is_pair(field::kDilation, 1) &&
         (is_pair(field::kStride, 1) || is_pair(field::kStride, 2));
}

void dispatch_vector_convolution(const NodeDispatch& context, bool is_depthwise) {
  constexpr uint32_t kPixels = 32, kChannels = 32, kLines = 16;
  const Shape &weight = context.input(1), &out = context.result();
  const auto groups = static_cast<uint32_t>(context.number(field::kGroups));
  if (is_depthwise) {
    Dispatch& dispatch = context.add_empty(context.number(field::kStride) == 1 ? Kernel::kVectorDepthwise1
                                                                               : Kernel::kVectorDepthwise2);
    bind_convolution(context, dispatch, true);
    dispatch.items = {divide_up(out.sizes[2], kLines), groups, out.sizes[0]};
    return;
  }
  Dispatch& dispatch = context.add_empty(Kernel::kVectorConvolution);
  bind_convolution(context, dispatch, false);
  dispatch.turns = weight.product(1, 4);
  dispatch.items = {divide_up(out.product(2, 4), kPixels),
                    groups * divide_up(out.sizes[1] / groups, kChannels), out.sizes[0]};
}

}  // namespace etb::gpu
