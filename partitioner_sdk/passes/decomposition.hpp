// SPDX-License-Identifier: Apache-2.0
// A decomposition: how an op is written in simpler ones, with PyTorch's and ExecuTorch's result.
#pragma once

#include "partitioner_sdk/passes/builder.hpp"

namespace etb::passes {

using Values = std::vector<ValueId>;

using infer::Call;

struct Decomposition {
  std::string_view op;
  // Adds nodes and returns the results. An empty list leaves the op as it is.
  Values (*expand)(Builder& b, const Call& call);
};

// The row of the op whose arguments `View` names (api/ops/argument_reader.hpp).
template <template <class> class View, Values (*kExpand)(Builder&, const View<Call>&)>
constexpr Decomposition row() {
  return {View<Call>::kName, [](Builder& b, const Call& call) { return kExpand(b, View<Call>(call)); }};
}

// The tables, each sorted by op; decompose.cpp searches them all.
std::span<const Decomposition> activation_decompositions();
std::span<const Decomposition> creation_decompositions();
std::span<const Decomposition> einsum_decompositions();
std::span<const Decomposition> gradient_decompositions();
std::span<const Decomposition> indexing_decompositions();
std::span<const Decomposition> linear_decompositions();
std::span<const Decomposition> list_decompositions();
std::span<const Decomposition> loss_decompositions();
std::span<const Decomposition> patch_decompositions();
std::span<const Decomposition> product_decompositions();
std::span<const Decomposition> recurrent_decompositions();
std::span<const Decomposition> reduction_decompositions();
std::span<const Decomposition> resampling_decompositions();
std::span<const Decomposition> view_decompositions();
std::span<const Decomposition> window_decompositions();

// ---- Steps that several decompositions share.

// Sizes of a tensor, by value: adding nodes moves the graph's own.
inline Dims sizes_of(const Builder& b, ValueId value) { return b.spec(value).sizes; }

// A view when strides allow it, else a copy and a view: PyTorch's reshape.
ValueId reshape(Builder& b, ValueId value, Dims sizes);
// PyTorch's matmul for every combination of ranks.
ValueId matmul(Builder& b, ValueId a, ValueId b_value);
// Bools, true on and below the diagonal.
ValueId causal_mask(Builder& b, Dim rows, Dim columns);
// A mask of bools as what is added to scores of `dtype`: 0 where attention is allowed, -inf elsewhere. Others are left.
ValueId additive_mask(Builder& b, ValueId mask, Dtype dtype);
// The tensor in another dtype; itself when it has it already.
ValueId to_dtype(Builder& b, ValueId value, Dtype dtype);
// A constant of these elements, row-major.
template <class T>
ValueId add_elements(Builder& b, Dtype dtype, std::vector<int64_t> sizes, const std::vector<T>& elements) {
  const auto bytes = std::as_bytes(std::span(elements));
  return b.add_constant(dtype, std::move(sizes), {bytes.begin(), bytes.end()});
}
// Row-major; itself when it is so already.
ValueId contiguous(Builder& b, ValueId value);
// What losses end with: the loss (0), its mean (1) or its sum (2).
ValueId reduced(Builder& b, ValueId loss, int64_t reduction);
// Dimensions a and b swapped.
ValueId transpose(Builder& b, ValueId value, int64_t first, int64_t second);

}  // namespace etb::passes
