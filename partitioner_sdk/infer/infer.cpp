#include "partitioner_sdk/infer/infer.hpp"

#include <algorithm>
#include <array>

namespace etb::infer {

namespace {

using ir::Dim;
using ir::Dims;
using ir::Dtype;
using ir::TensorSpec;

// ---- Element by element.

enum class PointwiseDtype { kPromoted, kFloat, kBool, kFirst };

Specs pointwise(const Call& call, std::initializer_list<size_t> operands, PointwiseDtype kind) {
  TensorSpec out;
  for (const size_t index : operands) {
    if (const TensorSpec* tensor = call.find_tensor(index))
      out.sizes = broadcast(call, out.sizes, tensor->sizes);
  }
  const std::optional<Dtype> promoted = promote_arguments(call, std::span(operands.begin(), operands.size()));
  if (!promoted) call.fail("dtypes that PyTorch does not promote");
  const Dtype common = promoted.value_or(Dtype::FLOAT32);
  switch (kind) {
    case PointwiseDtype::kPromoted:
      out.dtype = common;
      break;
    case PointwiseDtype::kFloat:
      out.dtype = ops::is_floating(common) ? common : Dtype::FLOAT32;
      break;
    case PointwiseDtype::kBool:
      out.dtype = Dtype::BOOL;
      break;
    case PointwiseDtype::kFirst:
      out.dtype = call.tensor(0).dtype;
      break;
  }
  return {out};
}

Specs unary(const Call& call) { return pointwise(call, {0}, PointwiseDtype::kFirst); }
Specs unary_float(const Call& call) { return pointwise(call, {0}, PointwiseDtype::kFloat); }
Specs unary_bool(const Call& call) { return pointwise(call, {0}, PointwiseDtype::kBool); }
Specs binary(const Call& call) { return pointwise(call, {0, 1}, PointwiseDtype::kPromoted); }
Specs binary_float(const Call& call) { return pointwise(call, {0, 1}, PointwiseDtype::kFloat); }
Specs compare(const Call& call) { return pointwise(call, {0, 1}, PointwiseDtype::kBool); }
Specs clamp(const Call& call) { return pointwise(call, {0, 1, 2}, PointwiseDtype::kPromoted); }
Specs divide_with_mode(const Call& call) { return call.has(2) ? binary(call) : binary_float(call); }
Specs where(const Call& call) {
  Specs out = pointwise(call, {1, 2}, PointwiseDtype::kPromoted);
  out[0].sizes = broadcast(call, out[0].sizes, call.tensor(0).sizes);
  return out;
}

// ---- Reductions.

TensorSpec reduced(const Call& call, const std::vector<bool>& axes, bool keeps_dims) {
  const TensorSpec& in = call.tensor(0);
  TensorSpec out{in.dtype, {}, {}};
  for (size_t i = 0; i < in.rank(); ++i) {
    if (!axes[i]) {
      out.sizes.push_back(in.sizes[i]);
    } else if (keeps_dims) {
      out.sizes.push_back(Dim(1));
    }
  }
  return out;
}

Specs reduce(const Call& call) { return {reduced(call, call.axes(1, call.tensor(0).rank()), call.flag(2))}; }
Specs mean_dim(const Call& call) {
  Specs out = reduce(call);
  out[0].dtype = call.dtype(3).value_or(out[0].dtype);
  return out;
}
Specs sum_dim(const Call& call) {
  Specs out = reduce(call);
  if (!ops::is_floating(out[0].dtype)) out[0].dtype = Dtype::INT64;
  out[0].dtype = call.dtype(3).value_or(out[0].dtype);
  return out;
}
Specs any_dim(const Call& call) {
  Specs out = reduce(call);
  out[0].dtype = Dtype::BOOL;
  return out;
}
Specs var_correction(const Call& call) {
  return {reduced(call, call.axes(1, call.tensor(0).rank()), call.flag(3))};
}
Specs cumsum(const Call& call) {
  TensorSpec out = call.tensor(0);
  if (!ops::is_floating(out.dtype)) out.dtype = Dtype::INT64;
  out.dtype = call.dtype(2).value_or(out.dtype);
  return {out};
}
Specs softmax(const Call& call) {
  TensorSpec out = call.tensor(0);
  if (call.flag(2)) out.dtype = Dtype::FLOAT32;
  return {out};
}

// ---- Matrices.

Specs mm(const Call& call, size_t a, size_t b) {
  const TensorSpec &x = call.tensor(a), &y = call.tensor(b);
  if (x.rank() != 2 || y.rank() != 2) {
    call.fail("matrices expected");
    return {x};
  }
  return {{x.dtype, {x.sizes[0], y.sizes[1]}, {}}};
}
Specs mm_two(const Call& call) { return mm(call, 0, 1); }
Specs addmm(const Call& call) { return mm(call, 1, 2); }
Specs bmm(const Call& call) {
  const TensorSpec &x = call.tensor(0), &y = call.tensor(1);
  if (x.rank() != 3 || y.rank() != 3) {
    call.fail("batches of matrices expected");
    return {x};
  }
  return {{x.dtype, {x.sizes[0], x.sizes[1], y.sizes[2]}, {}}};
}

Specs linear(const Call& call) {
  const TensorSpec &x = call.tensor(0), &weight = call.tensor(1);
  if (x.rank() == 0 || weight.rank() != 2) {
    call.fail("rows and a matrix expected");
    return {x};
  }
  Dims sizes(x.sizes.begin(), x.sizes.end() - 1);
  sizes.push_back(weight.sizes[0]);
  return {{x.dtype, sizes, {}}};
}

// ---- Windows.

// An item of a list of one or `count` numbers.
int64_t item(const Call& call, const Dims& list, size_t i) {
  if (list.empty()) return 0;
  const Dim value = list.size() == 1 ? list[0] : list[std::min(i, list.size() - 1)];
  if (!value.is_static()) call.fail("symbolic window");
  return value.is_static() ? value.value() : 1;
}

Dim window_count(const Call& call, Dim size, int64_t kernel, int64_t stride, int64_t padding,
                 int64_t dilation, bool rounds_up) {
  ir::SymbolTable& symbols = call.symbols();
  if (stride <= 0) {
    call.fail("stride below 1");
    return 1;
  }
  const Dim room = symbols.add(size, 2 * padding - dilation * (kernel - 1) - 1);
  Dim count = symbols.add(symbols.floor_div(symbols.add(room, rounds_up ? stride - 1 : 0), stride), 1);
  // A window that would begin in the padding on the right is left out.
  if (rounds_up && count.is_static() && size.is_static() &&
      (count.value() - 1) * stride >= size.value() + padding) {
    count = count.value() - 1;
  }
  return count;
}

Specs convolution(const Call& call) {
  const TensorSpec &in = call.tensor(0), &weight = call.tensor(1);
  if (in.rank() < 3 || weight.rank() != in.rank()) {
    call.fail("convolution of rank " + std::to_string(in.rank()) + " with a weight of rank " +
              std::to_string(weight.rank()));
    return {in};
  }
  ir::SymbolTable& symbols = call.symbols();
  const Dims stride = call.dims(3), padding = call.dims(4), dilation = call.dims(5),
             output_padding = call.dims(7);
  const bool is_transposed = call.flag(6);
  TensorSpec out{in.dtype, {in.sizes[0], weight.sizes[0]}, {}};
  if (is_transposed) out.sizes[1] = symbols.mul(weight.sizes[1], call.dim(8));
  for (size_t i = 0; i + 2 < in.rank(); ++i) {
    if (!weight.sizes[i + 2].is_static()) call.fail("symbolic kernel size");
    const int64_t kernel = weight.sizes[i + 2].value();
    const int64_t step = item(call, stride, i), pad = item(call, padding, i),
                  spread = item(call, dilation, i);
    if (is_transposed) {
      const Dim inner = symbols.mul(symbols.sub(in.sizes[i + 2], 1), step);
      out.sizes.push_back(
          symbols.add(inner, spread * (kernel - 1) - 2 * pad + item(call, output_padding, i) + 1));
    } else {
      out.sizes.push_back(window_count(call, in.sizes[i + 2], kernel, step, pad, spread, false));
    }
  }
  return {out};
}

// Pools over the last two dimensions; arguments kernel, stride, padding, then dilation or not.
TensorSpec pool2d(const Call& call, bool has_dilation) {
  TensorSpec out = call.tensor(0);
  out.strides.clear();
  if (out.rank() < 3) {
    call.fail("pooling of rank " + std::to_string(out.rank()));
    return out;
  }
  const Dims kernel = call.dims(1), padding = call.dims(3);
  const Dims stride = call.dims(2).empty() ? kernel : call.dims(2);
  const Dims dilation = has_dilation ? call.dims(4) : Dims{Dim(1)};
  for (size_t i = 0; i < 2; ++i) {
    Dim& size = out.sizes[out.rank() - 2 + i];
    size = window_count(call, size, item(call, kernel, i), item(call, stride, i), item(call, padding, i),
                        item(call, dilation, i), call.flag(has_dilation ? 5 : 4));
  }
  return out;
}
Specs avg_pool2d(const Call& call) { return {pool2d(call, false)}; }
Specs max_pool2d_with_indices(const Call& call) {
  Specs out(2, pool2d(call, true));
  out[1].dtype = Dtype::INT64;
  return out;
}
Specs adaptive_pool2d(const Call& call) {
  TensorSpec out = call.tensor(0);
  const Dims sizes = call.dims(1);
  if (out.rank() < 3 || sizes.size() != 2) {
    call.fail("pooling of rank " + std::to_string(out.rank()));
    return {out};
  }
  out.sizes[out.rank() - 2] = sizes[0];
  out.sizes[out.rank() - 1] = sizes[1];
  return {out};
}
Specs constant_pad(const Call& call) {
  TensorSpec out = call.tensor(0);
  const Dims pad = call.dims(1);
  if (pad.size() % 2 != 0 || pad.size() / 2 > out.rank()) {
    call.fail("padding for more dimensions than there are");
    return {out};
  }
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    Dim& size = out.sizes[out.rank() - 1 - i];
    size = call.symbols().add(size, call.symbols().add(pad[2 * i], pad[2 * i + 1]));
  }
  return {out};
}

// ---- Normalisation: the result, and statistics that inference drops.

Specs batch_norm_inference(const Call& call) {
  const TensorSpec& in = call.tensor(0);
  const TensorSpec empty{in.dtype, {0}, {}};
  return {in, empty, empty};
}
Specs batch_norm_without_stats(const Call& call) {
  const TensorSpec& in = call.tensor(0);
  const TensorSpec channel{in.dtype, {in.rank() > 1 ? in.sizes[1] : Dim(1)}, {}};
  return {in, channel, channel};
}
Specs layer_norm(const Call& call) {
  const TensorSpec& in = call.tensor(0);
  TensorSpec statistics = in;
  const size_t count = std::min(call.dims(1).size(), in.rank());
  for (size_t i = in.rank() - count; i < in.rank(); ++i) statistics.sizes[i] = 1;
  return {in, statistics, statistics};
}
Specs group_norm(const Call& call) {
  const TensorSpec& in = call.tensor(0);
  const TensorSpec statistics{in.dtype, {call.dim(3), call.dim(6)}, {}};
  return {in, statistics, statistics};
}

// ---- Making and gathering.

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
  TensorSpec out;
  bool is_first = true;
  size_t axis = 0;
  for (const TensorSpec* part : parts) {
    // PyTorch skips legacy empty tensors of sizes [0].
    if (part == nullptr || (part->rank() == 1 && part->sizes[0].is(0))) continue;
    if (is_first) {
      out = *part;
      axis = call.axis(call.integer(1), out.rank());
    } else if (part->rank() != out.rank()) {
      call.fail("cat of tensors of different rank");
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
    {"aten._adaptive_avg_pool2d.default", adaptive_pool2d, kFirst},
    {"aten._cdist_forward.default", cdist, kDense},
    {"aten._log_softmax.default", softmax, kPoint},
    {"aten._native_batch_norm_legit.no_stats", batch_norm_without_stats, kFirst},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm_inference, kFirst},
    {"aten._softmax.default", softmax, kPoint},
    {"aten._to_copy.default", to_copy, kPreserve},
    {"aten.abs.default", unary, kPoint},
    {"aten.acos.default", unary_float, kPoint},
    {"aten.acosh.default", unary_float, kPoint},
    {"aten.add.Scalar", binary, kPoint},
    {"aten.add.Tensor", binary, kPoint},
    {"aten.addmm.default", addmm, kDense},
    {"aten.amax.default", reduce, kDense},
    {"aten.amin.default", reduce, kDense},
    {"aten.any.dim", any_dim, kDense},
    {"aten.any.dims", any_dim, kDense},
    {"aten.arange.start_step", arange, kDense},
    {"aten.asin.default", unary_float, kPoint},
    {"aten.asinh.default", unary_float, kPoint},
    {"aten.atan.default", unary_float, kPoint},
    {"aten.atan2.default", binary_float, kPoint},
    {"aten.atanh.default", unary_float, kPoint},
    {"aten.avg_pool2d.default", avg_pool2d, kFirst},
    {"aten.bitwise_and.Scalar", binary, kPoint},
    {"aten.bitwise_and.Tensor", binary, kPoint},
    {"aten.bitwise_not.default", unary, kPoint},
    {"aten.bitwise_or.Scalar", binary, kPoint},
    {"aten.bitwise_or.Tensor", binary, kPoint},
    {"aten.bitwise_xor.Scalar", binary, kPoint},
    {"aten.bitwise_xor.Tensor", binary, kPoint},
    {"aten.bmm.default", bmm, kDense},
    {"aten.cat.default", cat, kDense},
    {"aten.ceil.default", unary, kPoint},
    {"aten.clamp.default", clamp, kPoint},
    {"aten.clone.default", clone, kPreserve},
    {"aten.constant_pad_nd.default", constant_pad, kFirst},
    {"aten.convolution.default", convolution, kFirst},
    {"aten.copy.default", first, kPoint},
    {"aten.cos.default", unary_float, kPoint},
    {"aten.cosh.default", unary_float, kPoint},
    {"aten.cumsum.default", cumsum, kDense},
    {"aten.div.Scalar", binary_float, kPoint},
    {"aten.div.Tensor", binary_float, kPoint},
    {"aten.div.Tensor_mode", divide_with_mode, kPoint},
    {"aten.elu.default", unary, kPoint},
    {"aten.embedding.default", embedding, kDense},
    {"aten.empty.memory_format", empty, kDense},
    {"aten.eq.Scalar", compare, kPoint},
    {"aten.eq.Tensor", compare, kPoint},
    {"aten.erf.default", unary_float, kPoint},
    {"aten.exp.default", unary_float, kPoint},
    {"aten.expm1.default", unary_float, kPoint},
    {"aten.flip.default", first, kPreserve},
    {"aten.floor.default", unary, kPoint},
    {"aten.fmod.Scalar", binary, kPoint},
    {"aten.fmod.Tensor", binary, kPoint},
    {"aten.full.default", full, kDense},
    {"aten.full_like.default", full_like, kPreserve},
    {"aten.gather.default", gather, kDense},
    {"aten.ge.Scalar", compare, kPoint},
    {"aten.ge.Tensor", compare, kPoint},
    {"aten.gelu.default", unary, kPoint},
    {"aten.gt.Scalar", compare, kPoint},
    {"aten.gt.Tensor", compare, kPoint},
    {"aten.hardtanh.default", unary, kPoint},
    {"aten.index.Tensor", index, kDense},
    {"aten.index_put.default", first, kPreserve},
    {"aten.index_select.default", index_select, kDense},
    {"aten.isinf.default", unary_bool, kPoint},
    {"aten.isnan.default", unary_bool, kPoint},
    {"aten.le.Scalar", compare, kPoint},
    {"aten.le.Tensor", compare, kPoint},
    {"aten.leaky_relu.default", unary, kPoint},
    {"aten.linear.default", linear, kDense},
    {"aten.log.default", unary_float, kPoint},
    {"aten.log10.default", unary_float, kPoint},
    {"aten.log1p.default", unary_float, kPoint},
    {"aten.log2.default", unary_float, kPoint},
    {"aten.logical_and.default", compare, kPoint},
    {"aten.logical_not.default", unary_bool, kPoint},
    {"aten.logical_or.default", compare, kPoint},
    {"aten.logical_xor.default", compare, kPoint},
    {"aten.lt.Scalar", compare, kPoint},
    {"aten.lt.Tensor", compare, kPoint},
    {"aten.max_pool2d_with_indices.default", max_pool2d_with_indices, kFirst},
    {"aten.maximum.default", binary, kPoint},
    {"aten.mean.dim", mean_dim, kDense},
    {"aten.minimum.default", binary, kPoint},
    {"aten.mm.default", mm_two, kDense},
    {"aten.mul.Scalar", binary, kPoint},
    {"aten.mul.Tensor", binary, kPoint},
    {"aten.native_group_norm.default", group_norm, kDense},
    {"aten.native_layer_norm.default", layer_norm, kDense},
    {"aten.ne.Scalar", compare, kPoint},
    {"aten.ne.Tensor", compare, kPoint},
    {"aten.neg.default", unary, kPoint},
    {"aten.pow.Scalar", binary, kPoint},
    {"aten.pow.Tensor_Scalar", binary, kPoint},
    {"aten.pow.Tensor_Tensor", binary, kPoint},
    {"aten.reciprocal.default", unary_float, kPoint},
    {"aten.relu.default", unary, kPoint},
    {"aten.remainder.Scalar", binary, kPoint},
    {"aten.remainder.Tensor", binary, kPoint},
    {"aten.repeat.default", repeat, kDense},
    {"aten.replication_pad1d.default", constant_pad, kFirst},
    {"aten.replication_pad2d.default", constant_pad, kFirst},
    {"aten.replication_pad3d.default", constant_pad, kFirst},
    {"aten.round.default", unary, kPoint},
    {"aten.rsqrt.default", unary_float, kPoint},
    {"aten.scalar_tensor.default", scalar_tensor, kDense},
    {"aten.select_scatter.default", first, kPreserve},
    {"aten.sigmoid.default", unary_float, kPoint},
    {"aten.sign.default", unary, kPoint},
    {"aten.sin.default", unary_float, kPoint},
    {"aten.sinh.default", unary_float, kPoint},
    {"aten.slice_scatter.default", first, kPreserve},
    {"aten.sort.default", sort, kPreserve},
    {"aten.sort.stable", sort, kPreserve},
    {"aten.sqrt.default", unary_float, kPoint},
    {"aten.sub.Scalar", binary, kPoint},
    {"aten.sub.Tensor", binary, kPoint},
    {"aten.sum.dim_IntList", sum_dim, kDense},
    {"aten.tan.default", unary_float, kPoint},
    {"aten.tanh.default", unary_float, kPoint},
    {"aten.trunc.default", unary, kPoint},
    {"aten.upsample_bilinear2d.vec", upsample_bilinear2d, kFirst},
    {"aten.upsample_nearest2d.vec", upsample_nearest2d, kFirst},
    {"aten.var.correction", var_correction, kDense},
    {"aten.where.self", where, kPoint},
    {"dim_order_ops._clone_dim_order.default", clone, ResultLayout::kDimOrder},
    {"dim_order_ops._empty_dim_order.default", empty, ResultLayout::kDimOrder},
    {"dim_order_ops._to_dim_order_copy.default", to_copy, ResultLayout::kDimOrder},
};

// ---- Strides.

// The order in which TensorIterator walks the dimensions, innermost last, for operands of the result's rank; dimensions on
// which the operands say nothing keep their place. (ATen/native/TensorIterator, reorder_dimensions)
std::vector<uint8_t> pointwise_order(ir::SymbolTable& symbols, const Dims& sizes,
                                     const std::vector<const TensorSpec*>& operands) {
  const size_t rank = sizes.size();
  const auto stride_of = [&](const TensorSpec& spec, size_t dim) {
    const size_t missing = rank - spec.rank();
    if (dim < missing || (spec.sizes[dim - missing].is(1) && !sizes[dim].is(1))) return int64_t{0};
    const Dim stride = spec.strides[dim - missing];
    return symbols.hint(stride).value_or(symbols.range(stride).max);
  };
  // 1: dimension a moves inside b; -1: it stays outside; 0: nothing known.
  const auto compare = [&](size_t a, size_t b) {
    for (const TensorSpec* spec : operands) {
      const int64_t x = stride_of(*spec, a), y = stride_of(*spec, b);
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      const Dim n = sizes[a], m = sizes[b];
      if (n.is_static() && m.is_static() && n.value() > m.value()) return 1;
    }
    return 0;
  };
  std::vector<size_t> inner_first(rank);
  for (size_t i = 0; i < rank; ++i) inner_first[i] = rank - 1 - i;
  for (size_t i = 1; i < rank; ++i) {
    size_t at = i;
    for (size_t before = i; before-- > 0;) {
      const int order = compare(inner_first[before], inner_first[at]);
      if (order > 0) {
        std::swap(inner_first[before], inner_first[at]);
        at = before;
      } else if (order < 0) {
        break;
      }
    }
  }
  std::vector<uint8_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<uint8_t>(inner_first[rank - 1 - i]);
  return order;
}

std::vector<const TensorSpec*> tensor_operands(const Call& call, size_t rank) {
  std::vector<const TensorSpec*> out;
  for (size_t i = 0; i < call.argument_count(); ++i) {
    const TensorSpec* tensor = call.find_tensor(i);
    if (tensor != nullptr && tensor->rank() <= rank) out.push_back(tensor);
  }
  return out;
}

Dims pointwise_strides(const Call& call, const TensorSpec& out) {
  ir::SymbolTable& symbols = call.symbols();
  const auto operands = tensor_operands(call, out.rank());
  // Operands of one shape and one dense layout hand it on as it is.
  const bool are_alike =
      !operands.empty() && std::all_of(operands.begin(), operands.end(), [&](const TensorSpec* spec) {
        return spec->sizes == out.sizes && spec->strides == operands[0]->strides;
      });
  if (are_alike && ir::find_dim_order(symbols, *operands[0])) return operands[0]->strides;
  return ir::strides_in_order(symbols, out.sizes, pointwise_order(symbols, out.sizes, operands));
}

Dims preserved_strides(const Call& call, const TensorSpec& out) {
  ir::SymbolTable& symbols = call.symbols();
  const int position = call.op().schema == nullptr ? -1 : call.op().schema->find_argument("memory_format");
  const auto format = position < 0 ? std::nullopt : call.memory_format(static_cast<size_t>(position));
  if (format == ir::MemoryFormat::kContiguous) return ir::contiguous_strides(symbols, out.sizes);
  if (format == ir::MemoryFormat::kChannelsLast || format == ir::MemoryFormat::kChannelsLast3d) {
    return ir::strides_in_order(symbols, out.sizes, ir::channels_last_order(out.rank()));
  }
  const TensorSpec& in = call.tensor(0);
  if (in.sizes == out.sizes && ir::find_dim_order(symbols, in)) return in.strides;
  return ir::strides_in_order(symbols, out.sizes, pointwise_order(symbols, out.sizes, {&in}));
}

Dims dim_order_strides(const Call& call, const TensorSpec& out) {
  const int position = call.op().schema->find_argument("dim_order");
  std::vector<uint8_t> order;
  if (call.has(static_cast<size_t>(position))) {
    for (const Dim dim : call.dims(static_cast<size_t>(position))) {
      order.push_back(static_cast<uint8_t>(call.axis(dim.value(), out.rank())));
    }
    if (order.size() != out.rank()) call.fail("dim_order does not name every dimension");
    return ir::strides_in_order(call.symbols(), out.sizes, order);
  }
  return ir::contiguous_strides(call.symbols(), out.sizes);
}

Dims result_strides(const Call& call, ResultLayout layout, const TensorSpec& out) {
  ir::SymbolTable& symbols = call.symbols();
  switch (layout) {
    case ResultLayout::kPointwise:
      return pointwise_strides(call, out);
    case ResultLayout::kPreserve:
      return preserved_strides(call, out);
    case ResultLayout::kDimOrder:
      return dim_order_strides(call, out);
    case ResultLayout::kLikeFirst:
      // A tensor that is both (one channel, or one pixel) counts as row-major.
      if (!ir::is_contiguous(symbols, call.tensor(0)) && ir::is_channels_last(symbols, call.tensor(0))) {
        return ir::strides_in_order(symbols, out.sizes, ir::channels_last_order(out.rank()));
      }
      break;
    default:
      break;
  }
  return ir::contiguous_strides(symbols, out.sizes);
}

}  // namespace

