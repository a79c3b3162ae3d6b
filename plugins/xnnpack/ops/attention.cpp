// SPDX-License-Identifier: Apache-2.0
// Scaled dot product attention, with masks and grouped heads.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

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

void clamp_result(XnnNode& node, float min, float max) {
  node.is_clamped = true;
  node.clamp_min = min;
  node.clamp_max = max;
}

// Adds means over the last dimension of a value of any rank; the result keeps it as 1. A value with one
// dynamic dimension is reshaped, one of rank 4 with two is transposed.
Result<uint32_t> add_row_means(Draft& draft, uint32_t id) {
  const Draft::Extents extents = draft.extents(id);
  const size_t last = extents.sizes.size() - 1;
  if (std::popcount(extents.dynamic_dims) > 1) {
    if (last != 3 || extents.sizes[1] != 1 || (extents.dynamic_dims >> 1 & 1) != 0)
      return Lowering::refuse(
          "dynamic", "attn_mask with a dynamic number of rows and of columns, and one for each head");
    return draft.add_transpose(add_mean(draft, draft.add_transpose(id, {0, 3, 1, 2})), {0, 1, 3, 2});
  }
  Draft::Extents flat{{1, extents.sizes[last], 1, 1}, (extents.dynamic_dims >> last & 1) << 1},
      rows = extents;
  for (size_t d = 0; d < last; ++d) {
    flat.sizes[0] *= extents.sizes[d];
    flat.dynamic_dims |= extents.dynamic_dims >> d & 1;
  }
  rows.sizes[last] = 1;
  rows.dynamic_dims &= ~(1u << last);
  ETB_ASSIGN(const uint32_t columns, draft.add_reshape(id, std::move(flat)));
  return draft.add_reshape(add_mean(draft, columns), std::move(rows));
}

// Adds a factor for each row of a mask: 0 if the row is fully masked (-inf everywhere), else 1. The products
// map -inf to less than -8 and every finite number to more than -7.
Result<uint32_t> add_open_rows(Lowering& l, uint32_t mask) {
  Draft& draft = l.draft();
  Draft::Extents extents = draft.extents(mask);
  const size_t missing = extents.sizes.size() < 4 ? 4 - extents.sizes.size() : 0;
  extents.sizes.insert(extents.sizes.begin(), missing, 1);  // the product gets the factor's rank
  extents.dynamic_dims <<= missing;
  const float factor = l.dtype_of(mask) == ETB_DTYPE_FLOAT16 ? 1e-4f : 2e-38f;
  const uint32_t scaled =
      add_binary(draft, XnnOperator::kMultiply, mask, l.add_floats({1, 1, 1, 1}, {factor}, mask), extents);
  clamp_result(*draft.producer(scaled), -8, 0);
  const uint32_t is_open =
      add_binary(draft, XnnOperator::kAdd, scaled, l.add_floats({1}, {8}, mask), extents);
  clamp_result(*draft.producer(is_open), 0, 1);
  ETB_ASSIGN(const uint32_t share, add_row_means(draft, is_open));  // 1 / K for one unmasked column of K
  const float enough = 2 * static_cast<float>(extents.sizes.back());
  const uint32_t open = add_binary(draft, XnnOperator::kMultiply, share, l.add_floats({1}, {enough}, mask),
                                   draft.extents(share));
  clamp_result(*draft.producer(open), 0, 1);
  return open;
}

// Lowers a constant mask. Most masks hide no full row. A claim, which has no bytes, assumes one without.
Result<AttentionMask> constant_mask(Lowering& l, uint32_t mask) {
  const ConstantPtr constant = l.draft().constant(mask);
  if (l.is_claiming()) return AttentionMask{mask, kXnnNoValue};
  ETB_ASSIGN(const std::vector<float> values, read_floats(*constant));
  const auto columns = static_cast<size_t>(constant->sizes.back());
  std::vector<float> open;
  for (size_t row = 0; row < values.size(); row += columns) {
    const auto is_hidden = [](float value) { return std::isinf(value) && value < 0; };
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(row);
    open.push_back(std::all_of(from, from + static_cast<std::ptrdiff_t>(columns), is_hidden) ? 0.0f : 1.0f);
  }
  if (std::find(open.begin(), open.end(), 0.0f) == open.end()) return AttentionMask{mask, kXnnNoValue};
  std::vector<int64_t> rows = constant->sizes;
  rows.back() = 1;
  std::vector<float> finite = values;
  for (float& value : finite) value = std::max(value, lowest(constant->dtype));
  return AttentionMask{l.add_floats(constant->sizes, std::move(finite), mask),
                       l.add_floats(std::move(rows), std::move(open), mask)};
}

