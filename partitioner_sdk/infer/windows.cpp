// SPDX-License-Identifier: Apache-2.0
// Convolutions, pools and normalisation.
#include <algorithm>
#include <array>

#include "api/ops/sizes/view.hpp"
#include "api/ops/sizes/window.hpp"
#include "ops/_adaptive_avg_pool2d.hpp"
#include "ops/_native_batch_norm_legit.hpp"
#include "ops/_native_batch_norm_legit_no_training.hpp"
#include "ops/adaptive_max_pool2d.hpp"
#include "ops/avg_pool2d.hpp"
#include "ops/constant_pad_nd.hpp"
#include "ops/convolution.hpp"
#include "ops/max_pool2d_with_indices.hpp"
#include "ops/native_group_norm.hpp"
#include "ops/native_layer_norm.hpp"
#include "ops/replication_pad1d.hpp"
#include "ops/replication_pad2d.hpp"
#include "ops/replication_pad3d.hpp"
#include "partitioner_sdk/infer/formulas.hpp"
#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::Dim;
using ir::Dims;
using ir::TensorSpec;

// Item `i` of a list that has one number per dimension or one for all; `absent` where the list has none.
int64_t item(const Call& call, const Dims& list, size_t i, int64_t absent) {
  const Dim value = ops::item_of(list, i).value_or(Dim(absent));
  if (!value.is_static())
    call.fail("a kernel size, stride, padding or dilation is known only at run time, expected constants");
  return value.is_static() ? value.value() : 1;
}

// Reports the failure of a size rule as the error of the call.
void check(const Call& call, ops::WindowError error, const ops::Window& window) {
  if (error == ops::WindowError::kStride)
    call.fail("stride " + std::to_string(window.stride) + ", expected at least 1");
  if (error == ops::WindowError::kDoesNotFit)
    call.fail("a window of " + std::to_string(window.kernel) + " does not fit into its padded input");
}

Specs convolution(const ops::convolution_default<Call>& call) {
  const TensorSpec &in = call.input().spec(), &weight = call.weight().spec();
  if (in.rank() < 3 || weight.rank() != in.rank()) {
    call.fail("input of rank " + std::to_string(in.rank()) + " with a weight of rank " +
              std::to_string(weight.rank()) + ", expected equal ranks of at least 3");
    return {in};
  }
  Formulas formulas(call.symbols());
  const Dims stride = call.stride().dims(), padding = call.padding().dims(),
             dilation = call.dilation().dims(), output_padding = call.output_padding().dims();
  const bool is_transposed = call.transposed();
  const Dim channels = ops::convolution_channels(formulas, weight.sizes[0], weight.sizes[1], is_transposed,
                                                 is_transposed ? call.groups().dim() : Dim(1));
  TensorSpec out{in.dtype, {in.sizes[0], channels}, {}};
  for (size_t i = 0; i + 2 < in.rank(); ++i) {
    if (!weight.sizes[i + 2].is_static())
      call.fail("the kernel sizes of the weight are known only at run time, expected constants");
    ops::Window window{weight.sizes[i + 2].value(), item(call, stride, i, 1), item(call, dilation, i, 1)};
    window.set_padding(item(call, padding, i, 0));
    Dim size = 1;
    check(
        call,
        is_transposed
            ? ops::transposed_size(formulas, in.sizes[i + 2], window, item(call, output_padding, i, 0), &size)
            : ops::count_positions(formulas, in.sizes[i + 2], window, ops::WindowRounding::kDown, &size),
        window);
    out.sizes.push_back(size);
  }
  return {out};
}