const Rule* find_rule(std::string_view op_name) {
  for (const std::span<const Rule> rows : {std::span<const Rule>(kRows), view_rules()}) {
    const auto found =
        std::lower_bound(rows.begin(), rows.end(), op_name,
                         [](const Rule& row, std::string_view name) { return row.name < name; });
    if (found != rows.end() && found->name == op_name) return &*found;
  }
  return nullptr;
}

Result<Specs> infer(ir::Module& module, const ir::Graph& graph, ir::OpId op,
                    std::span<const ir::Argument> args) {
  const std::string& name = module.op(op).name;
  const Rule* rule = find_rule(name);
  if (rule == nullptr) return make_error(Code::NOT_IMPLEMENTED, name + ": no rule for its results");
  const Call call(module, graph, op, args);
  Specs specs = rule->shape(call);
  if (rule->layout != ResultLayout::kOwn && call.error().empty()) {
    for (TensorSpec& spec : specs) spec.strides = result_strides(call, rule->layout, spec);
  }
  if (!call.error().empty()) return make_error(Code::INVALID_ARGUMENT, name + ": " + call.error());
  if (module.symbols.is_beyond_limits())
    return make_error(Code::INVALID_ARGUMENT, name + ": sizes beyond limits");
  return specs;
}

void relayout(ir::Module& module, ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes) {
    const Rule* rule = find_rule(module.op(node).name);
    const ResultLayout layout = rule == nullptr ? ResultLayout::kContiguous : rule->layout;
    if (layout == ResultLayout::kOwn) continue;
    const Call call(module, graph, node.op, node.args);
    for (const ir::ValueId id : node.outputs) {
      ir::Value& value = graph.values[id];
      if (value.kind == ir::ValueKind::kTensor) value.spec.strides = result_strides(call, layout, value.spec);
    }
  }
}

}  // namespace etb::infer
