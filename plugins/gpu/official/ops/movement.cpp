// SPDX-License-Identifier: Apache-2.0
// Operators that move elements, or make tensors of one number. They are for numbers of all types.
#include <algorithm>
#include <cmath>

#include "plugins/gpu/official/ops.hpp"

namespace etb::gpu {

namespace {

// As an integer of a node; beyond its range, the nearest.
int32_t to_int32(int64_t number) {
  return static_cast<int32_t>(std::clamp<int64_t>(number, INT32_MIN, INT32_MAX));
}

Status lower_alias(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  ETB_TRY(call.check_same_kind(0));
  return call.define_moved(x, x);
}

// Checks operand and result, and returns the operand.
Result<uint32_t> moved(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  ETB_TRY(call.check_same_kind(0));
  return x;
}

Status lower_view(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, moved(call));
  ETB_ASSIGN(const std::vector<CallContext::SizeItem> sizes, call.sizes(1));
  ETB_ASSIGN(const uint32_t made, call.add_sized(Operator::kReshape, x, sizes));
  return call.define_moved(made, x);
}

// Sizes of the operand, each by its position, so that they may be smaller in a run.
std::vector<int32_t> copied_sizes(uint32_t rank) {
  std::vector<int32_t> sizes;
  for (uint32_t d = 0; d < rank; ++d) sizes.push_back(kCopiedSize - static_cast<int32_t>(d));
  return sizes;
}

Status lower_unsqueeze(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, moved(call));
  const uint32_t rank = call.declared(0).shape.rank;
  ETB_ASSIGN(const uint32_t dim, call.dim(1, rank + 1));
  if (rank + 1 > kMaxRank) return unsupported("rank ", rank + 1);
  std::vector<int32_t> sizes = copied_sizes(rank);
  sizes.insert(sizes.begin() + dim, 1);
  return call.define_moved(call.add(Operator::kReshape, {x}, std::move(sizes)), x);
}

Status lower_squeeze(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, moved(call));
  ETB_ASSIGN(const std::vector<int64_t> dims, call.integers(1));
  const Shape& shape = call.declared(0).shape;
  std::vector<int32_t> sizes;
  for (uint32_t d = 0; d < shape.rank; ++d) {
    const bool is_named = std::any_of(dims.begin(), dims.end(), [&](int64_t dim) {
      return dim == int64_t{d} || dim + shape.rank == int64_t{d};
    });
    if (!is_named || shape.sizes[d] != 1) sizes.push_back(kCopiedSize - static_cast<int32_t>(d));
  }
  return call.define_moved(call.add(Operator::kReshape, {x}, std::move(sizes)), x);
}

Status lower_permute(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, moved(call));
  ETB_ASSIGN(const std::vector<int64_t> dims, call.integers(1));
  const int64_t rank = call.declared(0).shape.rank;
  if (dims.size() != call.declared(0).shape.rank)
    return bad("argument 1: ", dims.size(), " dimensions of ", rank);
  std::vector<int32_t> ints;
  for (const int64_t dim : dims) ints.push_back(to_int32(dim < 0 ? dim + rank : dim));
  return call.define_moved(call.add(Operator::kPermute, {x}, std::move(ints)), x);
}

Status lower_expand(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, moved(call));
  ETB_ASSIGN(const std::vector<CallContext::SizeItem> sizes, call.sizes(1));
  ETB_ASSIGN(const uint32_t made, call.add_sized(Operator::kExpand, x, sizes));
  return call.define_moved(made, x);
}

// Each dimension in turn: [outer, inner] becomes [outer, 1, inner], [outer, times, inner], [outer * times, inner].
Status lower_repeat(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, moved(call));
  ETB_ASSIGN(const std::vector<int64_t> times, call.integers(1));
  const Shape& out = call.result().shape;
  if (times.size() != out.rank || out.rank < call.declared(0).shape.rank)
    return bad("argument 1: ", times.size(), " numbers for rank ", out.rank);
  Shape shape;
  shape.rank = out.rank;
  const uint32_t missing = out.rank - call.declared(0).shape.rank;
  for (uint32_t d = 0; d < out.rank; ++d)
    shape.sizes[d] = d < missing ? 1 : call.declared(0).shape.sizes[d - missing];
  uint32_t made = call.add_reshape(x, shape);
  for (uint32_t d = 0; d < out.rank; ++d) {
    if (times[d] < 0 || times[d] > static_cast<int64_t>(kMaxNumel)) return bad("argument 1: ", times[d]);
    if (times[d] == 1) continue;
    Shape split;
    split.rank = 3;
    split.sizes = {shape.product(0, d), 1, shape.product(d, shape.rank)};
    Shape repeated = split;
    repeated.sizes[1] = static_cast<uint32_t>(times[d]);
    const uint64_t size = uint64_t{shape.sizes[d]} * static_cast<uint64_t>(times[d]);
    if (size > kMaxNumel) return bad("argument 1: too many elements");
    made = call.add_expand(call.add_reshape(made, split), split, repeated);
    shape.sizes[d] = static_cast<uint32_t>(size);
    made = call.add_reshape(made, shape);
  }
  return call.define_moved(made, x);
}

