// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/dispatch.hpp"

#include <algorithm>

#include "plugins/gpu/plan/half_storage.hpp"
#include "plugins/gpu/plan/node_dispatch.hpp"

namespace etb::gpu {

namespace {

Kernel unary_kernel(UnaryFunction function) {
  switch (function) {
#define ETB_GPU_UNARY(name, ...) \
  case UnaryFunction::k##name:   \
    return Kernel::kUnary##name;
#define ETB_GPU_BINARY(...)
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
  }
  return Kernel::kUnaryAbs;
}

void dispatch_unary(const NodeDispatch& context) {
  Dispatch& dispatch =
      context.add(unary_kernel(static_cast<UnaryFunction>(context.number(field::kFunction))));
  if (computes_in_half(context.graph, context.node)) dispatch.halves = kInHalfBit;
  const uint64_t groups = (context.result().numel() + 3) / 4;
  dispatch.add(static_cast<uint32_t>(groups));
  for (const float parameter : context.node.floats) dispatch.add_float(parameter);
  dispatch.set_linear(groups);
}

void dispatch_pool(const NodeDispatch& context) {
  const Shape &in = context.input(0), &out = context.result();
  Dispatch& dispatch =
      context.add(context.number(field::kIsMean) != 0 ? Kernel::kMeanPool : Kernel::kMaxPool);
  dispatch.add(static_cast<uint32_t>(out.numel()));
  for (const Shape* shape : {&in, &out}) {
    dispatch.add(shape->sizes[shape->rank - 2]);
    dispatch.add(shape->sizes[shape->rank - 1]);
  }
  for (uint32_t i = field::kKernel; i < field::kCeiling; ++i) dispatch.add_int(context.number(i));
  dispatch.add_int(context.number(field::kCountsPadding));
  dispatch.add_int(context.number(field::kDivisor));
  dispatch.turns = uint64_t{static_cast<uint32_t>(context.number(field::kKernel))} *
                   (static_cast<uint32_t>(context.number(field::kKernel + 1)) + 1);
  dispatch.set_linear(out.numel());
}

void dispatch_adaptive_pool(const NodeDispatch& context) {
  const Shape &in = context.input(0), &out = context.result();
  Dispatch& dispatch = context.add(Kernel::kAdaptiveMeanPool);
  const auto largest = [&](uint32_t from_end) {  // elements of a window
    const uint32_t size = in.sizes[in.rank - from_end], count = std::max(out.sizes[out.rank - from_end], 1u);
    return uint64_t{size / count} + 2;
  };
  dispatch.turns = largest(2) * (largest(1) + 1);
  dispatch.add(static_cast<uint32_t>(out.numel()));
  for (const Shape* shape : {&in, &out}) {
    dispatch.add(shape->sizes[shape->rank - 2]);
    dispatch.add(shape->sizes[shape->rank - 1]);
  }
  dispatch.set_linear(out.numel());
}

void dispatch_softmax(const NodeDispatch& context) {
  const Shape& out = context.result();
  Dispatch& dispatch =
      context.add(context.number(field::kIsLogarithm) != 0 ? Kernel::kLogSoftmax : Kernel::kSoftmax);
  const uint32_t dim = out.rank == 0 ? 0 : positive_dim(context.number(field::kSoftmaxDim), out.rank);
  const uint32_t length = out.rank == 0 ? 1 : out.sizes[dim];
  const uint64_t rows = length == 0 ? 0 : out.numel() / length;
  dispatch.add(static_cast<uint32_t>(rows));
  dispatch.add(length);
  dispatch.add(out.rank == 0 ? 1 : out.product(dim + 1, out.rank));
  dispatch.turns = 3 * (uint64_t{length} / 4 + 1);
  dispatch.set_linear(rows);
}

void dispatch_layer_norm(const NodeDispatch& context) {
  const Shape& out = context.result();
  const auto rank = static_cast<uint32_t>(context.number(field::kNormalizedRank));
  Dispatch& dispatch = context.add(Kernel::kLayerNorm);
  const uint32_t rows = out.product(0, out.rank - rank);
  dispatch.add(rows);
  const uint32_t length = out.product(out.rank - rank, out.rank);
  dispatch.add(length);
  dispatch.add_float(context.node.floats[0]);
  dispatch.turns = 3 * (uint64_t{length} / 4 + 1);
  dispatch.set_linear(rows);
}

void dispatch_batch_norm(const NodeDispatch& context) {
  const Shape& out = context.result();
  Dispatch& dispatch = context.add(Kernel::kBatchNorm);
  dispatch.add(static_cast<uint32_t>(out.numel()));
  dispatch.add(out.sizes[1]);
  dispatch.add(out.product(2, out.rank));
  dispatch.add_float(context.node.floats[0]);
  dispatch.set_linear(out.numel());
}

// Words of an index, 0 for floats.
uint32_t index_words(const NodeDispatch& context, uint32_t input) {
  const DataType type = context.graph.value(context.node.inputs[input]).type;
  return type == DataType::kFloat32 ? 0 : nbytes_of(type) / 4;
}

void dispatch_embedding(const NodeDispatch& context) {
  Dispatch& dispatch = context.add(Kernel::kEmbedding);
  dispatch.add(static_cast<uint32_t>(context.result().numel()));
  dispatch.add(context.input(0).sizes[0]);
  dispatch.add(context.input(0).sizes[1]);
  dispatch.add(index_words(context, 1));
  dispatch.add(context.node.ints.empty() ? 0 : static_cast<uint32_t>(context.number(field::kFirstRow)));
  dispatch.set_linear(context.result().numel());
}

void dispatch_where(const NodeDispatch& context) {
  Dispatch& dispatch = context.add(Kernel::kWhere);
  const uint64_t groups = (context.result().numel() + 3) / 4;
  dispatch.add(static_cast<uint32_t>(groups));
  dispatch.set_linear(groups);
}

void dispatch_gather(const NodeDispatch& context) {
  const Shape &in = context.input(0), &out = context.result();
  const uint32_t dim = positive_dim(context.number(field::kGatherDim), in.rank);
  Dispatch& dispatch = context.add(Kernel::kGather);
  dispatch.add(static_cast<uint32_t>(out.numel()));
  dispatch.add(out.product(dim + 1, out.rank));
  dispatch.add(out.sizes[dim]);
  dispatch.add(in.sizes[dim]);
  dispatch.add(context.number(field::kIsShared) != 0 ? 1 : 0);
  dispatch.add(index_words(context, 1));
  dispatch.set_linear(out.numel());
}

void dispatch_index_put(const NodeDispatch& context) {
  const Shape& out = context.result();
  const uint32_t dim = positive_dim(context.number(field::kPutDim), out.rank);
  Dispatch& dispatch = context.add(Kernel::kIndexPut);
  dispatch.add(static_cast<uint32_t>(out.numel()));
  dispatch.add(out.product(dim + 1, out.rank));
  dispatch.add(context.input(2).sizes[0]);
  dispatch.add(out.sizes[dim]);
  dispatch.add(index_words(context, 2));
  dispatch.turns = context.input(2).sizes[0];
  dispatch.set_linear(out.numel());
}

void dispatch_fold(const NodeDispatch& context) {
  const Shape &image = context.input(2), &out = context.result();
  Dispatch& dispatch = context.add_empty(Kernel::kFold);
  dispatch.bind(context.node.inputs[0]);
  dispatch.bind(context.node.inputs[1]);
  dispatch.bind(context.node.output);
  dispatch.add(static_cast<uint32_t>(out.numel()));
  dispatch.add(out.sizes[1]);
  for (const Shape* shape : {&image, &out})
    for (const uint32_t d : {2u, 3u}) dispatch.add(shape->sizes[d]);
  for (uint32_t at = field::kFoldKernel; at < field::kOutputPadding; ++at)
    dispatch.add_int(context.number(at));
  dispatch.turns = static_cast<uint64_t>(context.number(field::kFoldKernel)) *
                   static_cast<uint64_t>(context.number(field::kFoldKernel + 1));
  dispatch.set_linear(out.numel());
}

void dispatch_resize(const NodeDispatch& context) {
  const Shape &in = context.input(0), &out = context.result();
  Dispatch& dispatch =
      context.add(context.number(field::kIsLinear) != 0 ? Kernel::kResizeLinear : Kernel::kResizeNearest);
  dispatch.add(static_cast<uint32_t>(out.numel()));
  for (const Shape* shape : {&in, &out}) {
    dispatch.add(shape->sizes[2]);
    dispatch.add(shape->sizes[3]);
  }
  for (const float number : context.node.floats) dispatch.add_float(number);
  dispatch.set_linear(out.numel());
}

void dispatch_node(const NodeDispatch& context, bool is_alias) {
  switch (context.node.op) {
    case Operator::kUnary:
      return dispatch_unary(context);
    case Operator::kBinary:
      return dispatch_binary(context);
    case Operator::kMatmul:
      return dispatch_matmul(context);
    case Operator::kConvolution:
      return dispatch_convolution(context);
    case Operator::kPool:
      return dispatch_pool(context);
    case Operator::kAdaptiveMeanPool:
      return dispatch_adaptive_pool(context);
    case Operator::kSoftmax:
      return dispatch_softmax(context);
    case Operator::kLayerNorm:
      return dispatch_layer_norm(context);
    case Operator::kBatchNorm:
      return dispatch_batch_norm(context);
    case Operator::kReduce:
      return dispatch_reduce(context);
    case Operator::kPermute:
      return dispatch_permute(context);
    case Operator::kReshape:
      if (!is_alias) dispatch_dense_copy(context);
      return;
    case Operator::kExpand:
      return dispatch_expand(context);
    case Operator::kSlice:
      return dispatch_slice(context);
    case Operator::kSelect:
      return dispatch_select(context);
    case Operator::kCat:
      return dispatch_cat(context);
    case Operator::kPad:
      return dispatch_pad(context);
    case Operator::kEmbedding:
      return dispatch_embedding(context);
    case Operator::kWhere:
      return dispatch_where(context);
    case Operator::kFlip:
      return dispatch_flip(context);
    case Operator::kGather:
      return dispatch_gather(context);
    case Operator::kResize:
      return dispatch_resize(context);
    case Operator::kFold:
      return dispatch_fold(context);
    case Operator::kIndexPut:
      return dispatch_index_put(context);
  }
}

}  // namespace

void set_halves(const GpuGraph& graph, Dispatch& dispatch) {
  uint32_t halves = 0;
  for (uint32_t b = 0; b < dispatch.binding_count; ++b)
    if (graph.value(dispatch.bindings[b]).is_half) halves |= 1u << b;
  if (halves != 0 && graph.computes_halves) halves |= kArithmeticBit | (dispatch.halves & kInHalfBit);
  dispatch.halves = halves;
}

void make_dispatches(const GpuGraph& graph, const Fusions& fusions, const KernelChoices& kernels,
                     std::span<const Shape> shapes, std::span<const uint32_t> aliases,
                     std::vector<Dispatch>& out) {
  out.clear();
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const GpuNode& node = graph.nodes[i];
    const size_t first = out.size();
    const bool is_inner = fusions.computed_at(i) != i;
    if (is_inner) continue;
    if (const Attention* const attention = fusions.attentions.find(i); attention != nullptr) {
      dispatch_attention({graph, kernels.family, node, shapes, out}, *attention);
    } else if (const Chain* const chain = fusions.chains.find(i); chain != nullptr) {
      dispatch_chain({graph, kernels.family, node, shapes, out}, *chain);
    } else {
      const Residual* const residual = fusions.residuals.find(i);
      const uint32_t index = residual != nullptr ? residual->product : i;
      const GpuNode& computed = graph.nodes[index];
      const KernelChoice choice = kernels.at(index);
      const Tile tile = choice.result == shapes[computed.output] ? choice.tile : Tile::kBySizes;
      dispatch_node({graph, choice.family, computed, shapes, out, tile, residual},
                    aliases[computed.output] != computed.output);
    }
    for (size_t k = first; k < out.size(); ++k) {
      out[k].node = i;
      set_halves(graph, out[k]);
    }
  }
}

