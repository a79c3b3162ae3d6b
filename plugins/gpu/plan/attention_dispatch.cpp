// SPDX-License-Identifier: Apache-2.0
// Dispatches of attention: tile_attention.comp and vector_attention.cl for CPU drivers, group_attention.comp for GPUs.
#include <algorithm>

#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/plan/product.hpp"
#include "plugins/gpu/plan/strided_dims.hpp"

namespace etb::gpu {

namespace {

constexpr uint32_t kTileRows = 8, kTileColumns = 64, kTileKeys = 32;
constexpr uint32_t kVectorRows = 4, kFewRows = 3;
constexpr uint32_t kGroupRows = 16, kGroupKeys = 32, kGroupDepth = 16;

// Steps through a mask: from one matrix, head, row and key to the next.
void add_mask(const NodeDispatch& context, const Attention& attention, Dispatch& dispatch) {
  Shape masked;
  Strides steps = {};
  if (attention.mask != kNoValue) {
    masked = context.shapes[attention.masked];
    steps = broadcast_strides(context.shapes[attention.mask], masked);
  }
  const auto from_end = [&](const auto& list, uint32_t d) {
    return d < masked.rank ? list[masked.rank - 1 - d] : 0;
  };
  const bool has_heads = masked.rank == 4;
  dispatch.add(has_heads ? masked.sizes[1] : 1);
  dispatch.add(has_heads ? steps[0] : from_end(steps, 2));
  dispatch.add(has_heads ? steps[1] : 0);
  dispatch.add(from_end(steps, 1));
  dispatch.add(from_end(steps, 0));
}

void add_arguments(const NodeDispatch& context, const Attention& attention, const AttentionSizes& sizes,
                   Dispatch& dispatch) {
  std::array<uint32_t, 4> operands = attention.operands();
  if (attention.turns_k) operands[1] = attention.key_columns;
  for (const uint32_t operand : operands) dispatch.bind(operand);
  dispatch.bind(context.node.output);
  for (const uint32_t word : {sizes.rows, sizes.keys, sizes.depth, sizes.columns}) dispatch.add(word);
  add_mask(context, attention, dispatch);
  dispatch.add(static_cast<uint32_t>(attention.mask_kind));
  dispatch.add(attention.zeroes_masked ? 1 : 0);
  for (const uint32_t operand : {attention.k, attention.v, attention.operands()[3]})
    dispatch.add(static_cast<uint32_t>(context.shapes[operand].numel()));
  dispatch.add_float(attention.q_scale);
  dispatch.add_float(attention.scale);
  dispatch.add_float(attention.fill);
  dispatch.add(sizes.k_group);
  dispatch.add(sizes.v_group);
}

struct TileKernels {
  Kernel whole, edge;
};
TileKernels tile_kernels(MaskKind kind) {
  if (kind == MaskKind::kNone) return {Kernel::kTileAttention, Kernel::kTileAttentionEdge};
  if (kind == MaskKind::kAdded) return {Kernel::kTileAttentionMasked, Kernel::kTileAttentionEdgeMasked};
  return {Kernel::kTileAttentionChosen, Kernel::kTileAttentionEdgeChosen};
}

void dispatch_tile_attention(const NodeDispatch& context, const Attention& attention,
                             const AttentionSizes& sizes) {
  const bool is_whole = (sizes.depth | sizes.columns) % 4 == 0;
  const TileKernels kernels = tile_kernels(attention.mask_kind);
  Dispatch& dispatch = context.add_empty(is_whole ? kernels.whole : kernels.edge);
  add_arguments(context, attention, sizes, dispatch);
  dispatch.turns = attention_turns(sizes);
  dispatch.items = {divide_up(sizes.columns, kTileColumns) * kLeastLocalSize,
                    divide_up(sizes.rows, kTileRows), sizes.batch};
}

void dispatch_vector_attention(const NodeDispatch& context, const Attention& attention,
                               const AttentionSizes& sizes) {
  if (attention.turns_k) {
    const Shape matrices{3, {sizes.batch / sizes.k_group, sizes.keys, sizes.depth}};
    dispatch_transpositions(context, attention.k, matrices, attention.key_columns);
  }
  const bool is_row = sizes.rows < kFewRows;
  Dispatch& dispatch = context.add_empty(is_row ? Kernel::kVectorAttentionRow : Kernel::kVectorAttention);
  add_arguments(context, attention, sizes, dispatch);
  dispatch.items = {divide_up(sizes.rows, is_row ? 1 : kVectorRows), sizes.batch, 1};
}

void dispatch_group_attention(const NodeDispatch& context, const Attention& attention,
                              const AttentionSizes& sizes) {
  const bool is_whole = (sizes.depth | sizes.columns) % 4 == 0;
  Dispatch& dispatch = context.add_empty(is_whole ? Kernel::kGroupAttention : Kernel::kGroupAttentionEdge);
  add_arguments(context, attention, sizes, dispatch);
  dispatch.turns = attention_turns(sizes);
  dispatch.items = {divide_up(sizes.rows, kGroupRows) * fixed_group_of(dispatch.kernel), 1, sizes.batch};
}

}  // namespace

uint64_t attention_turns(const AttentionSizes& sizes) {
  const uint64_t of_tiles =
      uint64_t{divide_up(sizes.keys, kTileKeys)} * (divide_up(sizes.depth, 4) + kLeastLocalSize + 1);
  const uint64_t of_groups =
      uint64_t{divide_up(sizes.keys, kGroupKeys)} * (divide_up(sizes.depth, kGroupDepth) + kGroupKeys + 1);
  return std::max(of_tiles, of_groups);
}

void dispatch_attention(const NodeDispatch& context, const Attention& attention) {
  const AttentionSizes sizes = sizes_of(context.graph, attention, context.shapes);
  if (context.family == KernelFamily::kTiles) return dispatch_tile_attention(context, attention, sizes);
  if (context.family == KernelFamily::kGroups) return dispatch_group_attention(context, attention, sizes);
  dispatch_vector_attention(context, attention, sizes);
}

void add_kernels(const Attention& attention, KernelFamily family, std::span<bool, kKernelCount> kernels) {
  const auto add = [&](Kernel kernel) { kernels[index_of(kernel)] = true; };
  if (family == KernelFamily::kTiles) {
    const TileKernels tiles = tile_kernels(attention.mask_kind);
    add(tiles.whole);
    add(tiles.edge);
  } else if (family == KernelFamily::kGroups) {
    add(Kernel::kGroupAttention);
    add(Kernel::kGroupAttentionEdge);
  } else {
    add(Kernel::kVectorAttention);
    add(Kernel::kVectorAttentionRow);
  }
}

}  // namespace etb::gpu
