// Windows over images, and normalisation.
#include <algorithm>
#include <array>

#include "api/ops/sizes/view.hpp"
#include "api/ops/sizes/window.hpp"
#include "partitioner_sdk/infer/formulas.hpp"
#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::Dim;
using ir::Dims;
using ir::Dtype;
using ir::TensorSpec;

// Item `i` of a list with one number a dimension or one for all; `absent` where the list has none.
int64_t item(const Call& call, const Dims& list, size_t i, int64_t absent) {
  const Dim value = ops::item_of(list, i).value_or(Dim(absent));
  if (!value.is_static()) call.fail("window, stride, padding or dilation that is known only at run time");
  return value.is_static() ? value.value() : 1;
}

// Turns the reason of a size rule into the error of the call.
void check(const Call& call, ops::WindowError error, const ops::Window& window) {
  if (error == ops::WindowError::kStride) call.fail("stride below 1");
  if (error == ops::WindowError::kDoesNotFit)
    call.fail("window of " + std::to_string(window.kernel) + " does not fit into its padded input");
}

Specs convolution(const Call& call) {
  const TensorSpec &in = call.tensor(0), &weight = call.tensor(1);
  if (in.rank() < 3 || weight.rank() != in.rank()) {
    call.fail("convolution of rank " + std::to_string(in.rank()) + " with a weight of rank " +
              std::to_string(weight.rank()));
    return {in};
  }
  Formulas formulas(call.symbols());
  const Dims stride = call.dims(3), padding = call.dims(4), dilation = call.dims(5),
             output_padding = call.dims(7);
  const bool is_transposed = call.flag(6);
  const Dim channels = ops::convolution_channels(formulas, weight.sizes[0], weight.sizes[1], is_transposed,
                                                 is_transposed ? call.dim(8) : Dim(1));
  TensorSpec out{in.dtype, {in.sizes[0], channels}, {}};
  for (size_t i = 0; i + 2 < in.rank(); ++i) {
    if (!weight.sizes[i + 2].is_static()) call.fail("kernel sizes that are known only at run time");
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
  const Dims dilation = has_dilation ? call.dims(4) : Dims{};
  const ops::WindowRounding rounding =
      call.flag(has_dilation ? 5 : 4) ? ops::WindowRounding::kUp : ops::WindowRounding::kDown;
  Formulas formulas(call.symbols());
  for (size_t i = 0; i < 2; ++i) {
    Dim& size = out.sizes[out.rank() - 2 + i];
    ops::Window window{item(call, kernel, i, 1), item(call, stride, i, 1), item(call, dilation, i, 1)};
    window.set_padding(item(call, padding, i, 0));
    check(call, ops::count_positions(formulas, size, window, rounding, &size), window);
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
  Formulas formulas(call.symbols());
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    Dim& size = out.sizes[out.rank() - 1 - i];
    size = ops::padded_size(formulas, size, pad[2 * i], pad[2 * i + 1]);
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