namespace {

constexpr Kernel kExact[] = {Kernel::kExactProduct};

std::span<const Kernel> product_kernels(KernelFamily family) {
  static constexpr Kernel kRegisters[] = {Kernel::kMatmulWide, Kernel::kMatmulWideEdge, Kernel::kMatmulNarrow,
                                          Kernel::kMatmulNarrowEdge};
  static constexpr Kernel kTiles[] = {Kernel::kTileMatmul, Kernel::kTileMatmulEdge};
  static constexpr Kernel kVectors[] = {Kernel::kVectorMatmul, Kernel::kVectorMatmulHalf,
                                        Kernel::kVectorMatmulRow, Kernel::kMatmulNarrow,
                                        Kernel::kMatmulNarrowEdge};
  static constexpr Kernel kGroups[] = {Kernel::kGroupMatmul,       Kernel::kGroupMatmulEdge,
                                       Kernel::kGroupMatmulNarrow, Kernel::kGroupMatmulNarrowEdge,
                                       Kernel::kGroupMatmulSlices, Kernel::kGroupMatmulSlicesEdge};
  switch (family) {
    case KernelFamily::kRegisters:
      return kRegisters;
    case KernelFamily::kTiles:
      return kTiles;
    case KernelFamily::kVectors:
      return kVectors;
    case KernelFamily::kGroups:
      return kGroups;
  }
  return kRegisters;
}

// The kernel of a general convolution depends on sizes in one family only.
std::span<const Kernel> convolution_kernels(KernelFamily family) {
  static constexpr Kernel kGroups[] = {Kernel::kGroupConvolution, Kernel::kGroupConvolutionSlices};
  return family == KernelFamily::kGroups ? std::span<const Kernel>(kGroups) : std::span<const Kernel>();
}

}  // namespace

