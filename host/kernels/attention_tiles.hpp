// SPDX-License-Identifier: Apache-2.0
// Attention over tiles of keys: softmax(scale * Q K^T + mask) V without a matrix of all scores.
#pragma once

#include <optional>

#include "host/kernels/elementwise.hpp"

namespace etb::host {

// Queries, keys or values: [batch, sequence, heads, head size], or with sequence and heads swapped. Quantised ones have
// a scale and a zero point for each row: value = (stored - zero point) * scale.
struct AttentionRows {
  const Tensor& tensor;
  int sequence_dim = 1;
  const Tensor* scales = nullptr;
  const Tensor* zero_points = nullptr;

  int64_t batch() const noexcept { return tensor.size(0); }
  int64_t length() const noexcept { return tensor.size(sequence_dim); }
  int64_t heads() const noexcept { return tensor.size(3 - sequence_dim); }
  int64_t head_size() const noexcept { return tensor.size(3); }
};

struct AttentionTask {
  AttentionRows query, key, value;
  // Position of the first query among the keys. Without a mask, keys after the last query's position are not read.
  int64_t start = 0;
  // [queries, keys], added to the scores; null for none.
  const Tensor* mask = nullptr;
  // Query i reads the keys up to start + i.
  bool is_causal = false;
  // 1 / sqrt(head size) if absent.
  std::optional<double> scale;
};

// Checks the task, resizes `out` to the sizes of the queries, and computes. Several heads of queries may share one of keys.
etb_status run_attention(KernelContext& context, const AttentionTask& task, Tensor& out) noexcept;

}  // namespace etb::host