uint32_t add_slice(CallContext& call, uint32_t x, uint32_t dim, int64_t start, int64_t end, int64_t step) {
  return call.add(Operator::kSlice, {x},
                  {static_cast<int32_t>(dim), to_int32(start), to_int32(end), to_int32(step)});
}

Result<uint32_t> add_slice_to(CallContext& call, uint32_t x, uint32_t dim, int64_t start, RuntimeSize end,
                              int64_t step) {
  if (end.value == kNoValue) return unsupported("a size that is computed at run time");
  if (const Shape& made = call.result().shape; dim < made.rank && start >= 0 && step == 1)
    call.bound_size(end, static_cast<uint32_t>(start) + made.sizes[dim]);
  return call.add(
      Operator::kSlice, {x, end.value},
      {static_cast<int32_t>(dim), to_int32(start), 0, to_int32(step), static_cast<int32_t>(end.dim)});
}

Status lower_slice(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, moved(call));
  ETB_ASSIGN(const uint32_t dim, call.dim(1, call.declared(0).shape.rank));
  int64_t start = 0;
  CallContext::SizeItem end{INT32_MAX, {}};
  if (!call.is_null(2)) {
    ETB_ASSIGN(start, call.integer(2));
  }
  if (!call.is_null(3)) {
    ETB_ASSIGN(end, call.size(3));
  }
  ETB_ASSIGN(const int64_t step, call.integer(4));
  if (!end.runtime) return call.define_moved(add_slice(call, x, dim, start, end.number, step), x);
  ETB_ASSIGN(const uint32_t part, add_slice_to(call, x, dim, start, *end.runtime, step));
  return call.define_moved(part, x);
}

Status lower_select(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, moved(call));
  ETB_ASSIGN(const uint32_t dim, call.dim(1, call.declared(0).shape.rank));
  ETB_ASSIGN(const int64_t index, call.integer(2));
  return call.define_moved(call.add(Operator::kSelect, {x}, {static_cast<int32_t>(dim), to_int32(index)}), x);
}

Status lower_split(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  ETB_ASSIGN(const std::vector<int64_t> sizes, call.integers(1));
  ETB_ASSIGN(const uint32_t dim, call.dim(2, call.declared(0).shape.rank));
  if (sizes.size() != call.result_count())
    return bad("argument 1: ", sizes.size(), " sizes of ", call.result_count(), " results");
  int64_t start = 0;
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > static_cast<int64_t>(kMaxNumel)) return bad("argument 1: ", sizes[i]);
    ETB_TRY(call.check_same_kind(0, i));
    ETB_TRY(call.define_moved(add_slice(call, x, dim, start, start + sizes[i], 1), x, i));
    start += sizes[i];
  }
  return {};
}

Status lower_cat(CallContext& call) {
  ETB_ASSIGN(const std::vector<uint32_t> parts, call.tensors(0));
  ETB_ASSIGN(const uint32_t dim, call.dim(1, call.result().shape.rank));
  const uint32_t largest = *std::max_element(parts.begin(), parts.end(), [&](uint32_t a, uint32_t b) {
    return call.magnitude(a) < call.magnitude(b);
  });
  return call.define_moved(call.add(Operator::kCat, parts, {static_cast<int32_t>(dim)}), largest);
}

Status lower_pad(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const std::vector<int64_t> pad, call.integers(1));
  double number = 0;
  if (!call.is_null(2)) {
    ETB_ASSIGN(number, call.number(2));
  }
  if (pad.empty()) return call.define_moved(x, x);
  if (pad.size() > 2 * kMaxRank) return bad("argument 1: ", pad.size(), " numbers");
  std::vector<int32_t> ints;
  for (const int64_t each : pad) ints.push_back(to_int32(each));
  return call.define_floats(call.add(Operator::kPad, {x}, std::move(ints), {to_float(number)}));
}

Status lower_flip(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, moved(call));
  ETB_ASSIGN(const std::vector<int64_t> dims, call.integers(1));
  const int64_t rank = call.declared(0).shape.rank;
  uint32_t mask = 0;
  for (const int64_t dim : dims) {
    const int64_t at = dim < 0 ? dim + rank : dim;
    if (at < 0 || at >= rank) return bad("argument 1: dimension ", dim, " of ", rank);
    mask |= 1u << at;
  }
  return call.define_moved(call.add(Operator::kFlip, {x}, {static_cast<int32_t>(mask)}), x);
}

