// SPDX-License-Identifier: Apache-2.0
// Rows of a table and parts of a dimension by index.
#include <optional>

#include "plugins/gpu/compile/element_nodes.hpp"
#include "plugins/gpu/compile/op.hpp"
#include "plugins/gpu/compile/row_pieces.hpp"

namespace etb::gpu {

namespace {

constexpr const char* kIndices = "Indices are int64 or int32. One that does not exist gives NaN.";

// A table in pieces: each piece gives NaN for the rows of others.
Status lower_large_embedding(LoweringContext& context, uint32_t table, const Shape& shape,
                             std::span<const RowPiece> pieces) {
  ETB_ASSIGN(const uint32_t indices, context.index_operand("indices"));
  uint32_t found = kNoValue;
  for (const RowPiece& piece : pieces) {
    Shape part = shape;
    part.sizes[0] = piece.count;
    ETB_ASSIGN(const uint32_t rows,
               context.constant_part(table, uint64_t{piece.first} * shape.sizes[1], part));
    const uint32_t made = context.add_node(
        {Operator::kEmbedding, {rows, indices}, kNoValue, {static_cast<int32_t>(piece.first)}});
    if (found == kNoValue) {
      found = made;
      continue;
    }
    const uint32_t is_known = context.add_node(binary_node(BinaryFunction::kEqual, found, found));
    GpuNode both{Operator::kWhere, {is_known, found, made}};
    if (&piece == &pieces.back()) return context.add_result_node(std::move(both));
    found = context.add_node(std::move(both));
  }
  return make_error(Code::INTERNAL, "a table of one piece");
}

Status lower_embedding(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t table, context.args().tensor("weight"));
  if (context.is_constant(table) && context.spec(table).rank == 2) {
    ETB_ASSIGN(const Shape shape, context.bounds(table));
    if (const std::vector<RowPiece> pieces = find_row_pieces(shape); pieces.size() > 1)
      return lower_large_embedding(context, table, shape, pieces);
  }
  ETB_ASSIGN(const uint32_t weight, context.operand("weight"));
  ETB_ASSIGN(const uint32_t indices, context.index_operand("indices"));
  return context.add_result_node({Operator::kEmbedding, {weight, indices}});
}

// Indices of one dimension for all rows. A scalar is one index.
Status lower_index_select(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.moved_operand(value));
  ETB_ASSIGN(const uint32_t indices, context.args().tensor("index"));
  if (context.spec(value).rank == 0 || context.spec(indices).rank != 1)
    return reject("rank", "expected an operand of rank 1 or more, and indices of rank 1");
  ETB_ASSIGN(const uint32_t index, context.index_operand("index"));
  ETB_ASSIGN(const uint32_t dim, context.args().dim("dim", 0, context.spec(value).rank));
  return context.add_result_node(
      {Operator::kGather, {self, index}, kNoValue, {static_cast<int32_t>(dim), 1}});
}

// An index for each result. Other dimensions than `dim` must have equal sizes.
Status lower_gather(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.moved_operand(value));
  ETB_ASSIGN(const uint32_t index, context.index_operand("index"));
  if (context.spec(value).rank == 0) return reject("rank", "rank 0, expected 1 or more");
  ETB_ASSIGN(const uint32_t dim, context.args().dim("dim", 0, context.spec(value).rank));
  return context.add_result_node(
      {Operator::kGather, {self, index}, kNoValue, {static_cast<int32_t>(dim), 0}});
}

// The only tensor of a list of indices, and the dimension that it indexes.
struct OneIndex {
  uint32_t id;
  uint32_t dim;
};
Result<OneIndex> only_index(LoweringContext& context) {
  const auto found = context.args().find("indices");
  if (!found) return reject("attribute", "indices: none");
  std::optional<OneIndex> out;
  uint32_t dim = 0;
  for (const uint32_t value : found->values()) {
    if (value != graph::kNone) {
      if (out) return reject("attribute", "indices: more than one");
      if (context.spec(value).rank != 1) return reject("rank", "indices, expected rank 1");
      ETB_ASSIGN(const uint32_t id, context.index_operand(value));
      out = OneIndex{id, dim};
    }
    ++dim;
  }
  if (!out) return reject("attribute", "indices: none");
  return *out;
}

Status lower_index(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.moved_operand("self"));
  ETB_ASSIGN(const OneIndex index, only_index(context));
  return context.add_result_node(
      {Operator::kGather, {self, index.id}, kNoValue, {static_cast<int32_t>(index.dim), 1}});
}

Status lower_index_put(LoweringContext& context) {
  ETB_ASSIGN(const bool adds, context.args().flag("accumulate", false));
  if (adds) return reject("attribute", "accumulate: expected false");
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  ETB_ASSIGN(const uint32_t values, context.operand("values"));
  ETB_ASSIGN(const OneIndex index, only_index(context));
  return context.add_result_node(
      {Operator::kIndexPut, {self, values, index.id}, kNoValue, {static_cast<int32_t>(index.dim)}});
}

constexpr Op kRows[] = {
    {"aten.embedding.default", lower_embedding, 0, kMaxRank, kIndices},
    {"aten.index_select.default", lower_index_select, 1, kMaxRank, kIndices, false, kFloatOrBool},
    {"aten.gather.default", lower_gather, 1, kMaxRank,
     "Indices are int64 or int32, and have the operand's sizes but for `dim`. One that does not exist gives "
     "NaN.",
     false, kFloatOrBool},
    {"aten.index.Tensor", lower_index, 1, kMaxRank,
     "One tensor of indices, of rank 1, int64 or int32. One that does not exist gives NaN.", false,
     kFloatOrBool},
    {"aten.index_put.default", lower_index_put, 1, kMaxRank,
     "One tensor of indices, of rank 1, int64 or int32; values of the parts' sizes; `accumulate` is false."},
};

}  // namespace

extern const OpList indexing_ops = kRows;

}  // namespace etb::gpu