Result<AttentionMask> mask_of(Lowering& l, uint32_t query, uint32_t key, uint32_t scores) {
  Draft& draft = l.draft();
  ETB_ASSIGN(const bool is_causal, l.flag("is_causal", false));
  if (is_causal) {
    if (l.extents(query).dynamic_dims != 0 || l.extents(key).dynamic_dims != 0)
      return Lowering::refuse("dynamic", "is_causal with dynamic sizes");
    const std::vector<int64_t> q = l.sizes(query), k = l.sizes(key);
    const etb_dtype dtype = l.dtype_of(scores);
    return AttentionMask{draft.add_constant(causal_mask(q[q.size() - 2], k[k.size() - 2], dtype),
                                            draft.value(scores).datatype),
                         kXnnNoValue};
  }
  if (!l.has("attn_mask")) return AttentionMask{};
  ETB_ASSIGN(const uint32_t value, l.value("attn_mask"));
  ETB_ASSIGN(const XnnDatatype datatype, datatype_of(static_cast<etb_dtype>(l.spec(value).dtype)));
  if (datatype != draft.value(scores).datatype) return Lowering::refuse("dtype", "attn_mask of another type");
  if (l.rank(value) == 0) return Lowering::refuse("rank", "attn_mask of rank 0");
  ETB_ASSIGN(const uint32_t mask, l.natural(value));
  if (const auto known = l.attention_masks().find(mask); known != l.attention_masks().end())
    return known->second;
  AttentionMask made;
  if (draft.constant(mask)) {
    ETB_ASSIGN(made, constant_mask(l, mask));
  } else {
    made.added = add_unary(draft, XnnOperator::kClamp, mask);
    clamp_result(*draft.producer(made.added), lowest(l.dtype_of(mask)),
                 std::numeric_limits<float>::infinity());
    ETB_ASSIGN(made.open_rows, add_open_rows(l, mask));
  }
  l.attention_masks()[mask] = made;
  return made;
}

// Sizes of the operands: [..., heads, rows, depth]. `group` heads of the query share one head of key and
// value.
struct Heads {
  size_t rank = 0;
  uint32_t group = 1;

  // Returns [..., heads, rows, n] regrouped as [..., heads / group, group * rows, n].
  Draft::Extents grouped(Draft::Extents extents) const {
    if (group == 1) return extents;
    extents.sizes[rank - 3] /= group;
    extents.sizes[rank - 2] *= group;
    return extents;
  }
};

Result<Heads> heads_of(Lowering& l, uint32_t query, uint32_t key, uint32_t value) {
  const std::vector<int64_t> q = l.sizes(query), k = l.sizes(key), v = l.sizes(value);
  Heads heads{q.size(), 1};
  if (heads.rank < 3) return Lowering::refuse("rank", "query of rank ", heads.rank, ", expected 3 or more");
  if (k.size() != heads.rank || v.size() != heads.rank) return Lowering::refuse("rank", "ranks that differ");
  if (k[heads.rank - 1] != q[heads.rank - 1] || v[heads.rank - 2] != k[heads.rank - 2])
    return Lowering::refuse("attribute", "query, key and value of sizes that do not fit");
  ETB_ASSIGN(const bool is_grouped, l.flag("enable_gqa", false));
  for (size_t d = 0; d + 2 < heads.rank; ++d) {
    if (k[d] == q[d] && v[d] == q[d]) continue;
    if (!is_grouped || d + 3 != heads.rank || k[d] != v[d] || q[d] % k[d] != 0 ||
        (l.extents(query).dynamic_dims >> d & 1) != 0)
      return Lowering::refuse("attribute", "dimension ", d, " of query, key and value is ", q[d], ", ", k[d],
                              " and ", v[d],
                              ", expected equal ones, or with enable_gqa whole groups of heads");
    heads.group = static_cast<uint32_t>(q[d] / k[d]);
  }
  return heads;
}