Status check_index(CallContext& call, uint32_t at) {
  if (call.kind(at) != NumberKind::kInteger)
    return unsupported("argument ", at, ": ", to_text(call.declared(at).type), ", expected integers");
  return {};
}

// Index and operand have the same sizes but for one dimension; the operand may be larger elsewhere.
Status lower_gather(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, moved(call));
  ETB_ASSIGN(const uint32_t index, call.tensor(2));
  const Shape &shape = call.declared(0).shape, &indices = call.declared(2).shape;
  ETB_ASSIGN(const uint32_t dim, call.dim(1, shape.rank));
  ETB_TRY(check_index(call, 2));
  if (indices.rank != shape.rank) return bad("argument 2: rank ", indices.rank, ", expected ", shape.rank);
  uint32_t part = x;
  for (uint32_t d = 0; d < shape.rank; ++d)
    if (d != dim && indices.sizes[d] != shape.sizes[d])
      part = add_slice(call, part, d, 0, indices.sizes[d], 1);
  return call.define_moved(call.add(Operator::kGather, {part, index}, {static_cast<int32_t>(dim), 0}), x);
}

// Parts of a dimension by index: the sizes of the index replace that dimension.
Status add_taken(CallContext& call, uint32_t x, uint32_t dim, uint32_t index, const Shape& indices) {
  const Shape& shape = call.declared(0).shape;
  Shape out;
  for (uint32_t d = 0; d < dim; ++d) out.sizes[out.rank++] = shape.sizes[d];
  if (indices.rank + shape.rank - 1 > kMaxRank) return unsupported("rank ", indices.rank + shape.rank - 1);
  for (uint32_t d = 0; d < indices.rank; ++d) out.sizes[out.rank++] = indices.sizes[d];
  for (uint32_t d = dim + 1; d < shape.rank; ++d) out.sizes[out.rank++] = shape.sizes[d];
  if (indices.rank != 1) index = call.add(Operator::kReshape, {index}, {kInferredSize});
  uint32_t made = call.add(Operator::kGather, {x, index}, {static_cast<int32_t>(dim), 1});
  if (indices.rank != 1) made = call.add_reshape(made, out);
  return call.define_moved(made, x);
}

Status lower_embedding(CallContext& call) {
  ETB_ASSIGN(const uint32_t table, call.floats(0));
  ETB_ASSIGN(const uint32_t index, call.tensor(1));
  ETB_TRY(check_index(call, 1));
  return call.define_floats(call.add(Operator::kEmbedding, {table, index}));
}

// One tensor of indices among the dimensions.
Status lower_index(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, moved(call));
  ETB_ASSIGN(const CallContext::Item index, call.only_item(1));
  if (kind_of(index.tensor->type) != NumberKind::kInteger)
    return unsupported("argument 1: ", to_text(index.tensor->type), ", expected integers");
  if (index.position >= call.declared(0).shape.rank)
    return bad("argument 1: dimension ", index.position, " of ", call.declared(0).shape.rank);
  return add_taken(call, x, index.position, index.id, index.tensor->shape);
}

Status lower_index_select(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, moved(call));
  ETB_ASSIGN(const uint32_t dim, call.dim(1, call.declared(0).shape.rank));
  ETB_ASSIGN(const uint32_t index, call.tensor(2));
  ETB_TRY(check_index(call, 2));
  if (call.declared(2).shape.rank != 1) return unsupported("argument 2: rank ", call.declared(2).shape.rank);
  return add_taken(call, x, dim, index, call.declared(2).shape);
}

// ---- Tensors of one number

Status add_full(CallContext& call, double number) {
  ETB_ASSIGN(const FileTensor* made, call.find_result());
  const uint32_t one = call.add_number(number);
  if (kind_of(made->type) != NumberKind::kFloat && static_cast<double>(to_float(number)) != number)
    return unsupported("argument 1: ", number, ", which floats do not represent");
  ETB_ASSIGN(const std::vector<CallContext::SizeItem> sizes, call.sizes(0));
  ETB_ASSIGN(const uint32_t whole, call.add_sized(Operator::kExpand, one, sizes));
  return call.define_moved(whole, one);
}

Status lower_full(CallContext& call) {
  ETB_ASSIGN(const double number, call.number(1));
  return add_full(call, number);
}
Status lower_zeros(CallContext& call) { return add_full(call, 0); }
Status lower_ones(CallContext& call) { return add_full(call, 1); }

// Adds the number to a 0 for each element of the operand: sizes may be smaller in a run.
Status add_like(CallContext& call, double number) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  ETB_ASSIGN(const FileTensor* made, call.find_result());
  if (kind_of(made->type) != NumberKind::kFloat && static_cast<double>(to_float(number)) != number)
    return unsupported("argument 1: ", number, ", which floats do not represent");
  const uint32_t zero = call.add_binary(BinaryFunction::kLess, x, x);
  const uint32_t one = call.add_number(number);
  return call.define_moved(call.add_binary(BinaryFunction::kAdd, zero, one), one);
}

