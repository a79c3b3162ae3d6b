// SPDX-License-Identifier: Apache-2.0
// Decompositions: an op expressed in simpler ops, with the results of PyTorch and ExecuTorch.
#pragma once

#include "partitioner_sdk/passes/builder.hpp"

namespace etb::passes {

using Values = std::vector<ValueId>;

using infer::Call;

struct Decomposition {
  std::string_view op;
  // Adds nodes and returns the results. An empty list keeps the op.
  Values (*expand)(Builder& b, const Call& call);
};

// The row of the op whose arguments `View` names (api/ops/argument_reader.hpp).
template <template <class> class View, Values (*kExpand)(Builder&, const View<Call>&)>
constexpr Decomposition row() {
  return {View<Call>::kName, [](Builder& b, const Call& call) { return kExpand(b, View<Call>(call)); }};
}

// True for run-time checks that exporters leave in the graph; their results are not used.
bool is_assertion(std::string_view op);

// Expands an op that this repository has a decomposition for; returns an empty list where it has none. Errors are
// in `call`.
Values expand_known(Builder& b, const Call& call);

// All tables, each sorted by op.
std::vector<std::span<const Decomposition>> decomposition_tables();
std::span<const Decomposition> activation_decompositions();
std::span<const Decomposition> activation_gradient_decompositions();
std::span<const Decomposition> attention_gradient_decompositions();
std::span<const Decomposition> axis_gradient_decompositions();
std::span<const Decomposition> creation_decompositions();
std::span<const Decomposition> data_size_decompositions();
std::span<const Decomposition> distance_gradient_decompositions();
std::span<const Decomposition> einsum_decompositions();
std::span<const Decomposition> fourier_decompositions();
std::span<const Decomposition> gradient_decompositions();
std::span<const Decomposition> grid_gradient_decompositions();
std::span<const Decomposition> index_gradient_decompositions();
std::span<const Decomposition> indexing_decompositions();
std::span<const Decomposition> linear_decompositions();
std::span<const Decomposition> list_decompositions();
std::span<const Decomposition> loss_decompositions();
std::span<const Decomposition> linear_system_decompositions();
std::span<const Decomposition> loss_gradient_decompositions();
std::span<const Decomposition> norm_decompositions();
std::span<const Decomposition> norm_gradient_decompositions();
std::span<const Decomposition> order_decompositions();
std::span<const Decomposition> patch_decompositions();
std::span<const Decomposition> pool_decompositions();
std::span<const Decomposition> product_decompositions();
std::span<const Decomposition> random_decompositions();
std::span<const Decomposition> recurrent_decompositions();
std::span<const Decomposition> reduction_decompositions();
std::span<const Decomposition> resampling_decompositions();
std::span<const Decomposition> spectrum_decompositions();
std::span<const Decomposition> view_decompositions();
std::span<const Decomposition> window_decompositions();

// ---- Steps that several decompositions share.

// Sizes of a tensor, by value: added nodes move the graph's own.
inline Dims sizes_of(const Builder& b, ValueId value) { return b.spec(value).sizes; }

// PyTorch's reshape: a view when the strides allow it, else a copy and a view.
ValueId reshape(Builder& b, ValueId value, Dims sizes);
// PyTorch's matmul for every combination of ranks.
ValueId matmul(Builder& b, ValueId a, ValueId b_value);
// Bools: true on and below the diagonal.
ValueId causal_mask(Builder& b, Dim rows, Dim columns);
// Converts a mask of bools to values that are added to scores of `dtype`: 0 where attention is allowed, -inf
// elsewhere. Other masks stay.
ValueId additive_mask(Builder& b, ValueId mask, Dtype dtype);
// Converts a tensor to another dtype; returns it unchanged when it has that dtype.
ValueId to_dtype(Builder& b, ValueId value, Dtype dtype);
// Adds a row-major constant with these elements.
template <class T>
ValueId add_elements(Builder& b, Dtype dtype, std::vector<int64_t> sizes, const std::vector<T>& elements) {
  const auto bytes = std::as_bytes(std::span(elements));
  return b.add_constant(dtype, std::move(sizes), {bytes.begin(), bytes.end()});
}
// Returns the offset of a diagonal. Fails for one that no tensor has, so that its negation fits.
int64_t diagonal_offset(const Call& a, const infer::IntArgument& offset);
// Converts to row-major; returns a row-major tensor unchanged.
ValueId contiguous(Builder& b, ValueId value);
// The reduction of a loss: none (0), mean (1) or sum (2).
ValueId reduced(Builder& b, ValueId loss, int64_t reduction);
// Ones on the diagonal, zeros elsewhere.
ValueId identity_matrix(Builder& b, Dim rows, Dim columns, Dtype dtype);
// The singular values of matrices, in descending order.
ValueId singular_values(Builder& b, ValueId matrix);
// Swaps dimensions a and b.
ValueId transpose(Builder& b, ValueId value, int64_t first, int64_t second);
// The transpose of matrices; conjugated if complex.
ValueId adjoint(Builder& b, ValueId matrix);

}  // namespace etb::passes
