// SPDX-License-Identifier: Apache-2.0
// Tensors that are built from numbers or from pieces of other tensors.
#include <algorithm>
#include <array>

#include "api/ops/sizes/view.hpp"
#include "ops/_cdist_forward.hpp"
#include "ops/_to_copy.hpp"
#include "ops/arange.hpp"
#include "ops/as_strided_scatter.hpp"
#include "ops/cat.hpp"
#include "ops/clone.hpp"
#include "ops/copy.hpp"
#include "ops/diagonal_scatter.hpp"
#include "ops/dim_order_ops/_clone_dim_order.hpp"
#include "ops/dim_order_ops/_empty_dim_order.hpp"
#include "ops/dim_order_ops/_to_dim_order_copy.hpp"
#include "ops/embedding.hpp"
#include "ops/empty.hpp"
#include "ops/flip.hpp"
#include "ops/full.hpp"
#include "ops/full_like.hpp"
#include "ops/gather.hpp"
#include "ops/grid_sampler_2d.hpp"
#include "ops/grid_sampler_3d.hpp"
#include "ops/index.hpp"
#include "ops/index_put.hpp"
#include "ops/index_select.hpp"
#include "ops/rand.hpp"
#include "ops/randn.hpp"
#include "ops/repeat.hpp"
#include "ops/roll.hpp"
#include "ops/scalar_tensor.hpp"
#include "ops/scatter.hpp"
#include "ops/scatter_add.hpp"
#include "ops/scatter_reduce.hpp"
#include "ops/searchsorted.hpp"
#include "ops/select_scatter.hpp"
#include "ops/slice_scatter.hpp"
#include "ops/sort.hpp"
#include "ops/topk.hpp"
#include "ops/upsample_bilinear2d.hpp"
#include "ops/upsample_nearest2d.hpp"
#include "partitioner_sdk/infer/formulas.hpp"
#include "partitioner_sdk/infer/infer.hpp"
#include "partitioner_sdk/ir/rational.hpp"

