// SPDX-License-Identifier: Apache-2.0
// Dispatches of matrix products and convolutions by the kernels of group_product.comp, for GPUs.
#include "plugins/gpu/plan/product.hpp"

namespace etb::gpu {

namespace {

constexpr uint32_t kColumns = 32;                  // of a tile
constexpr uint32_t kManyRows = 64, kFewRows = 16;  // of a tile, by kernel
constexpr uint64_t kBusy = 128;                    // workgroups that keep a GPU busy
constexpr uint32_t kStep = 16, kSlices = 4;        // parts of the depth, as in the kernel

struct Tiling {
  Kernel kernel;
  uint32_t rows;  // of a tile
  uint32_t slices;
};

// Large tiles load least. Small ones come in greater numbers, and slices of the depth even more so.
Tiling tiling_of(const NodeDispatch& context, uint32_t rows, uint64_t columns, uint32_t depth, uint64_t batch,
                 const GroupKernels& kernels) {
  const uint64_t across = (columns + kColumns - 1) / kColumns * batch;
  const uint64_t large_tiles = divide_up(rows, kManyRows) * across,
                 small_tiles = divide_up(rows, kFewRows) * across;
  if (context.uses(Tile::kWide, rows > kFewRows && large_tiles >= kBusy))
    return {kernels.large, kManyRows, 1};
  if (context.uses(Tile::kThin, small_tiles<4 * kBusy, depth> kStep * kSlices))
    return {kernels.sliced, kFewRows, kSlices};
  return {kernels.narrow, kFewRows, 1};
}

uint64_t turns_of(uint32_t depth, const Tiling& tiling) {
  return divide_up(depth, kStep * tiling.slices) + tiling.slices;
}

}  // namespace

GroupKernels group_product_kernels(uint32_t bits, bool is_whole) {
  if (bits == 16) return {Kernel::kGroupMatmul16, Kernel::kGroupMatmul16Narrow, Kernel::kGroupMatmul16Slices};
  if (bits == 8) return {Kernel::kGroupMatmul8, Kernel::kGroupMatmul8Narrow, Kernel::kGroupMatmul8Slices};
  if (bits == 4) return {Kernel::kGroupMatmul4, Kernel::kGroupMatmul4Narrow, Kernel::kGroupMatmul4Slices};
  if (is_whole) return {Kernel::kGroupMatmul, Kernel::kGroupMatmulNarrow, Kernel::kGroupMatmulSlices};
  return {Kernel::kGroupMatmulEdge, Kernel::kGroupMatmulNarrowEdge, Kernel::kGroupMatmulSlicesEdge};
}

void dispatch_group_product(const NodeDispatch& context, const Product& product,
                            const ProductOperands& operands) {
  const bool is_whole = product.bits == 0 && (product.columns | product.b_row | product.b_batch) % 4 == 0;
  const GroupKernels kernels = group_product_kernels(product.bits, is_whole);
  const Tiling tiling =
      tiling_of(context, product.rows, product.columns, product.depth, product.batch, kernels);
  Dispatch& dispatch = context.add_empty(tiling.kernel);
  bind_product(context, dispatch, product, operands);
  if (product.group != 0) dispatch.add(product.group);
  dispatch.turns = turns_of(product.depth, tiling);
  dispatch.items = {divide_up(product.columns, kColumns) * fixed_group_of(tiling.kernel),
                    divide_up(product.rows, tiling.rows), product.batch};
}

void dispatch_group_convolution(const NodeDispatch& context) {
  const Shape &weight = context.input(1), &out = context.result();
  const auto groups = static_cast<uint32_t>(context.number(field::kGroups));
  const uint32_t channels = out.sizes[1] / groups, depth = weight.product(1, 4), pixels = out.product(2, 4);
  const Tiling tiling = tiling_of(
      context, channels, pixels, depth, uint64_t{out.sizes[0]} * groups,
      {Kernel::kGroupConvolution, Kernel::kGroupConvolutionSlices, Kernel::kGroupConvolutionSlices});
  Dispatch& dispatch = context.add_empty(tiling.kernel);
  bind_convolution(context, dispatch, false);
  dispatch.turns = turns_of(depth, tiling);
  dispatch.items = {divide_up(pixels, kColumns) * fixed_group_of(tiling.kernel),
                    groups * divide_up(channels, tiling.rows), out.sizes[0]};
}

}  // namespace etb::gpu
