// SPDX-License-Identifier: Apache-2.0
// The nodes of attention as PyTorch's decompositions have them, for tests of the plan and of the kernels.
#pragma once

#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {

enum class ScaledWhere { kOperands, kScores, kDivided };
// scores + mask; where(mask, number, scores); where(mask, scores, number)
enum class MaskedBy { kSum, kSetNumber, kUnsetNumber };

// q [batch, heads, rows, depth], k [batch, heads / group, keys, depth], v [batch, heads / group, keys, columns]; all are inputs.
struct AttentionCase {
  uint32_t batch = 1, heads = 2, rows = 5, keys = 7, depth = 8, columns = 8;
  std::vector<uint32_t> mask = {};  // sizes; none: no mask
  bool has_guard = true;            // rows of only -infinity have weights of 0
  ScaledWhere scaled = ScaledWhere::kOperands;
  float scale = 0.35f;
  bool is_mask_first = false;  // mask + scores
  MaskedBy masked_by = MaskedBy::kSum;
  float fill = -std::numeric_limits<float>::infinity();  // of hidden scores
  uint32_t group = 1;                                    // heads in a row that share keys and values
};

// A view whose sizes are those of dimensions of `of`, or what they leave.
inline uint32_t add_view(GpuGraph& graph, uint32_t value, uint32_t of, std::vector<int32_t> dims) {
  for (int32_t& dim : dims)
    if (dim >= 0) dim = kCopiedSize - (static_cast<int32_t>(kMaxRank) + dim);
  return add_node(graph, Operator::kReshape, {value, of}, std::move(dims));
}

inline uint32_t add_batch_product(GpuGraph& graph, uint32_t a, uint32_t b) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return add_node(graph, Operator::kMatmul, {a, b}, {0}, {1, 1, -kInfinity, kInfinity});
}

inline uint32_t add_equal(GpuGraph& graph, uint32_t value, float number) {
  return add_binary(graph, BinaryFunction::kEqual, value, add_number(graph, number));
}

// A value in the sizes of scores [., ., ., .].
inline uint32_t add_expansion(GpuGraph& graph, uint32_t value, uint32_t scores) {
  std::vector<int32_t> sizes;
  for (int32_t d = 0; d < 4; ++d) sizes.push_back(kCopiedSize - (static_cast<int32_t>(kMaxRank) + d));
  return add_node(graph, Operator::kExpand, {value, scores}, std::move(sizes));
}

// where(not any(not(scores == -infinity)), 0, weights)
inline uint32_t add_guard(GpuGraph& graph, uint32_t scores, uint32_t weights) {
  const uint32_t is_known =
      add_equal(graph, add_equal(graph, scores, -std::numeric_limits<float>::infinity()), 0);
  const uint32_t any =
      add_node(graph, Operator::kReduce, {is_known}, {static_cast<int32_t>(Reduction::kMaximum), 1 << 3, 1});
  const uint32_t zeros = add_expansion(graph, add_number(graph, 0), weights);
  const uint32_t condition = add_expansion(graph, add_equal(graph, any, 0), weights);
  return add_node(graph, Operator::kWhere, {condition, zeros, weights}, {});
}

inline uint32_t add_mask(GpuGraph& graph, const AttentionCase& with, uint32_t scores, uint32_t mask) {
  if (with.masked_by == MaskedBy::kSum)
    return with.is_mask_first ? add_binary(graph, BinaryFunction::kAdd, mask, scores)
                              : add_binary(graph, BinaryFunction::kAdd, scores, mask);
  const bool is_whole = with.mask == std::vector{with.batch, with.heads, with.rows, with.keys};
  const uint32_t condition = is_whole ? mask : add_expansion(graph, mask, scores);
  const uint32_t numbers = add_expansion(graph, add_number(graph, with.fill), scores);
  return with.masked_by == MaskedBy::kSetNumber
             ? add_node(graph, Operator::kWhere, {condition, numbers, scores}, {})
             : add_node(graph, Operator::kWhere, {condition, scores, numbers}, {});
}

