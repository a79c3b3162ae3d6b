// Tensors made of numbers, or of pieces of others.
#include <algorithm>
#include <array>

#include "api/ops/sizes/view.hpp"
#include "partitioner_sdk/infer/formulas.hpp"
#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::Dim;
using ir::Dims;
using ir::Dtype;
using ir::TensorSpec;

Specs full(const Call& call) {
  // Without a dtype the value's kind decides.
  Dtype dtype = Dtype::FLOAT32;
  if (ir::get_if<Dim>(call.argument(1)) != nullptr) dtype = Dtype::INT64;
  if (ir::get_if<bool>(call.argument(1)) != nullptr) dtype = Dtype::BOOL;
  return {{call.dtype(2).value_or(dtype), call.dims(0), {}}};
}
Specs full_like(const Call& call) {
  TensorSpec out = call.tensor(0);
  out.dtype = call.dtype(2).value_or(out.dtype);
  return {out};
}
Specs scalar_tensor(const Call& call) { return {{call.dtype(1).value_or(Dtype::FLOAT32), {}, {}}}; }
Specs empty(const Call& call) { return {{call.dtype(1).value_or(Dtype::FLOAT32), call.dims(0), {}}}; }
Specs arange(const Call& call) {
  ir::SymbolTable& symbols = call.symbols();
  const bool is_int = ir::get_if<Dim>(call.argument(0)) && ir::get_if<Dim>(call.argument(1)) &&
                      ir::get_if<Dim>(call.argument(2));
  if (!is_int) {
    call.fail("arange of floats");
    return {{}};
  }
  const Dim step = call.dim(2);
  if (!step.is_static() || step.value() <= 0) {
    call.fail("arange with a step below 1");
    return {{}};
  }
  const Dim room = symbols.add(symbols.sub(call.dim(1), call.dim(0)), step.value() - 1);
  return {{call.dtype(3).value_or(Dtype::INT64), {symbols.max(symbols.floor_div(room, step), 0)}, {}}};
}
Specs clone(const Call& call) { return {call.tensor(0)}; }
Specs to_copy(const Call& call) {
  TensorSpec out = call.tensor(0);
  out.dtype = call.dtype(1).value_or(out.dtype);
  return {out};
}
Specs cat(const Call& call) {
  const auto parts = call.tensors(0);
  const Formulas formulas(call.symbols());
  TensorSpec out;
  bool is_first = true;
  size_t axis = 0;
  for (const TensorSpec* part : parts) {
    if (part == nullptr || ops::is_skipped_by_cat(formulas, part->sizes)) continue;
    if (is_first) {
      out = *part;
      axis = call.axis(call.integer(1), out.rank());
    } else if (!ops::can_join(formulas, out.sizes, part->sizes, axis)) {
      call.fail("cat of tensors of different " + std::string(part->rank() != out.rank() ? "rank" : "sizes"));
    } else {
      out.sizes[axis] = call.symbols().add(out.sizes[axis], part->sizes[axis]);
      out.dtype = ops::promote(out.dtype, part->dtype).value_or(out.dtype);
    }
    is_first = false;
  }
  if (is_first && !parts.empty() && parts[0] != nullptr) out = *parts[0];
  return {out};
}
Specs embedding(const Call& call) {
  const TensorSpec &weight = call.tensor(0), &indices = call.tensor(1);
  if (weight.rank() != 2) call.fail("embedding weight of rank " + std::to_string(weight.rank()));
  TensorSpec out{weight.dtype, indices.sizes, {}};
  out.sizes.push_back(weight.rank() == 2 ? weight.sizes[1] : Dim(1));
  return {out};
}
// One index tensor takes the place of its dimension; several broadcast, and stand first unless they are neighbours.
Specs index(const Call& call) {
  const TensorSpec& in = call.tensor(0);
  const auto indices = call.tensors(1);
  Dims gathered;
  std::vector<size_t> places;
  for (size_t i = 0; i < indices.size() && i < in.rank(); ++i) {
    if (indices[i] == nullptr) continue;
    if (ops::is_bool(indices[i]->dtype)) call.fail("index by a mask");
    gathered = broadcast(call, gathered, indices[i]->sizes);
    places.push_back(i);
  }
  if (indices.size() > in.rank() || places.empty()) call.fail("more indices than dimensions, or none");
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
Specs index_select(const Call& call) {
  TensorSpec out = call.tensor(0);
  if (out.rank() == 0) return {out};
  const TensorSpec& indices = call.tensor(2);
  out.sizes[call.axis(call.integer(1), out.rank())] = indices.rank() == 0 ? Dim(1) : indices.sizes[0];
  return {out};
}
Specs gather(const Call& call) { return {{call.tensor(0).dtype, call.tensor(2).sizes, {}}}; }
Specs first(const Call& call) { return {call.tensor(0)}; }
Specs sort(const Call& call) {
  Specs out(2, call.tensor(0));
  out[1].dtype = Dtype::INT64;
  return out;
}
Specs topk(const Call& call) {
  Specs out = sort(call);
  if (out[0].rank() == 0) return out;
  const size_t axis = call.axis(call.integer(2), out[0].rank());
  out[0].sizes[axis] = out[1].sizes[axis] = call.dim(1);
  return out;
}
// input, output_size, [align_corners,] scale_factors
Specs upsample2d(const Call& call, size_t scales_index) {
  TensorSpec out = call.tensor(0);
  const auto* scales =
      call.has(scales_index) ? ir::get_if<ir::FloatList>(call.argument(scales_index)) : nullptr;
  const Dims sizes = call.dims(1);
  for (size_t i = 0; i < 2 && out.rank() >= 3; ++i) {
    Dim& size = out.sizes[out.rank() - 2 + i];
    if (sizes.size() == 2) {
      size = sizes[i];
    } else if (scales != nullptr && scales->size() == 2 && size.is_static()) {
      size = static_cast<int64_t>(static_cast<double>(size.value()) * (*scales)[i]);
    } else {
      call.fail("a size that is known only at run time");
    }
  }
  return {out};
}
// input, grid [N, height, width, 2]
Specs grid_sampler_2d(const Call& call) {
  TensorSpec out = call.tensor(0);
  const TensorSpec& grid = call.tensor(1);
  if (out.rank() != 4 || grid.rank() != 4) {
    call.fail("images and a grid for them expected");
    return {out};
  }
  out.sizes[2] = grid.sizes[1];
  out.sizes[3] = grid.sizes[2];
  out.strides.clear();
  return {out};
}

Specs upsample_nearest2d(const Call& call) { return upsample2d(call, 2); }
Specs upsample_bilinear2d(const Call& call) { return upsample2d(call, 3); }
Specs repeat(const Call& call) {
  const TensorSpec& in = call.tensor(0);
  Dims sizes = call.dims(1);
  if (sizes.size() < in.rank()) {
    call.fail("repeat of fewer dimensions");
    return {in};
  }
  for (size_t i = 0; i < in.rank(); ++i) {
    Dim& size = sizes[sizes.size() - 1 - i];
    size = call.symbols().mul(size, in.sizes[in.rank() - 1 - i]);
  }
  return {{in.dtype, sizes, {}}};
}
Specs cdist(const Call& call) {
  const TensorSpec &a = call.tensor(0), &b = call.tensor(1);
  if (a.rank() < 2 || b.rank() < 2) {
    call.fail("matrices expected");
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
    {"aten._cdist_forward.default", cdist, kDense},
    {"aten._to_copy.default", to_copy, kPreserve},
    {"aten.arange.start_step", arange, kDense},
    {"aten.cat.default", cat, kDense},
    {"aten.clone.default", clone, kPreserve},
    {"aten.copy.default", first, kPoint},
    {"aten.embedding.default", embedding, kDense},
    {"aten.empty.memory_format", empty, kDense},
    {"aten.flip.default", first, kPreserve},
    {"aten.full.default", full, kDense},
    {"aten.full_like.default", full_like, kPreserve},
    {"aten.gather.default", gather, kDense},
    {"aten.grid_sampler_2d.default", grid_sampler_2d, kDense},
    {"aten.index.Tensor", index, kDense},
    {"aten.index_put.default", first, kPreserve},
    {"aten.index_select.default", index_select, kDense},
    {"aten.repeat.default", repeat, kDense},
    {"aten.scalar_tensor.default", scalar_tensor, kDense},
    {"aten.scatter.src", first, kPreserve},
    {"aten.scatter.value", first, kPreserve},
    {"aten.select_scatter.default", first, kPreserve},
    {"aten.slice_scatter.default", first, kPreserve},
    {"aten.sort.default", sort, kPreserve},
    {"aten.sort.stable", sort, kPreserve},
    {"aten.topk.default", topk, kDense},
    {"aten.upsample_bilinear2d.vec", upsample_bilinear2d, kFirst},
    {"aten.upsample_nearest2d.vec", upsample_nearest2d, kFirst},
    {"dim_order_ops._clone_dim_order.default", clone, ResultLayout::kDimOrder},
    {"dim_order_ops._empty_dim_order.default", empty, ResultLayout::kDimOrder},
    {"dim_order_ops._to_dim_order_copy.default", to_copy, ResultLayout::kDimOrder},
};

}  // namespace

std::span<const Rule> gathering_rules() { return kRows; }

}  // namespace etb::infer