// Returns the query times the scale, with its heads in groups.
Result<uint32_t> scaled_query(Lowering& l, uint32_t query, const Heads& heads) {
  Draft& draft = l.draft();
  const std::vector<int64_t> sizes = l.sizes(query);
  ETB_ASSIGN(const double scale, l.number("scale", 1 / std::sqrt(static_cast<double>(sizes.back()))));
  ETB_ASSIGN(const Form q, l.form(query));
  if (draft.constant(q.id))
    return Lowering::refuse("constant", "query: a constant, expected a tensor known at run time");
  const uint32_t factor = l.add_floats({1}, {static_cast<float>(scale)}, q.id);
  const uint32_t scaled = add_binary(draft, XnnOperator::kMultiply, q.id, factor, draft.extents(q.id));
  const uint32_t rows = draft.add_transpose(scaled, q.perm);
  return draft.add_reshape(rows, heads.grouped(draft.extents(rows)));
}

// Decomposes softmax(query key^T scale + mask) value here, not earlier. The exporter's version has 25 nodes,
// most of them for rows that are fully masked. Here these cost 5 nodes per mask, shared by all layers that
// read it, and one per attention.
Status lower_attention(Lowering& l) {
  Draft& draft = l.draft();
  ETB_ASSIGN(const uint32_t query, l.value("query"));
  ETB_ASSIGN(const uint32_t key, l.value("key"));
  ETB_ASSIGN(const uint32_t value, l.value("value"));
  ETB_ASSIGN(const double dropout, l.number("dropout_p", 0));
  if (dropout != 0) return Lowering::refuse("attribute", "dropout_p: ", dropout, ", expected 0");
  ETB_ASSIGN(const Heads heads, heads_of(l, query, key, value));
  ETB_ASSIGN(const uint32_t a, scaled_query(l, query, heads));
  ETB_ASSIGN(const Matrix keys, right_factor(l, key));

  const size_t rank = heads.rank;
  Draft::Extents score_extents = l.extents(query);
  const Draft::Extents key_extents = l.extents(key);
  score_extents.sizes[rank - 1] = key_extents.sizes[rank - 2];
  score_extents.dynamic_dims |= (key_extents.dynamic_dims >> (rank - 2) & 1) << (rank - 1);
  const uint32_t products = draft.add_like(a, heads.grouped(score_extents));
  draft.add_node(XnnOperator::kBatchMatrixMultiply, {a, keys.id}, {products}).flags =
      keys.is_transposed ? 0 : kFlagTransposeB;
  uint32_t scores = products;
  ETB_ASSIGN(const AttentionMask mask, mask_of(l, query, key, scores));
  if (mask.added != kXnnNoValue) {
    ETB_ASSIGN(scores, draft.add_reshape(scores, score_extents));
    scores = add_binary(draft, XnnOperator::kAdd, scores, mask.added, score_extents);
  }
  const uint32_t softmax = add_unary(draft, XnnOperator::kSoftmax, scores);
  ETB_ASSIGN(const uint32_t weights, draft.add_reshape(softmax, heads.grouped(score_extents)));
  ETB_ASSIGN(const Matrix values, right_factor(l, value));
  Draft::Extents made = l.extents(query);
  made.sizes[rank - 1] = l.extents(value).sizes[rank - 1];
  if (made.sizes != l.extents(l.result()).sizes || l.spec(l.result()).dtype != l.spec(query).dtype)
    return Lowering::refuse("attribute", "result of other sizes or another type than query and value make");
  const uint32_t sums = draft.add_like(a, heads.grouped(made));
  draft.add_node(XnnOperator::kBatchMatrixMultiply, {weights, values.id}, {sums}).flags =
      values.is_transposed ? kFlagTransposeB : 0;
  ETB_ASSIGN(uint32_t out, draft.add_reshape(sums, made));
  if (mask.open_rows != kXnnNoValue)
    out = add_binary(draft, XnnOperator::kMultiply, out, mask.open_rows, made);
  l.define(l.result(), {out, identity(rank)});
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.scaled_dot_product_attention.default",
     .lower = lower_attention,
     .min_rank = 2,
     .constraint = "No dropout; a mask, if any, is of the query's type, or is_causal with static sizes; as "
                   "many heads in all, or whole groups of them with enable_gqa.",
     .traits = kPreserved},
};

}  // namespace

extern const OpList attention_ops = kRows;

}  // namespace etb::xnnpack
