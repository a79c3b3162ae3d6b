#include <cmath>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// 0 where a query may look at a key, else what softmax makes nothing of.
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

// The mask as a value of the draft, kXnnNoValue when there is none.
Result<uint32_t> mask_of(Lowering& l, uint32_t query, uint32_t key, uint32_t scores) {
  ETB_ASSIGN(const bool is_causal, l.flag("is_causal", false));
  if (is_causal) {
    if (l.extents(query).dynamic_dims != 0 || l.extents(key).dynamic_dims != 0)
      return Lowering::refuse("dynamic", "is_causal with dynamic sizes");
    const std::vector<int64_t> q = l.sizes(query), k = l.sizes(key);
    const etb_dtype dtype = l.dtype_of(scores);
    return l.draft().add_constant(causal_mask(q[q.size() - 2], k[k.size() - 2], dtype),
                                  l.draft().value(scores).datatype);
  }
  if (!l.has("attn_mask")) return kXnnNoValue;
  ETB_ASSIGN(const uint32_t mask, l.value("attn_mask"));
  ETB_ASSIGN(const XnnDatatype datatype, datatype_of(static_cast<etb_dtype>(l.spec(mask).dtype)));
  if (datatype != l.draft().value(scores).datatype)
    return Lowering::refuse("dtype", "attn_mask of another type");
  return l.natural(mask);
}

// softmax(query key^T scale + mask) value, taken apart here and not earlier: the exporter's version has 25 nodes that guard rows which a mask
// hides completely.
Status lower_attention(Lowering& l) {
  Draft& draft = l.draft();
  ETB_ASSIGN(const uint32_t query, l.value("query"));
  ETB_ASSIGN(const uint32_t key, l.value("key"));
  ETB_ASSIGN(const uint32_t value, l.value("value"));
  ETB_ASSIGN(const double dropout, l.number("dropout_p", 0));
  if (dropout != 0) return Lowering::refuse("attribute", "dropout_p: ", dropout, ", expected 0");
  const std::vector<int64_t> sizes = l.sizes(query), key_sizes = l.sizes(key);
  const size_t rank = sizes.size();
  if (rank < 3) return Lowering::refuse("rank", "query of rank ", rank, ", expected 3 or more");
  if (key_sizes.size() != rank || l.rank(value) != rank) return Lowering::refuse("rank", "ranks that differ");
  for (size_t d = 0; d + 2 < rank; ++d) {
    if (key_sizes[d] != sizes[d] || l.sizes(value)[d] != sizes[d])
      return Lowering::refuse("attribute", "heads that are shared, expected as many of query, key and value");
  }
  ETB_ASSIGN(const double scale, l.number("scale", 1 / std::sqrt(static_cast<double>(sizes[rank - 1]))));
  ETB_ASSIGN(const Form q, l.form(query));
  if (draft.constant(q.id))
    return Lowering::refuse("constant", "query: a constant, expected a tensor known at run time");
  const uint32_t factor = l.add_floats({1}, {static_cast<float>(scale)}, q.id);
  const uint32_t scaled = add_binary(draft, XnnOperator::kMultiply, q.id, factor, draft.extents(q.id));
  Permutation back(rank);
  for (size_t i = 0; i < rank; ++i) back[i] = q.perm[i];
  const uint32_t a = draft.add_transpose(scaled, back);
  ETB_ASSIGN(const Matrix keys, right_factor(l, key));

  Draft::Extents score_extents = l.extents(query);
  const Draft::Extents key_extents = l.extents(key);
  score_extents.sizes[rank - 1] = key_extents.sizes[rank - 2];
  score_extents.dynamic_dims |= (key_extents.dynamic_dims >> (rank - 2) & 1) << (rank - 1);
  uint32_t scores = draft.add_like(a, score_extents);
  draft.add_node(XnnOperator::kBatchMatrixMultiply, {a, keys.id}, {scores}).flags =
      keys.is_transposed ? 0 : kFlagTransposeB;
  ETB_ASSIGN(const uint32_t mask, mask_of(l, query, key, scores));
  if (mask != kXnnNoValue) scores = add_binary(draft, XnnOperator::kAdd, scores, mask, score_extents);
  const uint32_t weights = add_unary(draft, XnnOperator::kSoftmax, scores);
  ETB_ASSIGN(const Matrix values, right_factor(l, value));
  ETB_ASSIGN(const uint32_t out, l.add_result());
  draft.add_node(XnnOperator::kBatchMatrixMultiply, {weights, values.id}, {out}).flags =
      values.is_transposed ? kFlagTransposeB : 0;
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.scaled_dot_product_attention.default",
     .lower = lower_attention,
     .min_rank = 2,
     .constraint =
         "No dropout; a mask is of floats and hides no row completely, or is_causal; as many heads in all.",
     .traits = kPreserved},
};

}  // namespace

extern const OpList attention_ops = kRows;

}  // namespace etb::xnnpack