// Repeats each head of [batch, heads, rows, columns], as repeat_interleave and enable_gqa do.
inline uint32_t add_repetition(GpuGraph& graph, uint32_t value, uint32_t count) {
  const auto copied = [](int32_t input, int32_t d) {
    return kCopiedSize - (input * static_cast<int32_t>(kMaxRank) + d);
  };
  const uint32_t column = add_node(graph, Operator::kReshape, {value},
                                   {copied(0, 0), copied(0, 1), 1, copied(0, 2), copied(0, 3)});
  const uint32_t repeated =
      add_node(graph, Operator::kExpand, {column}, {-1, -1, static_cast<int32_t>(count), -1, -1});
  return add_node(graph, Operator::kReshape, {repeated, value},
                  {copied(1, 0), kInferredSize, copied(1, 2), copied(1, 3)});
}

// The last node computes the only output.
inline GpuGraph attention_graph(const AttentionCase& with) {
  GpuGraph graph;
  const uint32_t own_heads = with.heads / with.group;
  const uint32_t q = add_input(graph, shape_of({with.batch, with.heads, with.rows, with.depth})),
                 own_k = add_input(graph, shape_of({with.batch, own_heads, with.keys, with.depth})),
                 own_v = add_input(graph, shape_of({with.batch, own_heads, with.keys, with.columns}));
  uint32_t mask = kNoValue;
  if (!with.mask.empty()) {
    Shape sizes;
    for (const uint32_t size : with.mask) sizes.sizes[sizes.rank++] = size;
    mask = add_input(graph, sizes);
  }
  const uint32_t k = with.group == 1 ? own_k : add_repetition(graph, own_k, with.group),
                 v = with.group == 1 ? own_v : add_repetition(graph, own_v, with.group);
  uint32_t left = q, right = add_node(graph, Operator::kPermute, {k}, {0, 1, 3, 2});
  if (with.scaled == ScaledWhere::kOperands) {
    left = add_binary(graph, BinaryFunction::kMul, left, add_number(graph, with.scale));
    right = add_binary(graph, BinaryFunction::kMul, right, add_number(graph, with.scale));
  }
  const auto expanded = [&](uint32_t value) {  // to its own sizes
    return add_node(graph, Operator::kExpand, {value}, {-1, -1, -1, -1});
  };
  const uint32_t product =
      add_batch_product(graph, add_view(graph, expanded(left), left, {kInferredSize, 2, 3}),
                        add_view(graph, expanded(right), right, {kInferredSize, 2, 3}));
  // [batch, heads] of q, rows and keys of the product
  const auto copied = [](int32_t input, int32_t d) {
    return kCopiedSize - (input * static_cast<int32_t>(kMaxRank) + d);
  };
  uint32_t scores = add_node(graph, Operator::kReshape, {product, q},
                             {copied(1, 0), copied(1, 1), copied(0, 1), copied(0, 2)});
  if (with.scaled == ScaledWhere::kScores)
    scores = add_binary(graph, BinaryFunction::kMul, scores, add_number(graph, with.scale));
  if (with.scaled == ScaledWhere::kDivided)
    scores = add_binary(graph, BinaryFunction::kDiv, scores, add_number(graph, 1 / with.scale));
  if (mask != kNoValue) scores = add_mask(graph, with, scores, mask);
  uint32_t weights = add_node(graph, Operator::kSoftmax, {scores}, {-1, 0});
  if (with.has_guard) weights = add_guard(graph, scores, weights);
  const uint32_t sum =
      add_batch_product(graph, add_view(graph, expanded(weights), weights, {kInferredSize, 2, 3}),
                        add_view(graph, expanded(v), v, {kInferredSize, 2, 3}));
  graph.outputs.push_back(add_node(graph, Operator::kReshape, {sum, q},
                                   {copied(1, 0), copied(1, 1), copied(0, 1), copied(0, 2)}));
  return graph;
}

}  // namespace etb::gpu