namespace etb::infer {

namespace {

using ir::Dim;
using ir::Dims;
using ir::Dtype;
using ir::TensorSpec;

// Dtypes are set by the row in schemas.txt.
constexpr Dtype kNoDtype = Dtype::FLOAT32;

template <class C>
Specs created(const C& call) {
  return {{kNoDtype, call.size().dims(), {}}};
}
Specs scalar_tensor(const ops::scalar_tensor_default<Call>&) { return {{}}; }
template <class C>
Specs same(const C& call) {
  return {call.self().spec()};
}
Specs arange(const ops::arange_start_step<Call>& call) {
  ir::SymbolTable& symbols = call.symbols();
  const bool is_int =
      ir::get_if<Dim>(call.start()) && ir::get_if<Dim>(call.end()) && ir::get_if<Dim>(call.step());
  if (!is_int) {
    call.fail("start, end or step is a float, so the size of the range is unknown; expected ints");
    return {{}};
  }
  const Dim step = call.step().dim();
  if (!step.is_static() || step.value() <= 0) {
    call.fail("the step is not a constant of at least 1");
    return {{}};
  }
  const Dim room = symbols.add(symbols.sub(call.end().dim(), call.start().dim()), step.value() - 1);
  return {{kNoDtype, {symbols.max(symbols.floor_div(room, step), 0)}, {}}};
}
Specs cat(const ops::cat_default<Call>& call) {
  const auto parts = call.tensors().specs();
  const Formulas formulas(call.symbols());
  TensorSpec out;
  bool is_first = true;
  size_t axis = 0;
  for (const TensorSpec* part : parts) {
    if (part == nullptr || ops::is_skipped_by_cat(formulas, part->sizes)) continue;
    if (is_first) {
      out = *part;
      axis = call.axis(call.dim().integer(), out.rank());
    } else if (!ops::can_join(formulas, out.sizes, part->sizes, axis)) {
      call.fail("cannot concatenate tensors of different " +
                std::string(part->rank() != out.rank() ? "rank" : "sizes"));
    } else {
      out.sizes[axis] = call.symbols().add(out.sizes[axis], part->sizes[axis]);
    }
    is_first = false;
  }
  if (is_first && !parts.empty() && parts[0] != nullptr) out = *parts[0];
  return {out};
}
Specs embedding(const ops::embedding_default<Call>& call) {
  const TensorSpec &weight = call.weight().spec(), &indices = call.indices().spec();
  if (weight.rank() != 2) call.fail("weight of rank " + std::to_string(weight.rank()) + ", expected 2");
  TensorSpec out{weight.dtype, indices.sizes, {}};
  out.sizes.push_back(weight.rank() == 2 ? weight.sizes[1] : Dim(1));
  return {out};
}
// The result of one index tensor replaces its dimension. Several index tensors are broadcast; their
// dimensions come first unless they are neighbours.
Specs index(const ops::index_Tensor<Call>& call) {
  const TensorSpec& in = call.self().spec();
  const auto indices = call.indices().specs();
  Dims gathered;
  std::vector<size_t> places;
  for (size_t i = 0; i < indices.size() && i < in.rank(); ++i) {
    if (indices[i] == nullptr) continue;
    if (ops::is_bool(indices[i]->dtype))
      call.fail(
          "argument 'indices' has a mask of bools, so the result's sizes depend on data; expected ints");
    gathered = broadcast(call, gathered, indices[i]->sizes);
    places.push_back(i);
  }
  if (indices.size() > in.rank() || places.empty())
    call.fail(std::to_string(places.size()) + " of " + std::to_string(indices.size()) +
              " indices are tensors, expected at least 1 and at most the rank of " +
              std::to_string(in.rank()));
  if (!call.error().empty()) return {in};
  const bool are_neighbours = places.back() - places.front() + 1 == places.size();
  const size_t at = are_neighbours ? places.front() : 0;
  TensorSpec out{in.dtype, {}, {}};
  size_t kept = 0;
  for (size_t i = 0; i <= in.rank(); ++i) {
    if (kept == at && out.sizes.size() == at)
      out.sizes.insert(out.sizes.end(), gathered.begin(), gathered.end());
    if (i == in.rank()) break;
    if (i < indices.size() && indices[i] != nullptr) continue;
    out.sizes.push_back(in.sizes[i]);
    ++kept;
  }
  return {out};
}
Specs index_put(const ops::index_put_default<Call>& call) {
  const TensorSpec& in = call.self().spec();
  const size_t count = call.indices().specs().size();
  if (count > in.rank())
    call.fail(std::to_string(count) + " indices, expected at most the rank of " + std::to_string(in.rank()));
  return {in};
}
Specs index_select(const ops::index_select_default<Call>& call) {
  TensorSpec out = call.self().spec();
  if (out.rank() == 0) return {out};
  const TensorSpec& indices = call.index().spec();
  out.sizes[call.axis(call.dim().integer(), out.rank())] = indices.rank() == 0 ? Dim(1) : indices.sizes[0];
  return {out};
}
Specs gather(const ops::gather_default<Call>& call) {
  return {{call.self().spec().dtype, call.index().spec().sizes, {}}};
}
template <class C>
Specs sort(const C& call) {
  return Specs(2, call.self().spec());
}
Specs topk(const ops::topk_default<Call>& call) {
  Specs out = sort(call);
  if (out[0].rank() == 0) return out;
  const size_t axis = call.axis(call.dim().integer(), out[0].rank());
  out[0].sizes[axis] = out[1].sizes[axis] = call.k().dim();
  return out;
}
Specs searchsorted(const ops::searchsorted_Tensor<Call>& call) {
  return {{Dtype::INT64, call.self().spec().sizes, {}}};
}
template <class C>
Specs upsample2d(const C& call) {
  TensorSpec out = call.input().spec();
  const ir::FloatList* scales = call.scale_factors().find_list();
  const Dims sizes = call.output_size().dims();
  for (size_t i = 0; i < 2 && out.rank() >= 3; ++i) {
    Dim& size = out.sizes[out.rank() - 2 + i];
    if (sizes.size() == 2) {
      size = sizes[i];
    } else if (const auto scaled = scales != nullptr && scales->size() == 2
                                       ? ir::scaled_size(call.symbols(), size, (*scales)[i])
                                       : std::nullopt) {
      size = *scaled;
    } else {
      call.fail("there are neither two output sizes nor two scales that are small fractions");
    }
  }
  return {out};
}
// The grid is [N, height, width, 2], and [N, depth, height, width, 3] for volumes.
template <size_t Rank, class C>
Specs grid_sampler(const C& call) {
  TensorSpec out = call.input().spec();
  const TensorSpec& grid = call.grid().spec();
  if (out.rank() != Rank || grid.rank() != Rank) {
    call.fail("input of rank " + std::to_string(out.rank()) + " and grid of rank " +
              std::to_string(grid.rank()) + ", expected " + std::to_string(Rank) + " for both");
    return {out};
  }
  for (size_t i = 2; i < Rank; ++i) out.sizes[i] = grid.sizes[i - 1];
  out.strides.clear();
  return {out};
}

Specs repeat(const ops::repeat_default<Call>& call) {
  const TensorSpec& in = call.self().spec();
  Dims sizes = call.repeats().dims();
  if (sizes.size() < in.rank()) {
    call.fail(std::to_string(sizes.size()) + " repeats for a tensor of rank " + std::to_string(in.rank()) +
              ", expected at least one per dimension");
    return {in};
  }
  for (size_t i = 0; i < in.rank(); ++i) {
    Dim& size = sizes[sizes.size() - 1 - i];
    size = call.symbols().mul(size, in.sizes[in.rank() - 1 - i]);
  }
  return {{in.dtype, sizes, {}}};
}
Specs cdist(const ops::_cdist_forward_default<Call>& call) {
  const TensorSpec &a = call.x1().spec(), &b = call.x2().spec();
  if (a.rank() < 2 || b.rank() < 2) {
    call.fail("operands of rank " + std::to_string(a.rank()) + " and " + std::to_string(b.rank()) +
              ", expected at least 2");
    return {a};
  }
  Dims sizes =
      broadcast(call, Dims(a.sizes.begin(), a.sizes.end() - 2), Dims(b.sizes.begin(), b.sizes.end() - 2));
  sizes.push_back(a.sizes[a.rank() - 2]);
  sizes.push_back(b.sizes[b.rank() - 2]);
  return {{a.dtype, sizes, {}}};
}

constexpr ResultLayout kPoint = ResultLayout::kPointwise, kDense = ResultLayout::kContiguous,
                       kFirst = ResultLayout::kLikeFirst, kPreserve = ResultLayout::kPreserve;

constexpr Rule kRows[] = {
    row<ops::_cdist_forward_default, cdist>(kDense),
    row<ops::_to_copy_default, same>(kPreserve),
    row<ops::arange_start_step, arange>(kDense),
    row<ops::as_strided_scatter_default, same>(kPreserve),
    row<ops::cat_default, cat>(kDense),
    row<ops::clone_default, same>(kPreserve),
    row<ops::copy_default, same>(kPoint),
    row<ops::diagonal_scatter_default, same>(kPreserve),
    row<ops::embedding_default, embedding>(kDense),
    row<ops::empty_memory_format, created>(kDense),
    row<ops::flip_default, same>(kPreserve),
    row<ops::full_default, created>(kDense),
    row<ops::full_like_default, same>(kPreserve),
    row<ops::gather_default, gather>(kDense),
    row<ops::grid_sampler_2d_default, grid_sampler<4>>(kDense),
    row<ops::grid_sampler_3d_default, grid_sampler<5>>(kDense),
    row<ops::index_Tensor, index>(kDense),
    row<ops::index_put_default, index_put>(kPreserve),
    row<ops::index_select_default, index_select>(kDense),
    row<ops::rand_default, created>(kDense),
    row<ops::randn_default, created>(kDense),
    row<ops::repeat_default, repeat>(kDense),
    row<ops::roll_default, same>(kDense),
    row<ops::scalar_tensor_default, scalar_tensor>(kDense),
    row<ops::scatter_src, same>(kPreserve),
    row<ops::scatter_value, same>(kPreserve),
    row<ops::scatter_add_default, same>(kPreserve),
    row<ops::scatter_reduce_two, same>(kPreserve),
    row<ops::searchsorted_Tensor, searchsorted>(kDense),
    row<ops::select_scatter_default, same>(kPreserve),
    row<ops::slice_scatter_default, same>(kPreserve),
    row<ops::sort_default, sort>(kPreserve),
    row<ops::sort_stable, sort>(kPreserve),
    row<ops::topk_default, topk>(kDense),
    row<ops::upsample_bilinear2d_vec, upsample2d>(kFirst),
    row<ops::upsample_nearest2d_vec, upsample2d>(kFirst),
    row<ops::dim_order_ops::_clone_dim_order_default, same>(ResultLayout::kDimOrder),
    row<ops::dim_order_ops::_empty_dim_order_default, created>(ResultLayout::kDimOrder),
    row<ops::dim_order_ops::_to_dim_order_copy_default, same>(ResultLayout::kDimOrder),
};

}  // namespace

std::span<const Rule> gathering_rules() { return kRows; }

}  // namespace etb::infer