Status lower_full_like(CallContext& call) {
  ETB_ASSIGN(const double number, call.number(1));
  return add_like(call, number);
}

Status lower_zeros_like(CallContext& call) { return add_like(call, 0); }
Status lower_ones_like(CallContext& call) { return add_like(call, 1); }

Status lower_arange(CallContext& call) {
  constexpr double kMost = 1 << 20;
  ETB_ASSIGN(const double start, call.number(0));
  ETB_ASSIGN(const double step, call.number(2));
  ETB_ASSIGN(const FileTensor* made, call.find_result());
  double end = made->shape.rank == 1 ? made->shape.sizes[0] : 0;
  const auto runtime_end = call.size(1);
  const bool is_dynamic = runtime_end && runtime_end->runtime;
  if (is_dynamic && (start != 0 || step != 1)) return unsupported("arguments: expected 0 to a size, by 1");
  if (!is_dynamic) {
    ETB_ASSIGN(end, call.number(1));
  }
  const double count = step == 0 ? -1 : std::ceil((end - start) / step);
  if (!(count >= 0 && count <= kMost))
    return unsupported("arguments: ", count, " numbers, expected at most ", kMost);
  std::vector<float> numbers;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i)
    numbers.push_back(to_float(start + static_cast<double>(i) * step));
  Shape shape;
  shape.rank = 1;
  shape.sizes[0] = static_cast<uint32_t>(numbers.size());
  const double largest = std::max(std::abs(start), std::abs(end));
  if (kind_of(made->type) == NumberKind::kInteger && (start != std::trunc(start) || step != std::trunc(step)))
    return unsupported("arguments: fractions as ", to_text(made->type));
  uint32_t all = call.add_floats(std::move(numbers), shape);
  if (is_dynamic) {
    ETB_ASSIGN(all, add_slice_to(call, all, 0, 0, *runtime_end->runtime, 1));
  }
  return call.define(all, largest);
}

// ---- Sizes

Status lower_size(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  ETB_ASSIGN(const uint32_t dim, call.dim(1, call.declared(0).shape.rank));
  return call.define_size({x, dim});
}

// Arithmetic on sizes: a view may have one such size, which follows from its operand's.
Status lower_size_arithmetic(CallContext& call) {
  ETB_TRY(call.size(0));
  ETB_TRY(call.size(1));
  return call.define_size({});
}

constexpr OfficialOp kRows[] = {
    {"sym_size.int", 3, 3, lower_size, true},
    {"add", 3, 3, lower_size_arithmetic, true},
    {"sub", 3, 3, lower_size_arithmetic, true},
    {"mul", 3, 3, lower_size_arithmetic, true},
    {"floordiv", 3, 3, lower_size_arithmetic, true},
    {"et_vk.prepack.default", 2, 2, lower_alias},
    {"aten.clone.default", 3, 3, lower_alias},
    {"dim_order_ops._clone_dim_order.default", 4, 4, lower_alias},
    {"aten.view_copy.default", 3, 3, lower_view},
    {"aten.unsqueeze_copy.default", 3, 3, lower_unsqueeze},
    {"aten.squeeze_copy.dims", 3, 3, lower_squeeze},
    {"aten.permute.default", 3, 3, lower_permute},
    {"aten.permute_copy.default", 3, 3, lower_permute},
    {"aten.expand_copy.default", 4, 4, lower_expand},
    {"aten.repeat.default", 3, 3, lower_repeat},
    {"aten.slice_copy.Tensor", 6, 6, lower_slice},
    {"aten.select_copy.int", 4, 4, lower_select},
    {"aten.split_with_sizes_copy.default", 4, 4, lower_split},
    {"aten.cat.default", 3, 3, lower_cat},
    {"aten.constant_pad_nd.default", 4, 4, lower_pad},
    {"aten.flip.default", 3, 3, lower_flip},
    {"aten.gather.default", 5, 5, lower_gather},
    {"aten.embedding.default", 6, 6, lower_embedding},
    {"aten.index.Tensor", 3, 3, lower_index},
    {"aten.index_select.default", 4, 4, lower_index_select},
    {"aten.full.default", 7, 7, lower_full},
    {"aten.full_like.default", 8, 8, lower_full_like},
    {"aten.zeros.default", 6, 6, lower_zeros},
    {"aten.ones.default", 6, 6, lower_ones},
    {"aten.zeros_like.default", 7, 7, lower_zeros_like},
    {"aten.ones_like.default", 7, 7, lower_ones_like},
    {"aten.arange.start_step", 8, 8, lower_arange},
};

}  // namespace

extern const OfficialOpList movement_calls = kRows;

}  // namespace etb::gpu
