// SPDX-License-Identifier: Apache-2.0
// Scaled dot product attention, with masks and grouped heads.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "ops/scaled_dot_product_attention.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// 0 where attention is allowed, else a value that softmax maps to 0.
ConstantPtr causal_mask(int64_t queries, int64_t keys, etb_dtype dtype) {
  auto made = std::make_shared<Constant>();
  made->dtype = dtype;
  made->sizes = {queries, keys};
  made->read = [queries, keys, dtype]() -> Result<Bytes> {
    std::vector<float> mask(static_cast<size_t>(queries * keys), 0);
    for (int64_t q = 0; q < queries; ++q) {
      for (int64_t k = q + 1; k < keys; ++k)
        mask[static_cast<size_t>(q * keys + k)] = dtype == ETB_DTYPE_FLOAT16 ? -60000.0f : -1e30f;
    }
    return make_floats({queries, keys}, std::move(mask), dtype)->read();
  };
  return made;
}

// The lowest value that a mask may add. A whole row of -inf would make softmax divide by 0. Scores must stay
// finite after the addition.
float lowest(etb_dtype dtype) {
  return dtype == ETB_DTYPE_FLOAT16 ? -60000.0f : -std::numeric_limits<float>::max();
}

// Clamps the result of the node that computes `id`.
uint32_t clamped(XnnGraphBuilder& builder, uint32_t id, float min, float max) {
  XnnNode& node = *builder.producer(id);
  node.is_clamped = true;
  node.clamp_min = min;
  node.clamp_max = max;
  return id;
}

// Adds means over the last dimension of a value of any rank; the result keeps it as 1. A value with one
// dynamic dimension is reshaped, one of rank 4 with two is transposed.
Result<uint32_t> add_row_means(XnnGraphBuilder& builder, uint32_t id) {
  const Extents extents = builder.extents(id);
  const size_t last = extents.sizes.size() - 1;
  if (std::popcount(extents.dynamic_dims) > 1) {
    if (last != 3 || extents.sizes[1] != 1 || extents.is_dynamic(1))
      return reject("dynamic",
                    "attn_mask with a dynamic number of rows and of columns, and one for each head");
    return builder.add_transpose(add_mean(builder, builder.add_transpose(id, {0, 3, 1, 2})), {0, 1, 3, 2});
  }
  Extents flat{{1, extents.sizes[last], 1, 1}, (extents.dynamic_dims >> last & 1) << 1}, rows = extents;
  for (size_t d = 0; d < last; ++d) {
    flat.sizes[0] *= extents.sizes[d];
    flat.dynamic_dims |= extents.dynamic_dims >> d & 1;
  }
  rows.sizes[last] = 1;
  rows.dynamic_dims &= ~(1u << last);
  ETB_ASSIGN(const uint32_t columns, builder.add_reshape(id, std::move(flat)));
  return builder.add_reshape(add_mean(builder, columns), std::move(rows));
}

// Adds a factor for each row of a mask: 0 if the row is fully masked (-inf everywhere), else 1. XNNPACK has no
// comparison, so clamps do it. For an element m and a row of K elements, where f * max is between 6 and 7:
//
//   scaled = clamp(f * m, -8, 0)         -8 for -inf, more than -7 for a finite m
//   open   = clamp(scaled + 8, 0, 1)     0 for -inf, 1 for a finite m
//   share  = mean of `open` over a row   0 for a masked row, else at least 1 / K
//   factor = clamp(2 * K * share, 0, 1)  0 for a masked row, else 1; 2 covers the rounding of the mean
Result<uint32_t> add_open_rows(XnnGraphBuilder& builder, uint32_t mask) {
  constexpr float kFloat16Scale = 1e-4f;   // f: the largest number is 65504
  constexpr float kFloat32Scale = 2e-38f;  // f: the largest number is 3.4e38
  constexpr float kMasked = 8;             // -inf becomes minus this number
  const auto number = [&](std::vector<int64_t> sizes, float value) {
    return builder.add_floats(std::move(sizes), {value}, mask);
  };
  Extents extents = builder.extents(mask);
  if (extents.sizes.size() < 4)
    extents.widen(4 - extents.sizes.size());  // the product gets the factor's rank
  const float scale = builder.dtype(mask) == ETB_DTYPE_FLOAT16 ? kFloat16Scale : kFloat32Scale;
  const uint32_t scaled =
      add_binary(builder, XnnOperator::kMultiply, mask, number({1, 1, 1, 1}, scale), extents);
  clamped(builder, scaled, -kMasked, 0);
  const uint32_t open = add_binary(builder, XnnOperator::kAdd, scaled, number({1}, kMasked), extents);
  clamped(builder, open, 0, 1);
  ETB_ASSIGN(const uint32_t share, add_row_means(builder, open));
  return clamped(builder, add_multiple(builder, share, 2.0 * extents.sizes.back()), 0, 1);
}

