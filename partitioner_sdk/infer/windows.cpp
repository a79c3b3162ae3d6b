// SPDX-License-Identifier: Apache-2.0
// Windows over images, and normalisation.
#include <algorithm>
#include <array>

#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::Dim;
using ir::Dims;
using ir::Dtype;
using ir::TensorSpec;

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

constexpr ResultLayout kDense = ResultLayout::kContiguous, kFirst = ResultLayout::kLikeFirst;

constexpr Rule kRows[] = {
    {"aten._adaptive_avg_pool2d.default", adaptive_pool2d, kFirst},
    {"aten._native_batch_norm_legit.no_stats", batch_norm_without_stats, kFirst},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm_inference, kFirst},
    {"aten.avg_pool2d.default", avg_pool2d, kFirst},
    {"aten.constant_pad_nd.default", constant_pad, kFirst},
    {"aten.convolution.default", convolution, kFirst},
    {"aten.max_pool2d_with_indices.default", max_pool2d_with_indices, kFirst},
    {"aten.native_group_norm.default", group_norm, kDense},
    {"aten.native_layer_norm.default", layer_norm, kDense},
    {"aten.replication_pad1d.default", constant_pad, kFirst},
    {"aten.replication_pad2d.default", constant_pad, kFirst},
    {"aten.replication_pad3d.default", constant_pad, kFirst},
};

}  // namespace

std::span<const Rule> window_rules() { return kRows; }

}  // namespace etb::infer
