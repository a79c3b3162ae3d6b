// SPDX-License-Identifier: Apache-2.0
// Rows of a table by index.
#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

Status lower_embedding(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t weight, context.operand("weight"));
  ETB_ASSIGN(const uint32_t indices, context.index_operand("indices"));
  return context.add_result_node({Operator::kEmbedding, {weight, indices}});
}

constexpr Op kRows[] = {
    {"aten.embedding.default", lower_embedding, 0, kMaxRank, "Indices are int64 or int32."}};

}  // namespace

extern const OpList embedding_ops = kRows;

}  // namespace etb::gpu