// Returns by row of a constant mask: 0 if it is fully masked, else 1.
std::vector<float> find_open_rows(const std::vector<float>& mask, size_t columns) {
  const auto is_masked = [](float value) { return std::isinf(value) && value < 0; };
  std::vector<float> open;
  for (size_t first = 0; first < mask.size(); first += columns) {
    const auto row = std::span(mask).subspan(first, columns);
    open.push_back(std::all_of(row.begin(), row.end(), is_masked) ? 0.0f : 1.0f);
  }
  return open;
}

// Lowers a constant mask. Most masks hide no full row. A claim, which has no bytes, assumes one without.
Result<AttentionMask> constant_mask(LoweringContext& context, uint32_t mask) {
  const ConstantPtr constant = context.builder().constant(mask);
  if (context.graph().is_claiming()) return AttentionMask{mask, kXnnNoValue};
  ETB_ASSIGN(std::vector<float> values, read_floats(*constant));
  std::vector<float> open = find_open_rows(values, static_cast<size_t>(constant->sizes.back()));
  if (std::find(open.begin(), open.end(), 0.0f) == open.end()) return AttentionMask{mask, kXnnNoValue};
  std::vector<int64_t> rows = constant->sizes;
  rows.back() = 1;
  for (float& value : values) value = std::max(value, lowest(constant->dtype));
  AttentionMask made;
  made.added = context.builder().add_floats(constant->sizes, std::move(values), mask);
  made.open_rows = context.builder().add_floats(std::move(rows), std::move(open), mask);
  return made;
}

using AttentionArguments = ops::scaled_dot_product_attention_default<NodeArguments>;

// Query, key and value of the graph.
struct Operands {
  uint32_t query, key, value;
};

Result<AttentionMask> add_causal_mask(LoweringContext& context, const Operands& operands, uint32_t scores) {
  const SourceGraph& graph = context.graph();
  if (graph.extents(operands.query).dynamic_dims != 0 || graph.extents(operands.key).dynamic_dims != 0)
    return reject("dynamic", "is_causal with dynamic sizes");
  const std::vector<int64_t> q = graph.sizes(operands.query), k = graph.sizes(operands.key);
  XnnGraphBuilder& builder = context.builder();
  const ConstantPtr mask = causal_mask(q[q.size() - 2], k[k.size() - 2], builder.dtype(scores));
  return AttentionMask{builder.add_constant(mask, builder.value(scores).datatype), kXnnNoValue};
}

