// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/graph/shapes.hpp"

#include <algorithm>

#include "plugins/gpu/graph/shape_rules.hpp"

namespace etb::gpu {

namespace {

Status infer_unary(const Sizes& sizes, Shape& out) {
  switch (static_cast<UnaryFunction>(sizes.number(field::kFunction))) {
#define ETB_GPU_UNARY(name, ...) case UnaryFunction::k##name:
#define ETB_GPU_BINARY(...)
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
    out = sizes.input(0);
    return {};
  }
  return mismatch("function, expected a known one");
}

Status infer_binary(const Sizes& sizes, Shape& out) {
  switch (static_cast<BinaryFunction>(sizes.number(field::kBinaryFunction))) {
#define ETB_GPU_UNARY(...)
#define ETB_GPU_BINARY(name, ...) case BinaryFunction::k##name:
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
    break;
    default:
      return mismatch("function, expected a known one");
  }
  const Shape &a = sizes.input(0), &b = sizes.input(1);
  out.rank = std::max(a.rank, b.rank);
  for (uint32_t d = 0; d < out.rank; ++d) {  // from the last dimension on
    const uint32_t x = d < a.rank ? a.sizes[a.rank - 1 - d] : 1, y = d < b.rank ? b.sizes[b.rank - 1 - d] : 1;
    if (x != y && x != 1 && y != 1) return mismatch("operands whose sizes do not broadcast");
    out.sizes[out.rank - 1 - d] = x == 1 ? y : x;
  }
  return {};
}

// a [..., M, K] or [M, K], b [..., K, N], or [..., N, K] if transposed; bias broadcasts to [M, N].
Status infer_matmul(const Sizes& sizes, Shape& out) {
  const Shape &a = sizes.input(0), &b = sizes.input(1);
  const bool is_transposed = sizes.number(field::kTransposedB) != 0;
  if (a.rank < 1 || b.rank < 2 || b.rank > 3) return mismatch("factors, expected matrices");
  const uint32_t depth = b.sizes[b.rank - (is_transposed ? 1 : 2)];
  const uint32_t columns = b.sizes[b.rank - (is_transposed ? 2 : 1)];
  if (a.sizes[a.rank - 1] != depth) return mismatch("factors of different inner sizes");
  if (b.rank == 3 && (a.rank != 3 || a.sizes[0] != b.sizes[0]))
    return mismatch("factors of different batches");
  if (b.rank == 3 && is_transposed && sizes.is_constant(1))
    return mismatch("a transposed constant batch, expected a matrix");
  if (is_transposed && !sizes.is_constant(1)) return mismatch("a transposed factor, expected a constant");
  out = a;
  out.sizes[out.rank - 1] = columns;
  if (sizes.node.inputs.size() < 3) return {};
  const Shape& bias = sizes.input(2);
  const uint32_t rows = out.product(0, out.rank - 1);
  if (b.rank == 3 || bias.rank > 2) return mismatch("bias, expected none or one of a matrix");
  const uint32_t last = bias.rank > 0 ? bias.sizes[bias.rank - 1] : 1,
                 first = bias.rank > 1 ? bias.sizes[0] : 1;
  const bool is_row = first == 1 && (last == columns || last == 1);
  const bool is_column = bias.rank == 2 && last == 1 && out.rank == 2 && first == rows;
  if (!is_row && !is_column) return mismatch("bias, expected one number, or one a row or column");
  return {};
}

Status infer_softmax(const Sizes& sizes, Shape& out) {
  out = sizes.input(0);
  if (positive_dim(sizes.number(field::kSoftmaxDim), std::max(out.rank, 1u)) == kMaxRank)
    return mismatch("dim out of range");
  return {};
}

Status infer_layer_norm(const Sizes& sizes, Shape& out) {
  out = sizes.input(0);
  const int32_t rank = sizes.number(field::kNormalizedRank);
  if (rank < 1 || static_cast<uint32_t>(rank) > out.rank)
    return mismatch("normalised dimensions out of range");
  const uint64_t count = out.product(out.rank - static_cast<uint32_t>(rank), out.rank);
  if (sizes.input(1).numel() != count || sizes.input(2).numel() != count)
    return mismatch("weight and bias, expected the normalised sizes");
  return {};
}

Status infer_batch_norm(const Sizes& sizes, Shape& out) {
  out = sizes.input(0);
  if (out.rank < 2) return mismatch("batch norm, expected rank 2 or more");
  for (size_t i = 1; i < 5; ++i)
    if (sizes.input(i).numel() != out.sizes[1]) return mismatch("statistics, expected one number a channel");
  return {};
}

Status infer_reduce(const Sizes& sizes, Shape& out) {
  const Shape& in = sizes.input(0);
  const auto dims = static_cast<uint32_t>(sizes.number(field::kDims));
  const int32_t reduction = sizes.number(field::kReduction);
  if ((dims >> in.rank) != 0) return mismatch("dims out of range");
  if (reduction < 0 || reduction > static_cast<int32_t>(Reduction::kArgMinimum))
    return mismatch("an unknown reduction");
  out.rank = 0;
  for (uint32_t d = 0; d < in.rank; ++d) {
    const bool is_reduced = (dims >> d & 1) != 0;
    if (is_reduced && in.sizes[d] == 0 && reduction >= static_cast<int32_t>(Reduction::kMaximum))
      return mismatch("maximum of no elements");
    if (!is_reduced) out.sizes[out.rank++] = in.sizes[d];
    if (is_reduced && sizes.number(field::kKeepsDims) != 0) out.sizes[out.rank++] = 1;
  }
  return {};
}

Status infer_permute(const Sizes& sizes, Shape& out) {
  const Shape& in = sizes.input(0);
  if (sizes.node.ints.size() != in.rank) return mismatch("permutation of another rank");
  uint32_t seen = 0;
  out.rank = in.rank;
  for (uint32_t d = 0; d < in.rank; ++d) {
    const int32_t from = sizes.number(d);
    if (from < 0 || static_cast<uint32_t>(from) >= in.rank || (seen >> from & 1) != 0)
      return mismatch("no permutation");
    seen |= 1u << from;
    out.sizes[d] = in.sizes[static_cast<size_t>(from)];
  }
  return {};
}

// The size that kCopiedSize refers to.
Result<uint32_t> copied_size(const Sizes& sizes, int32_t number) {
  const auto at = static_cast<uint32_t>(int64_t{kCopiedSize} - number);
  const uint32_t input = at / kMaxRank, d = at % kMaxRank;
  if (input >= sizes.node.inputs.size() || d >= sizes.input(input).rank)
    return make_error(Code::INVALID_ARGUMENT, "no such dimension");
  return sizes.input(input).sizes[d];
}

Status infer_reshape(const Sizes& sizes, Shape& out) {
  const Shape& in = sizes.input(0);
  out.rank = static_cast<uint32_t>(sizes.node.ints.size());
  uint32_t inferred = kMaxRank;
  uint64_t known = 1;
  for (uint32_t d = 0; d < out.rank; ++d) {
    const int32_t size = sizes.number(d);
    if (size == kInferredSize) {
      if (inferred != kMaxRank) return mismatch("two dimensions to infer");
      inferred = d;
      continue;
    }
    if (size >= 0) {
      out.sizes[d] = static_cast<uint32_t>(size);
    } else {
      ETB_ASSIGN(out.sizes[d], copied_size(sizes, size));
    }
    known *= std::max(out.sizes[d], 1u);
    if (known > kMaxNumel) return mismatch("sizes of too many elements");
  }
  if (inferred != kMaxRank) {
    uint64_t rest = 1;
    for (uint32_t d = 0; d < out.rank; ++d) rest *= d == inferred ? 1 : out.sizes[d];
    if (rest == 0 || in.numel() % rest != 0) return mismatch("sizes that do not divide the elements");
    out.sizes[inferred] = static_cast<uint32_t>(in.numel() / rest);
  }
  if (out.numel() != in.numel()) return mismatch("sizes of another number of elements");
  return {};
}

Status infer_expand(const Sizes& sizes, Shape& out) {
  const Shape& in = sizes.input(0);
  out.rank = static_cast<uint32_t>(sizes.node.ints.size());
  if (out.rank < in.rank) return mismatch("expansion to a lower rank");
  for (uint32_t d = 0; d < out.rank; ++d) {
    const int32_t size = sizes.number(d);
    const uint32_t missing = out.rank - in.rank;
    const bool has_own = d >= missing;
    if (size == kInferredSize && !has_own) return mismatch("expansion to a negative size");
    const uint32_t own = has_own ? in.sizes[d - missing] : 1;
    out.sizes[d] = size == kInferredSize ? own : static_cast<uint32_t>(size);
    if (size <= kCopiedSize) {
      ETB_ASSIGN(out.sizes[d], copied_size(sizes, size));
    }
    if (own != 1 && own != out.sizes[d]) return mismatch("expansion of a size other than 1");
  }
  return {};
}

Status infer_slice(const Sizes& sizes, Shape& out) {
  out = sizes.input(0);
  const uint32_t dim = positive_dim(sizes.number(field::kSliceDim), out.rank);
  if (dim == kMaxRank) return mismatch("dim out of range");
  if (sizes.number(field::kStep) < 1) return mismatch("step, expected at least 1");
  const bool has_end = sizes.node.inputs.size() > 1;
  if (has_end != (sizes.node.ints.size() > field::kEndDim)) return mismatch("an end without a dimension");
  if (has_end && positive_dim(sizes.number(field::kEndDim), sizes.input(1).rank) == kMaxRank)
    return mismatch("dim of the end out of range");
  out.sizes[dim] = slice_part(sizes.node, sizes.shapes).count;
  return {};
}

Status infer_select(const Sizes& sizes, Shape& out) {
  const Shape& in = sizes.input(0);
  const uint32_t dim = positive_dim(sizes.number(field::kSelectDim), in.rank);
  if (dim == kMaxRank) return mismatch("dim out of range");
  const int64_t index = sizes.number(field::kIndex), size = in.sizes[dim];
  if (index < -size || index >= size) return mismatch("index out of range");
  out.rank = in.rank - 1;
  for (uint32_t d = 0; d < out.rank; ++d) out.sizes[d] = in.sizes[d < dim ? d : d + 1];
  return {};
}

Status infer_cat(const Sizes& sizes, Shape& out) {
  out = sizes.input(0);
  const uint32_t dim = positive_dim(sizes.number(0), out.rank);
  if (dim == kMaxRank) return mismatch("dim out of range");
  uint64_t total = out.sizes[dim];
  for (size_t i = 1; i < sizes.node.inputs.size(); ++i) {
    const Shape& next = sizes.input(i);
    if (next.rank != out.rank) return mismatch("operands of different ranks");
    for (uint32_t d = 0; d < out.rank; ++d)
      if (d != dim && next.sizes[d] != out.sizes[d]) return mismatch("operands of different sizes");
    total += next.sizes[dim];
  }
  if (total > kMaxNumel) return mismatch("a result of too many elements");
  out.sizes[dim] = static_cast<uint32_t>(total);
  return {};
}

// Integers: before and after, from the last dimension on.
Status infer_pad(const Sizes& sizes, Shape& out) {
  out = sizes.input(0);
  const size_t pairs = sizes.node.ints.size() / 2;
  if (sizes.node.ints.size() % 2 != 0 || pairs > out.rank) return mismatch("padding of another rank");
  for (uint32_t i = 0; i < pairs; ++i) {
    uint32_t& size = out.sizes[out.rank - 1 - i];
    const int64_t padded = int64_t{size} + sizes.number(2 * i) + sizes.number(2 * i + 1);
    if (padded < 0 || padded > static_cast<int64_t>(kMaxNumel)) return mismatch("padding out of range");
    size = static_cast<uint32_t>(padded);
  }
  return {};
}

Status infer_embedding(const Sizes& sizes, Shape& out) {
  const Shape &table = sizes.input(0), &indices = sizes.input(1);
  if (table.rank != 2 || indices.rank >= kMaxRank) return mismatch("table, expected a matrix");
  out = indices;
  out.sizes[out.rank++] = table.sizes[1];
  return {};
}

// The plan expands operands to the same sizes.
Status infer_where(const Sizes& sizes, Shape& out) {
  out = sizes.input(0);
  if (sizes.input(1) != out || sizes.input(2) != out) return mismatch("operands of different sizes");
  return {};
}

Status infer_flip(const Sizes& sizes, Shape& out) {
  out = sizes.input(0);
  if ((static_cast<uint32_t>(sizes.number(field::kFlippedDims)) >> out.rank) != 0)
    return mismatch("dims out of range");
  return {};
}

Status infer_gather(const Sizes& sizes, Shape& out) {
  const Shape &in = sizes.input(0), &index = sizes.input(1);
  const uint32_t dim = positive_dim(sizes.number(field::kGatherDim), in.rank);
  if (dim == kMaxRank) return mismatch("dim out of range");
  out = in;
  if (sizes.number(field::kIsShared) != 0) {
    if (index.rank != 1) return mismatch("indices, expected one dimension");
    out.sizes[dim] = index.sizes[0];
    return {};
  }
  if (index.rank != in.rank) return mismatch("indices of another rank");
  out.sizes[dim] = index.sizes[dim];
  if (index != out) return mismatch("indices of other sizes");
  return {};
}

Status infer_index_put(const Sizes& sizes, Shape& out) {
  const Shape &values = sizes.input(1), &index = sizes.input(2);
  out = sizes.input(0);
  const uint32_t dim = positive_dim(sizes.number(field::kPutDim), out.rank);
  if (dim == kMaxRank || index.rank != 1) return mismatch("index put, expected indices of a dimension");
  Shape expected = out;
  expected.sizes[dim] = index.sizes[0];
  if (values != expected) return mismatch("values of other sizes than the parts");
  return {};
}

Status infer_node(const Sizes& sizes, Shape& out) {
  switch (sizes.node.op) {
    case Operator::kUnary:
      return infer_unary(sizes, out);
    case Operator::kBinary:
      return infer_binary(sizes, out);
    case Operator::kMatmul:
      return infer_matmul(sizes, out);
    case Operator::kConvolution:
      return infer_convolution(sizes, out);
    case Operator::kPool:
      return infer_pool(sizes, out);
    case Operator::kAdaptiveMeanPool:
      return infer_adaptive(sizes, out);
    case Operator::kSoftmax:
      return infer_softmax(sizes, out);
    case Operator::kLayerNorm:
      return infer_layer_norm(sizes, out);
    case Operator::kBatchNorm:
      return infer_batch_norm(sizes, out);
    case Operator::kReduce:
      return infer_reduce(sizes, out);
    case Operator::kPermute:
      return infer_permute(sizes, out);
    case Operator::kReshape:
      return infer_reshape(sizes, out);
    case Operator::kExpand:
      return infer_expand(sizes, out);
    case Operator::kSlice:
      return infer_slice(sizes, out);
    case Operator::kSelect:
      return infer_select(sizes, out);
    case Operator::kCat:
      return infer_cat(sizes, out);
    case Operator::kPad:
      return infer_pad(sizes, out);
    case Operator::kEmbedding:
      return infer_embedding(sizes, out);
    case Operator::kWhere:
      return infer_where(sizes, out);
    case Operator::kFlip:
      return infer_flip(sizes, out);
    case Operator::kGather:
      return infer_gather(sizes, out);
    case Operator::kResize:
      return infer_resize(sizes, out);
    case Operator::kFold:
      return infer_fold(sizes, out);
    case Operator::kIndexPut:
      return infer_index_put(sizes, out);
  }
  return mismatch("an unknown operator");
}

// Checks what every result must obey, and the types of the operands.
Status check_result(const Sizes& sizes, const Shape& out) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < out.rank; ++d) {
    numel *= std::max<uint64_t>(out.sizes[d], 1);
    if (numel > kMaxNumel) return mismatch("a result of too many elements");
  }
  if (sizes.graph.value(sizes.node.output).type != DataType::kFloat32)
    return mismatch("result, expected floats");
  for (size_t i = 0; i < sizes.node.inputs.size(); ++i) {
    const bool is_size = i > 0 && (sizes.node.op == Operator::kReshape ||
                                   sizes.node.op == Operator::kExpand || sizes.node.op == Operator::kSlice);
    const bool is_index =
        (i == 1 && (sizes.node.op == Operator::kEmbedding || sizes.node.op == Operator::kGather)) ||
        (i == 2 && sizes.node.op == Operator::kIndexPut);
    const bool may_be_integer = is_size || is_index;
    if (sizes.type(i) != DataType::kFloat32 && !may_be_integer) return mismatch("operand, expected floats");
  }
  return {};
}

}  // namespace

