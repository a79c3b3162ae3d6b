// SPDX-License-Identifier: Apache-2.0
// Ops whose result sizes depend on data, or on PyTorch's choice. The exporter's symbols are those sizes: a node that replaces such an op has them in its own
// results, and an op that stays gets the bound that follows from its inputs.
#include <algorithm>

#include "ops/argwhere.hpp"
#include "ops/bincount.hpp"
#include "ops/embedding_bag.hpp"
#include "ops/masked_select.hpp"
#include "ops/nonzero_numpy.hpp"
#include "ops/repeat_interleave.hpp"
#include "ops/tensor_split.hpp"
#include "ops/where.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// The size of dimension `axis` of a result as the exporter declares it. Fails for a call that a decomposition made.
template <class A>
Dim declared_size(Builder& b, const A& a, size_t result, size_t axis) {
  if (result < b.declared().size()) {
    const TensorSpec spec = b.spec(b.declared()[result]);
    if (axis < spec.rank()) return spec.sizes[axis];
  }
  a.fail("the result's sizes depend on data, and the exporter declares none");
  return 0;
}

// The places of the elements that are not 0: [count, rank].
ValueId places_of(Builder& b, ValueId x, Dim count) {
  const auto rank = static_cast<int64_t>(b.spec(x).rank());
  return b.call_sized("aten.nonzero.default", {ValueRef{x}}, {{Dtype::INT64, {count, Dim(rank)}, {}}}).at(0);
}
ValueId column_of(Builder& b, ValueId places, int64_t column) {
  return b.call("aten.select.int", {ValueRef{places}, Dim(1), Dim(column)});
}

Values argwhere(Builder& b, const ops::argwhere_default<Call>& a) {
  const Dim count = declared_size(b, a, 0, 0);
  if (!a.error().empty()) return {};
  return {places_of(b, a.self(), count)};
}

// One vector of places for each dimension.
template <class A>
Values columns_of_places(Builder& b, const A& a, const infer::TensorArgument& self) {
  const Dim count = declared_size(b, a, 0, 0);
  if (!a.error().empty()) return {};
  const ValueId x = self.spec().rank() == 0 ? reshape(b, self, {Dim(1)}) : ValueId(self);
  const ValueId places = places_of(b, x, count);
  Values out;
  for (size_t i = 0; i < b.spec(x).rank(); ++i) out.push_back(column_of(b, places, static_cast<int64_t>(i)));
  return out;
}
Values nonzero_numpy(Builder& b, const ops::nonzero_numpy_default<Call>& a) {
  return columns_of_places(b, a, a.self());
}
Values where(Builder& b, const ops::where_default<Call>& a) { return columns_of_places(b, a, a.condition()); }

// The same op with all arguments. Its auxiliary results have sizes by PyTorch's choice of algorithm, which the exporter declares.
template <class A>
Values embedding_bag(Builder& b, const A& a, Argument padding_index) {
  std::vector<TensorSpec> specs;
  for (const ValueId declared : b.declared()) specs.push_back(b.spec(declared));
  if (specs.size() != 4) {
    a.fail("the sizes of the results are not known, expected those that the exporter declares");
    return {};
  }
  // With include_last_offset PyTorch 2.13 declares one bag too many in the third result.
  const bool has_one_more = a.include_last_offset() && specs[2].rank() == 1 && specs[0].rank() == 2 &&
                            b.symbols().sub(specs[2].sizes[0], specs[0].sizes[0]).is(1);
  if (has_one_more) specs[2].sizes[0] = specs[0].sizes[0];
  Values out =
      b.call_sized("aten._embedding_bag.default",
                   {a.weight(), a.indices(), a.offsets(), a.scale_grad_by_freq(), a.mode(), a.sparse(),
                    a.per_sample_weights(), a.include_last_offset(), std::move(padding_index)},
                   std::move(specs));
  if (has_one_more)
    out[2] = b.call("aten.constant_pad_nd.default", {ValueRef{out[2]}, Dims{Dim(0), Dim(1)}, Dim(0)});
  return out;
}
Values plain_embedding_bag(Builder& b, const ops::embedding_bag_default<Call>& a) {
  return embedding_bag(b, a, Dim(-1));
}
Values padded_embedding_bag(Builder& b, const ops::embedding_bag_padding_idx<Call>& a) {
  if (!a.padding_idx().has_value()) return embedding_bag(b, a, Dim(-1));
  const Dim index = a.padding_idx().dim();
  const TensorSpec table = a.weight().spec();
  const bool is_negative = index.is_static() && index.value() < 0 && table.rank() == 2;
  return embedding_bag(b, a, is_negative ? b.symbols().add(index, table.sizes[0]) : index);
}