// Lowers the mask, unless a layer before has lowered the same.
Result<AttentionMask> mask_of(LoweringContext& context, const AttentionArguments& args,
                              const Operands& operands, uint32_t scores) {
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(const bool is_causal, args.is_causal().value_or(false));
  if (is_causal) return add_causal_mask(context, operands, scores);
  if (!args.attn_mask().has_value()) return AttentionMask{};
  ETB_ASSIGN(const uint32_t value, args.attn_mask().id());
  ETB_ASSIGN(const XnnDatatype datatype, datatype_of(context.graph().dtype(value)));
  if (datatype != builder.value(scores).datatype) return reject("dtype", "attn_mask of another type");
  const size_t mask_rank = context.graph().rank(value), rank = context.graph().rank(operands.query);
  if (mask_rank == 0 || mask_rank > rank)
    return reject("rank", "attn_mask of rank ", mask_rank, ", expected 1 to ", rank);
  ETB_ASSIGN(const uint32_t mask, context.natural(value));
  auto& known_masks = context.attention_masks();
  if (const auto known = known_masks.find(mask); known != known_masks.end()) return known->second;
  AttentionMask made;
  if (builder.constant(mask)) {
    ETB_ASSIGN(made, constant_mask(context, mask));
  } else {
    made.added = clamped(builder, add_unary(builder, XnnOperator::kClamp, mask), lowest(builder.dtype(mask)),
                         std::numeric_limits<float>::infinity());
    ETB_ASSIGN(made.open_rows, add_open_rows(builder, mask));
  }
  known_masks[mask] = made;
  return made;
}

// Sizes of the operands: [..., heads, rows, depth]. `group` heads of the query share one head of key and
// value.
struct Heads {
  size_t rank = 0;
  uint32_t group = 1;

  // Returns [..., heads, rows, n] regrouped as [..., heads / group, group * rows, n].
  Extents grouped(Extents extents) const {
    if (group == 1) return extents;
    extents.sizes[rank - 3] /= group;
    extents.sizes[rank - 2] *= group;
    return extents;
  }
};

Result<Heads> heads_of(const SourceGraph& graph, const AttentionArguments& args, const Operands& operands) {
  const std::vector<int64_t> q = graph.sizes(operands.query), k = graph.sizes(operands.key),
                             v = graph.sizes(operands.value);
  Heads heads{q.size(), 1};
  if (heads.rank < 3) return reject("rank", "query of rank ", heads.rank, ", expected 3 or more");
  if (k.size() != heads.rank || v.size() != heads.rank) return reject("rank", "ranks that differ");
  if (k[heads.rank - 1] != q[heads.rank - 1] || v[heads.rank - 2] != k[heads.rank - 2])
    return reject("attribute", "query, key and value of sizes that do not fit");
  ETB_ASSIGN(const bool is_grouped, args.enable_gqa().value_or(false));
  for (size_t d = 0; d + 2 < heads.rank; ++d) {
    if (k[d] == q[d] && v[d] == q[d]) continue;
    const bool is_heads = d + 3 == heads.rank;
    if (!is_grouped || !is_heads || k[d] != v[d] || q[d] % k[d] != 0 ||
        graph.extents(operands.query).is_dynamic(d))
      return reject("attribute", "dimension ", d, " of query, key and value is ", q[d], ", ", k[d], " and ",
                    v[d], ", expected equal ones, or with enable_gqa whole groups of heads");
    heads.group = static_cast<uint32_t>(q[d] / k[d]);
  }
  return heads;
}

// Returns the query times the scale, with its heads in groups.
Result<uint32_t> scaled_query(LoweringContext& context, const AttentionArguments& args, uint32_t query,
                              const Heads& heads) {
  XnnGraphBuilder& builder = context.builder();
  const std::vector<int64_t> sizes = context.graph().sizes(query);
  ETB_ASSIGN(const double scale, args.scale().number_or(1 / std::sqrt(static_cast<double>(sizes.back()))));
  ETB_ASSIGN(const LoweredValue q, context.lowered(query));
  if (builder.constant(q.id))
    return reject("constant", "query: a constant, expected a tensor known at run time");
  const uint32_t factor = builder.add_floats({1}, {static_cast<float>(scale)}, q.id);
  const uint32_t scaled = add_binary(builder, XnnOperator::kMultiply, q.id, factor, builder.extents(q.id));
  const uint32_t rows = builder.add_transpose(scaled, q.perm);
  return builder.add_reshape(rows, heads.grouped(builder.extents(rows)));
}

// Adds the product of two factors, the second one transposed if it is stored so.
uint32_t add_matrix_product(XnnGraphBuilder& builder, uint32_t left, const Matrix& right, bool is_transposed,
                            Extents extents) {
  const uint32_t out = builder.add_like(left, std::move(extents));
  builder.add_node(XnnOperator::kBatchMatrixMultiply, {left, right.id}, {out}).flags =
      is_transposed ? kFlagTransposeB : 0;
  return out;
}