uint32_t positive_dim(int32_t dim, uint32_t rank) {
  const int64_t counted = dim < 0 ? int64_t{dim} + rank : dim;
  return counted < 0 || counted >= static_cast<int64_t>(rank) ? kMaxRank : static_cast<uint32_t>(counted);
}

SlicePart slice_part(const GpuNode& node, std::span<const Shape> shapes) {
  const Shape& in = shapes[node.inputs[0]];
  const int64_t whole = in.sizes[positive_dim(node.ints[field::kSliceDim], in.rank)],
                step = node.ints[field::kStep];
  int64_t start = node.ints[field::kStart], end = node.ints[field::kEnd];
  if (node.inputs.size() > 1) {
    const Shape& other = shapes[node.inputs[1]];
    end = other.sizes[positive_dim(node.ints[field::kEndDim], other.rank)];
  }
  if (start < 0) start += whole;
  if (end < 0) end += whole;
  start = std::clamp<int64_t>(start, 0, whole);
  end = std::clamp<int64_t>(end, start, whole);
  return {static_cast<uint32_t>(start), static_cast<uint32_t>((end - start + step - 1) / step),
          static_cast<uint32_t>(step)};
}

Status infer_shapes(const GpuGraph& graph, std::span<Shape> shapes) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Sizes sizes{graph, graph.nodes[i], shapes};
    Shape out;
    Status inferred = infer_node(sizes, out);
    if (inferred) inferred = check_result(sizes, out);
    if (!inferred)
      return tl::make_unexpected(with_context(
          std::move(inferred).error(), "node " + std::to_string(i) + " (" + to_text(sizes.node.op) + ")"));
    shapes[sizes.node.output] = out;
  }
  return {};
}

}  // namespace etb::gpu