// Pools over the last two dimensions.
template <class C>
TensorSpec pool2d(const C& call, const Dims& dilation) {
  TensorSpec out = call.self().spec();
  out.strides.clear();
  if (out.rank() < 3) {
    call.fail("input of rank " + std::to_string(out.rank()) + ", expected at least 3");
    return out;
  }
  const Dims kernel = call.kernel_size().dims(), padding = call.padding().dims();
  const Dims stride = call.stride().dims().empty() ? kernel : call.stride().dims();
  const ops::WindowRounding rounding =
      call.ceil_mode() ? ops::WindowRounding::kUp : ops::WindowRounding::kDown;
  Formulas formulas(call.symbols());
  for (size_t i = 0; i < 2; ++i) {
    Dim& size = out.sizes[out.rank() - 2 + i];
    ops::Window window{item(call, kernel, i, 1), item(call, stride, i, 1), item(call, dilation, i, 1)};
    window.set_padding(item(call, padding, i, 0));
    check(call, ops::count_positions(formulas, size, window, rounding, &size), window);
  }
  return out;
}
Specs avg_pool2d(const ops::avg_pool2d_default<Call>& call) { return {pool2d(call, Dims{})}; }
Specs max_pool2d_with_indices(const ops::max_pool2d_with_indices_default<Call>& call) {
  return Specs(2, pool2d(call, call.dilation().dims()));
}
template <class A>
Specs adaptive_pool2d(const A& call) {
  TensorSpec out = call.self().spec();
  const Dims sizes = call.output_size().dims();
  if (out.rank() < 3 || sizes.size() != 2) {
    call.fail("input of rank " + std::to_string(out.rank()) + " with " + std::to_string(sizes.size()) +
              " output sizes, expected a rank of at least 3 and 2 sizes");
    return {out};
  }
  out.sizes[out.rank() - 2] = sizes[0];
  out.sizes[out.rank() - 1] = sizes[1];
  return {out};
}
Specs adaptive_max_pool2d(const ops::adaptive_max_pool2d_default<Call>& call) {
  return Specs(2, adaptive_pool2d(call).at(0));
}
Specs padded(const Call& call, TensorSpec out, const Dims& pad) {
  if (pad.size() % 2 != 0 || pad.size() / 2 > out.rank()) {
    call.fail(std::to_string(pad.size()) + " padding numbers for a tensor of rank " +
              std::to_string(out.rank()) + ", expected two for each of at most that many dimensions");
    return {out};
  }
  Formulas formulas(call.symbols());
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    Dim& size = out.sizes[out.rank() - 1 - i];
    size = ops::padded_size(formulas, size, pad[2 * i], pad[2 * i + 1]);
  }
  return {out};
}

Specs constant_pad(const ops::constant_pad_nd_default<Call>& call) {
  return padded(call, call.self().spec(), call.pad().dims());
}
template <class C>
Specs replication_pad(const C& call) {
  return padded(call, call.self().spec(), call.padding().dims());
}

// ---- Normalisation: the result, and statistics that inference does not use.

Specs batch_norm_inference(const ops::_native_batch_norm_legit_no_training_default<Call>& call) {
  const TensorSpec& in = call.input().spec();
  const TensorSpec empty{in.dtype, {0}, {}};
  return {in, empty, empty};
}
Specs batch_norm_without_stats(const ops::_native_batch_norm_legit_no_stats<Call>& call) {
  const TensorSpec& in = call.input().spec();
  const TensorSpec channel{in.dtype, {in.rank() > 1 ? in.sizes[1] : Dim(1)}, {}};
  return {in, channel, channel};
}
Specs layer_norm(const ops::native_layer_norm_default<Call>& call) {
  const TensorSpec& in = call.input().spec();
  TensorSpec statistics = in;
  const size_t count = std::min(call.normalized_shape().dims().size(), in.rank());
  for (size_t i = in.rank() - count; i < in.rank(); ++i) statistics.sizes[i] = 1;
  return {in, statistics, statistics};
}
Specs group_norm(const ops::native_group_norm_default<Call>& call) {
  const TensorSpec& in = call.input().spec();
  const TensorSpec statistics{in.dtype, {call.N().dim(), call.group().dim()}, {}};
  return {in, statistics, statistics};
}

constexpr ResultLayout kDense = ResultLayout::kContiguous, kFirst = ResultLayout::kLikeFirst;

constexpr Rule kRows[] = {
    row<ops::_adaptive_avg_pool2d_default, adaptive_pool2d<ops::_adaptive_avg_pool2d_default<Call>>>(kFirst),
    row<ops::_native_batch_norm_legit_no_stats, batch_norm_without_stats>(kFirst),
    row<ops::_native_batch_norm_legit_no_training_default, batch_norm_inference>(kFirst),
    row<ops::adaptive_max_pool2d_default, adaptive_max_pool2d>(kFirst),
    row<ops::avg_pool2d_default, avg_pool2d>(kFirst),
    row<ops::constant_pad_nd_default, constant_pad>(kFirst),
    row<ops::convolution_default, convolution>(kFirst),
    row<ops::max_pool2d_with_indices_default, max_pool2d_with_indices>(kFirst),
    row<ops::native_group_norm_default, group_norm>(kDense),
    row<ops::native_layer_norm_default, layer_norm>(kDense),
    row<ops::replication_pad1d_default, replication_pad>(kFirst),
    row<ops::replication_pad2d_default, replication_pad>(kFirst),
    row<ops::replication_pad3d_default, replication_pad>(kFirst),
};

}  // namespace

std::span<const Rule> window_rules() { return kRows; }

}  // namespace etb::infer