// Returns the value without the leading dimensions of size 1 that make its rank larger than `rank`.
Result<uint32_t> narrowed(XnnGraphBuilder& builder, uint32_t id, size_t rank) {
  Extents extents = builder.extents(id);
  while (extents.sizes.size() > rank) {
    extents.sizes.erase(extents.sizes.begin());
    extents.dynamic_dims >>= 1;
  }
  return builder.add_reshape(id, std::move(extents));
}

// Decomposes softmax(query key^T scale + mask) value here, not earlier. The exporter's version has 25 nodes,
// most of them for rows that are fully masked. Here these cost 5 nodes per mask, shared by all layers that
// read it, and one per attention.
Status lower_attention(LoweringContext& context, AttentionArguments args) {
  const SourceGraph& graph = context.graph();
  XnnGraphBuilder& builder = context.builder();
  Operands operands{};
  ETB_ASSIGN(operands.query, args.query().id());
  ETB_ASSIGN(operands.key, args.key().id());
  ETB_ASSIGN(operands.value, args.value().id());
  ETB_ASSIGN(const double dropout, args.dropout_p().number_or(0));
  if (dropout != 0) return reject("attribute", "dropout_p: ", dropout, ", expected 0");
  ETB_ASSIGN(const Heads heads, heads_of(graph, args, operands));
  ETB_ASSIGN(const uint32_t query, scaled_query(context, args, operands.query, heads));
  ETB_ASSIGN(const Matrix keys, right_factor(context, operands.key));

  // The scores are query times transposed keys.
  const size_t rank = heads.rank;
  const Extents key_extents = graph.extents(operands.key);
  Extents score_extents = graph.extents(operands.query);
  score_extents.sizes[rank - 1] = key_extents.sizes[rank - 2];
  score_extents.dynamic_dims |= uint32_t{key_extents.is_dynamic(rank - 2)} << (rank - 1);
  uint32_t scores =
      add_matrix_product(builder, query, keys, !keys.is_transposed, heads.grouped(score_extents));
  ETB_ASSIGN(const AttentionMask mask, mask_of(context, args, operands, scores));
  if (mask.added != kXnnNoValue) {
    ETB_ASSIGN(scores, builder.add_reshape(scores, score_extents));
    scores = add_binary(builder, XnnOperator::kAdd, scores, mask.added, score_extents);
  }
  const uint32_t softmax = add_unary(builder, XnnOperator::kSoftmax, scores);
  ETB_ASSIGN(const uint32_t weights, builder.add_reshape(softmax, heads.grouped(score_extents)));

  ETB_ASSIGN(const Matrix values, right_factor(context, operands.value));
  Extents made = graph.extents(operands.query);
  made.sizes[rank - 1] = graph.extents(operands.value).sizes[rank - 1];
  if (made.sizes != graph.extents(context.result()).sizes ||
      graph.dtype(context.result()) != graph.dtype(operands.query))
    return reject("attribute", "result of other sizes or another type than query and value make");
  const uint32_t sums =
      add_matrix_product(builder, weights, values, values.is_transposed, heads.grouped(made));
  ETB_ASSIGN(uint32_t out, builder.add_reshape(sums, made));
  if (mask.open_rows != kXnnNoValue) {
    ETB_ASSIGN(const uint32_t open_rows, narrowed(builder, mask.open_rows, rank));
    out = add_binary(builder, XnnOperator::kMultiply, out, open_rows, made);
  }
  context.define(context.result(), {out, identity(rank)});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::scaled_dot_product_attention_default, lower_attention>(
        {.min_rank = 2,
         .constraint =
             "No dropout; a mask, if any, is of the query's type, or is_causal with static sizes; as "
             "many heads in all, or whole groups of them with enable_gqa.",
         .traits = kPreserved}),
};

}  // namespace

extern const OpList attention_ops = kRows;

}  // namespace etb::xnnpack