// Each element as often as `repeats` says; one number is for all.
Values repeat_interleave(Builder& b, const ops::repeat_interleave_self_Tensor<Call>& a) {
  const bool has_dim = a.dim().has_value();
  const Dim numel = ir::numel(b.symbols(), a.self().spec().sizes);
  const ValueId x = has_dim ? ValueId(a.self()) : reshape(b, a.self(), {numel});
  const TensorSpec in = b.spec(x), counts = a.repeats().spec();
  const size_t axis = has_dim ? a.axis(a.dim().integer(), in.rank()) : 0;
  if (in.rank() == 0 || counts.rank() > 1) {
    a.fail("repeats of rank " + std::to_string(counts.rank()) + " for a tensor of rank " +
           std::to_string(in.rank()) + ", expected at most 1 and at least 1");
    return {};
  }
  const Dim count = declared_size(b, a, 0, axis);
  if (!a.error().empty()) return {};
  ValueId repeats = to_dtype(b, a.repeats(), Dtype::INT64);
  if (counts.rank() == 0 || (counts.sizes[0].is(1) && !in.sizes[axis].is(1)))
    repeats = b.call("aten.expand.default", {ValueRef{repeats}, Dims{in.sizes[axis]}});
  const ValueId index = b.call_sized("aten.repeat_interleave.Tensor", {ValueRef{repeats}, a.output_size()},
                                     {{Dtype::INT64, {count}, {}}})
                            .at(0);
  return {
      b.call("aten.index_select.default", {ValueRef{x}, Dim(static_cast<int64_t>(axis)), ValueRef{index}})};
}

// Parts that end at indices, which are data: each gathers the places between two of them, as a slice counts them.
Values tensor_split(Builder& b, const ops::tensor_split_tensor_indices_or_sections<Call>& a) {
  const TensorSpec in = a.self().spec(), indices = a.tensor_indices_or_sections().spec();
  const size_t axis = a.axis(a.dim().integer(), in.rank()), parts = b.declared().size();
  if (indices.rank() != 1 || in.rank() == 0 || !indices.sizes[0].is(static_cast<int64_t>(parts) - 1)) {
    a.fail("expected a vector of indices that gives the exporter's " + std::to_string(parts) + " parts");
    return {};
  }
  const Dim size = in.sizes[axis];
  const ValueId all = b.call("aten.arange.start_step", {Dim(0), size}, {{"dtype", Dtype::INT64}});
  // True from an index on.
  const auto from = [&](size_t i) {
    const ValueId index =
        b.call("aten.select.int", {a.tensor_indices_or_sections(), Dim(0), Dim(static_cast<int64_t>(i))});
    const ValueId is_negative = b.call("aten.lt.Scalar", {ValueRef{index}, Dim(0)});
    const ValueId wrapped = b.call("aten.add.Scalar", {ValueRef{index}, size});
    const ValueId begin =
        b.call("aten.where.self", {ValueRef{is_negative}, ValueRef{wrapped}, ValueRef{index}});
    return b.call("aten.ge.Tensor", {ValueRef{all}, ValueRef{begin}});
  };
  Values out;
  ValueId is_begun = b.call("aten.ge.Scalar", {ValueRef{all}, Dim(0)});
  for (size_t i = 0; i < parts; ++i) {
    ValueId is_inside = is_begun;
    if (i + 1 < parts) {
      const ValueId is_over = from(i);
      const ValueId is_before = b.call("aten.logical_not.default", {ValueRef{is_over}});
      is_inside = b.call("aten.logical_and.default", {ValueRef{is_begun}, ValueRef{is_before}});
      is_begun = is_over;
    }
    const ValueId places = column_of(b, places_of(b, is_inside, declared_size(b, a, i, axis)), 0);
    out.push_back(
        b.call("aten.index_select.default", {a.self(), Dim(static_cast<int64_t>(axis)), ValueRef{places}}));
  }
  return out;
}

// Sets the bound of the first result's size if it is a symbol whose bound is `wrong`, or that has none.
void set_bound(Builder& b, int64_t wrong, int64_t bound) {
  if (b.declared().empty()) return;
  const TensorSpec result = b.spec(b.declared()[0]);
  const auto symbol = result.rank() == 1 ? b.symbols().as_symbol(result.sizes[0]) : std::nullopt;
  if (!symbol) return;
  const int64_t max = b.symbols().symbol(*symbol).max;
  // PyTorch writes one less than the largest number for some symbols without a bound.
  if (max >= ir::kUnbounded - 1 || max == wrong) b.set_bound(*symbol, bound);
}

// PyTorch 2.13 declares the elements of `self` as the bound, where those of the broadcast sizes are selected.
Values masked_select(Builder& b, const ops::masked_select_default<Call>& a) {
  const Dims own = a.self().spec().sizes, sizes = infer::broadcast(a, own, a.mask().spec().sizes);
  const auto largest = [&](const Dims& of) { return b.symbols().range(ir::numel(b.symbols(), of)).max; };
  set_bound(b, largest(own), largest(sizes));
  return {};
}

// One count for each number that a small dtype has.
Values bincount(Builder& b, const ops::bincount_default<Call>& a) {
  int64_t numbers = 0;
  if (a.self().spec().dtype == Dtype::UINT8) numbers = 1 << 8;
  if (a.self().spec().dtype == Dtype::INT8) numbers = 1 << 7;
  if (a.self().spec().dtype == Dtype::INT16) numbers = 1 << 15;
  if (numbers != 0) set_bound(b, ir::kUnbounded, std::max(numbers, a.minlength().integer()));
  return {};
}

}  // namespace

std::span<const Decomposition> data_size_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::argwhere_default, argwhere>(),
      row<ops::bincount_default, bincount>(),
      row<ops::embedding_bag_default, plain_embedding_bag>(),
      row<ops::embedding_bag_padding_idx, padded_embedding_bag>(),
      row<ops::masked_select_default, masked_select>(),
      row<ops::nonzero_numpy_default, nonzero_numpy>(),
      row<ops::repeat_interleave_self_Tensor, repeat_interleave>(),
      row<ops::tensor_split_tensor_indices_or_sections, tensor_split>(),
      row<ops::where_default, where>(),
  };
  return kRows;
}

}  // namespace etb::passes