void add_kernels(const GpuGraph& graph, KernelFamily family, const GpuNode& node,
                 std::span<bool, kKernelCount> kernels) {
  const auto add = [&](std::span<const Kernel> added) {
    for (const Kernel kernel : added) kernels[index_of(kernel)] = true;
  };
  const bool has_codes = node.inputs.size() > 1 && graph.value(node.inputs[1]).factors != kNoValue;
  const bool is_packed = has_codes || (node.inputs.size() > 1 && graph.value(node.inputs[1]).has_halves);
  if (node.op == Operator::kMatmul && is_packed) {
    const GpuValue& weight = graph.value(node.inputs[1]);
    const uint32_t columns = weight.shape.sizes[node.ints[field::kTransposedB] != 0 ? 0 : 1];
    const PackedProductKernels packed =
        packed_product_kernels(weight.has_halves ? 16 : weight.codes.bits, columns);
    const GroupKernels groups = group_product_kernels(weight.has_halves ? 16 : weight.codes.bits, false);
    if (family == KernelFamily::kGroups) add(std::array{groups.large, groups.narrow, groups.sliced});
    if (family != KernelFamily::kGroups) add(std::array{packed.wide, packed.narrow});
  } else if (node.op == Operator::kMatmul) {
    add(node.is_exact ? std::span<const Kernel>(kExact) : product_kernels(family));
  }
  if (node.op == Operator::kConvolution && !has_codes) {
    const GpuValue& weight = graph.value(node.inputs[1]);
    const ConvolutionKind kind = planned_kind(node, weight, weight.shape);
    if (kind == ConvolutionKind::kProduct) add(product_kernels(family));
    if (kind == ConvolutionKind::kGeneral) add(convolution_kernels(family));
  }
  if (node.op == Operator::kBinary) {
    switch (static_cast<BinaryFunction>(node.ints[field::kBinaryFunction])) {
#define ETB_GPU_UNARY(...)
#define ETB_GPU_BINARY(name, ...)                       \
  case BinaryFunction::k##name:                         \
    kernels[index_of(Kernel::kBinary##name)] = true;    \
    kernels[index_of(Kernel::kBroadcast##name)] = true; \
    break;
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
    }
  }
}

}  // namespace etb::gpu
