// SPDX-License-Identifier: Apache-2.0
// Dispatches of operators that read elements through strides.
#include <algorithm>

#include "plugins/gpu/plan/half_storage.hpp"
#include "plugins/gpu/plan/node_dispatch.hpp"
#include "plugins/gpu/plan/strided_dims.hpp"

namespace etb::gpu {

namespace {

void add_words(Dispatch& dispatch, const std::array<uint32_t, kMaxRank>& words) {
  for (const uint32_t word : words) dispatch.add(word);
}

// A view of the elements of a value.
struct View {
  uint32_t value = kNoValue;
  Strides strides = {};
  uint32_t first = 0;
};

// Copies the elements of a shape from one view to another.
void add_copy(const NodeDispatch& context, const Shape& shape, const View& from, const View& to) {
  const StridedDims<2> dims(shape, {from.strides, to.strides});
  Dispatch& dispatch = context.add_empty(Kernel::kCopy);
  dispatch.bind(from.value);
  dispatch.bind(to.value);
  dispatch.add(static_cast<uint32_t>(dims.groups_of_four()));
  dispatch.add(dims.rank);
  dispatch.add(from.first);
  dispatch.add(to.first);
  add_words(dispatch, dims.sizes);
  for (const Strides& strides : dims.strides) add_words(dispatch, strides);
  dispatch.set_linear(dims.groups_of_four());
}

Kernel binary_kernel(BinaryFunction function, bool broadcasts) {
  switch (function) {
#define ETB_GPU_UNARY(...)
#define ETB_GPU_BINARY(name, ...) \
  case BinaryFunction::k##name:   \
    return broadcasts ? Kernel::kBroadcast##name : Kernel::kBinary##name;
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
  }
  return Kernel::kBinaryAdd;
}

}  // namespace

void dispatch_binary(const NodeDispatch& context) {
  const Shape &a = context.input(0), &b = context.input(1), &out = context.result();
  const bool broadcasts = a.numel() != out.numel() || b.numel() != out.numel();
  const auto function = static_cast<BinaryFunction>(context.number(field::kBinaryFunction));
  Dispatch& dispatch = context.add(binary_kernel(function, broadcasts));
  if (computes_in_half(context.graph, context.node)) dispatch.halves = kInHalfBit;
  if (!broadcasts) {
    const uint64_t groups = (out.numel() + 3) / 4;
    dispatch.add(static_cast<uint32_t>(groups));
    dispatch.add_float(context.node.floats[0]);
    dispatch.set_linear(groups);
    return;
  }
  const StridedDims<3> dims(out, {broadcast_strides(a, out), broadcast_strides(b, out), dense_strides(out)});
  dispatch.add(static_cast<uint32_t>(dims.groups_of_four()));
  dispatch.add(dims.rank);
  dispatch.add_float(context.node.floats[0]);
  add_words(dispatch, dims.sizes);
  add_words(dispatch, dims.strides[0]);
  add_words(dispatch, dims.strides[1]);
  dispatch.set_linear(dims.groups_of_four());
}

void dispatch_permute(const NodeDispatch& context) {
  const Strides dense = dense_strides(context.input(0));
  View from{context.node.inputs[0]};
  for (uint32_t d = 0; d < context.result().rank; ++d)
    from.strides[d] = dense[static_cast<size_t>(context.number(d))];
  add_copy(context, context.result(), from, {context.node.output, dense_strides(context.result())});
}

void dispatch_expand(const NodeDispatch& context) {
  const Shape& out = context.result();
  add_copy(context, out, {context.node.inputs[0], broadcast_strides(context.input(0), out)},
           {context.node.output, dense_strides(out)});
}

void dispatch_slice(const NodeDispatch& context) {
  const Shape& in = context.input(0);
  const uint32_t dim = positive_dim(context.number(field::kSliceDim), in.rank);
  const SlicePart part = slice_part(context.node, context.shapes);
  View from{context.node.inputs[0], dense_strides(in)};
  from.first = part.start * from.strides[dim];
  from.strides[dim] *= part.step;
  add_copy(context, context.result(), from, {context.node.output, dense_strides(context.result())});
}

void dispatch_select(const NodeDispatch& context) {
  const Shape& in = context.input(0);
  const uint32_t dim = positive_dim(context.number(field::kSelectDim), in.rank);
  const Strides dense = dense_strides(in);
  const int32_t index = context.number(field::kIndex);
  View from{context.node.inputs[0]};
  from.first =
      (index < 0 ? in.sizes[dim] - static_cast<uint32_t>(-int64_t{index}) : static_cast<uint32_t>(index)) *
      dense[dim];
  for (uint32_t d = 0; d < context.result().rank; ++d) from.strides[d] = dense[d < dim ? d : d + 1];
  add_copy(context, context.result(), from, {context.node.output, dense_strides(context.result())});
}

// Strides of reversed dimensions are negative: addresses are sums modulo 2^32.
void dispatch_flip(const NodeDispatch& context) {
  const Shape& shape = context.result();
  const Strides dense = dense_strides(shape);
  const auto mask = static_cast<uint32_t>(context.number(field::kFlippedDims));
  View from{context.node.inputs[0], dense};
  for (uint32_t d = 0; d < shape.rank; ++d) {
    if ((mask >> d & 1) == 0 || shape.sizes[d] == 0) continue;
    from.first += (shape.sizes[d] - 1) * dense[d];
    from.strides[d] = 0 - dense[d];
  }
  add_copy(context, shape, from, {context.node.output, dense});
}

void dispatch_cat(const NodeDispatch& context) {
  const Shape& out = context.result();
  const uint32_t dim = positive_dim(context.number(0), out.rank);
  View to{context.node.output, dense_strides(out)};
  for (size_t i = 0; i < context.node.inputs.size(); ++i) {
    const Shape& part = context.input(i);
    add_copy(context, part, {context.node.inputs[i], dense_strides(part)}, to);
    to.first += part.sizes[dim] * to.strides[dim];
  }
}

void dispatch_dense_copy(const NodeDispatch& context) {
  const Strides dense = dense_strides(context.result());
  add_copy(context, context.result(), {context.node.inputs[0], dense}, {context.node.output, dense});
}

void dispatch_transpositions(const NodeDispatch& context, uint32_t from, const Shape& shape, uint32_t to) {
  const Strides dense = dense_strides(shape);
  const Shape turned{3, {shape.sizes[0], shape.sizes[2], shape.sizes[1]}};
  add_copy(context, turned, {from, {dense[0], dense[2], dense[1]}}, {to, dense_strides(turned)});
}

void dispatch_pad(const NodeDispatch& context) {
  const Shape &in = context.input(0), &out = context.result();
  Dispatch& dispatch = context.add(Kernel::kPad);
  dispatch.add(static_cast<uint32_t>(out.numel()));
  dispatch.add(out.rank);
  dispatch.add_float(context.node.floats[0]);
  for (uint32_t d = 0; d < kMaxRank; ++d) dispatch.add(d < out.rank ? out.sizes[out.rank - 1 - d] : 1);
  for (uint32_t d = 0; d < kMaxRank; ++d) dispatch.add(d < in.rank ? in.sizes[in.rank - 1 - d] : 1);
  for (uint32_t d = 0; d < kMaxRank; ++d)
    dispatch.add_int(2 * d < context.node.ints.size() ? context.number(2 * d) : 0);
  dispatch.set_linear(out.numel());
}

void dispatch_reduce(const NodeDispatch& context) {
  static constexpr Kernel kKernels[] = {Kernel::kSum,  Kernel::kMean,       Kernel::kAmax,
                                        Kernel::kAmin, Kernel::kArgMaximum, Kernel::kArgMinimum};
  const Shape& in = context.input(0);
  const auto mask = static_cast<uint32_t>(context.number(field::kDims));
  const Strides dense = dense_strides(in);
  Shape shapes[2];  // kept dimensions, reduced dimensions
  Strides strides[2] = {};
  for (uint32_t d = 0; d < in.rank; ++d) {
    const uint32_t part = mask >> d & 1;
    strides[part][shapes[part].rank] = dense[d];
    shapes[part].sizes[shapes[part].rank++] = in.sizes[d];
  }
  // Seen through a second, dense view, so that results and terms are counted densely.
  const StridedDims<2> kept(shapes[0], {strides[0], dense_strides(shapes[0])});
  const StridedDims<2> reduced(shapes[1], {strides[1], dense_strides(shapes[1])});
  Dispatch& dispatch = context.add(kKernels[context.number(field::kReduction)]);
  dispatch.add(static_cast<uint32_t>(shapes[0].numel()));
  dispatch.add(static_cast<uint32_t>(shapes[1].numel()));
  // A kind without dimensions needs none: its only element is at 0.
  const uint32_t kept_rank = shapes[0].rank == 0 ? 0 : kept.rank,
                 reduced_rank = shapes[1].rank == 0 ? 0 : reduced.rank;
  dispatch.add(kept_rank);
  dispatch.add(kept_rank + reduced_rank);
  for (const bool is_size : {true, false}) {
    for (uint32_t d = 0; d < kept_rank; ++d) dispatch.add(is_size ? kept.sizes[d] : kept.strides[0][d]);
    for (uint32_t d = 0; d < reduced_rank; ++d)
      dispatch.add(is_size ? reduced.sizes[d] : reduced.strides[0][d]);
    for (uint32_t d = kept_rank + reduced_rank; d < kMaxRank; ++d) dispatch.add(1);
  }
  const uint64_t inner = reduced_rank == 0 ? 1 : reduced.sizes[0];
  const uint64_t outer = inner == 0 ? 0 : shapes[1].numel() / inner;
  dispatch.turns = outer * (inner / 4 + 2 + reduced_rank) + kept_rank;
  dispatch.set_linear(shapes[0].numel());
}

}  // namespace etb::gpu
