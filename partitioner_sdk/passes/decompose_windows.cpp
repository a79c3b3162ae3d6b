// SPDX-License-Identifier: Apache-2.0
// Convolutions, pools, padding and normalisation.
#include "ops/_batch_norm_with_update_functional.hpp"
#include "ops/_native_batch_norm_legit_functional.hpp"
#include "ops/adaptive_avg_pool1d.hpp"
#include "ops/adaptive_avg_pool2d.hpp"
#include "ops/avg_pool1d.hpp"
#include "ops/batch_norm.hpp"
#include "ops/conv1d.hpp"
#include "ops/conv2d.hpp"
#include "ops/conv3d.hpp"
#include "ops/conv_transpose1d.hpp"
#include "ops/conv_transpose2d.hpp"
#include "ops/conv_transpose3d.hpp"
#include "ops/group_norm.hpp"
#include "ops/instance_norm.hpp"
#include "ops/layer_norm.hpp"
#include "ops/max_pool1d.hpp"
#include "ops/max_pool1d_with_indices.hpp"
#include "ops/max_pool2d.hpp"
#include "ops/native_batch_norm.hpp"
#include "ops/pad.hpp"
#include "ops/reflection_pad1d.hpp"
#include "ops/reflection_pad2d.hpp"
#include "ops/rms_norm.hpp"
#include "ops/upsample_linear1d.hpp"
#include "ops/upsample_nearest1d.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"
#include "partitioner_sdk/passes/running_statistics.hpp"

namespace etb::passes {

namespace {

// `args` are the arguments of aten.convolution after the input. An image without a batch gets a batch of 1
// for the call.
Values call_convolution(Builder& b, const TensorSpec& input, const TensorSpec& weight, ValueId x,
                        std::vector<ir::Argument> args) {
  const bool has_batch = input.rank() >= weight.rank();
  if (!has_batch) x = b.call("aten.unsqueeze.default", {ValueRef{x}, Dim(0)});
  args.insert(args.begin(), ValueRef{x});
  const ValueId out = b.call("aten.convolution.default", std::move(args));
  if (has_batch) return {out};
  return {b.call("aten.squeeze.dims", {ValueRef{out}, Dims{Dim(0)}})};
}

template <class A>
Values convolution(Builder& b, const A& a) {
  const size_t spatial = a.weight().spec().rank() - 2;
  return call_convolution(b, a.input().spec(), a.weight().spec(), a.input(),
                          {a.weight(), a.bias(), a.stride(), a.padding(), a.dilation(), false,
                           Dims(spatial, Dim(0)), a.groups()});
}

// Padding by name: "valid" adds none, "same" keeps the size. An odd remainder goes to the right, as in
// PyTorch.
template <class A>
Values convolution_with_named_padding(Builder& b, const A& a) {
  const TensorSpec weight = a.weight().spec();
  const auto* name = ir::get_if<std::string>(a.padding());
  const size_t spatial = weight.rank() - 2;
  Dims padding(spatial, Dim(0));
  const Dims dilation = a.dilation().dims();
  ValueId x = a.input();
  if (name != nullptr && *name == "same") {
    Dims rest;
    bool has_rest = false;
    for (size_t i = 0; i < spatial; ++i) {
      const Dim spread = dilation.size() == 1 ? dilation[0] : dilation[i];
      if (!weight.sizes[i + 2].is_static() || !spread.is_static()) return {};
      const int64_t total = spread.value() * (weight.sizes[i + 2].value() - 1);
      padding[i] = total / 2;
      has_rest |= total % 2 != 0;
      rest.insert(rest.begin(), {Dim(0), Dim(total % 2)});
    }
    if (has_rest) x = b.call("aten.constant_pad_nd.default", {ValueRef{x}, std::move(rest), Dim(0)});
  }
  return call_convolution(b, a.input().spec(), a.weight().spec(), x,
                          {a.weight(), a.bias(), a.stride(), std::move(padding), a.dilation(), false,
                           Dims(spatial, Dim(0)), a.groups()});
}

template <class A>
Values transposed_convolution(Builder& b, const A& a) {
  return call_convolution(
      b, a.input().spec(), a.weight().spec(), a.input(),
      {a.weight(), a.bias(), a.stride(), a.padding(), a.dilation(), true, a.output_padding(), a.groups()});
}

Values batch_norm(Builder& b, const ops::batch_norm_default<Call>& a) {
  if (ir::numel(b.symbols(), a.input().spec().sizes).is(0))
    return {b.call("aten.clone.default", {a.input()})};
  if (a.training() && a.running_mean().has_value() != a.running_var().has_value()) {
    a.fail("one of running_mean and running_var is none, expected both or neither");
    return {};
  }
  // functionalize() has stored new running statistics, if there are any.
  if (a.training()) {
    return {b.call("aten._native_batch_norm_legit.no_stats",
                   {a.input(), a.weight(), a.bias(), true, a.momentum(), a.eps()})};
  }
  return {
      b.call("aten._native_batch_norm_legit_no_training.default",
             {a.input(), a.weight(), a.bias(), a.running_mean(), a.running_var(), a.momentum(), a.eps()})};
}

// Normalisation by running statistics needs both.
template <class A>
bool has_running_statistics(const A& a) {
  if (a.running_mean().has_value() && a.running_var().has_value()) return true;
  a.fail("running_mean or running_var is none, but the call normalises by running statistics");
  return false;
}

Values native_batch_norm(Builder& b, const ops::native_batch_norm_default<Call>& a) {
  if (a.training())
    return b.call_all("aten._native_batch_norm_legit.no_stats",
                      {a.input(), a.weight(), a.bias(), true, a.momentum(), a.eps()});
  if (!has_running_statistics(a)) return {};
  return b.call_all(
      "aten._native_batch_norm_legit_no_training.default",
      {a.input(), a.weight(), a.bias(), a.running_mean(), a.running_var(), a.momentum(), a.eps()});
}

// Mean and variance of a batch norm in training, and the statistics that they change.
template <class A>
Values trained_batch_norm(Builder& b, const A& a) {
  Values out = b.call_all("aten._native_batch_norm_legit.no_stats",
                          {a.input(), a.weight(), a.bias(), true, a.momentum(), a.eps()});
  const RunningStatistics now = updated_statistics(b, a.input(), NormGroups::kChannels, a.momentum().number(),
                                                   {a.running_mean(), a.running_var()});
  out.push_back(now.mean);
  out.push_back(now.variance);
  return out;
}

Values batch_norm_functional(Builder& b, const ops::_native_batch_norm_legit_functional_default<Call>& a) {
  if (a.training()) return trained_batch_norm(b, a);
  Values out =
      b.call_all("aten._native_batch_norm_legit_no_training.default",
                 {a.input(), a.weight(), a.bias(), a.running_mean(), a.running_var(), a.momentum(), a.eps()});
  out.push_back(a.running_mean());
  out.push_back(a.running_var());
  return out;
}
// The fourth result is memory that only CUDA uses.
Values batch_norm_with_update(Builder& b, const ops::_batch_norm_with_update_functional_default<Call>& a) {
  Values out = trained_batch_norm(b, a);
  const ValueId reserve = b.call("aten.full.default", {Dims{Dim(0)}, Dim(0)}, {{"dtype", Dtype::UINT8}});
  out.insert(out.begin() + 3, reserve);
  return out;
}

Values layer_norm(Builder& b, const ops::layer_norm_default<Call>& a) {
  return {b.call("aten.native_layer_norm.default",
                 {a.input(), a.normalized_shape(), a.weight(), a.bias(), a.eps()})};
}

Values group_norm(Builder& b, const ops::group_norm_default<Call>& a) {
  const TensorSpec in = a.input().spec();
  if (in.rank() < 2) return {};
  Dim pixels = 1;
  for (size_t i = 2; i < in.rank(); ++i) pixels = b.symbols().mul(pixels, in.sizes[i]);
  const ValueId x = contiguous(b, a.input());
  return {b.call("aten.native_group_norm.default", {ValueRef{x}, a.weight(), a.bias(), in.sizes[0],
                                                    in.sizes[1], pixels, a.num_groups(), a.eps()})};
}

// Each channel of each image becomes one channel of a batch norm.
Values instance_norm(Builder& b, const ops::instance_norm_default<Call>& a) {
  const TensorSpec in = a.input().spec();
  if (in.rank() < 2) {
    a.fail("input of rank " + std::to_string(in.rank()) + ", expected at least 2");
    return {};
  }
  if (!a.use_input_stats()) {
    if (!has_running_statistics(a)) return {};
    return {
        b.call("aten._native_batch_norm_legit_no_training.default",
               {a.input(), a.weight(), a.bias(), a.running_mean(), a.running_var(), a.momentum(), a.eps()})};
  }
  Dims sizes = in.sizes;
  sizes[1] = b.symbols().mul(in.sizes[0], in.sizes[1]);
  sizes[0] = 1;
  const auto repeated = [&](const infer::TensorArgument& parameter) -> Argument {
    if (!parameter.has_value()) return Nothing{};
    return ValueRef{b.call("aten.repeat.default", {parameter, Dims{in.sizes[0]}})};
  };
  const Argument weight = repeated(a.weight()), bias = repeated(a.bias());
  const ValueId flat = reshape(b, contiguous(b, a.input()), std::move(sizes));
  const ValueId out = b.call("aten._native_batch_norm_legit.no_stats",
                             {ValueRef{flat}, weight, bias, true, a.momentum(), a.eps()});
  return {b.call("aten.view.default", {ValueRef{out}, Argument(in.sizes)})};
}

Values rms_norm(Builder& b, const ops::rms_norm_default<Call>& a) {
  const TensorSpec in = a.input().spec();
  // PyTorch computes in float32, because the square of a float16 overflows early. eps is by default the smallest
  // step of the dtype that it computes in.
  const bool is_double = ops::real_part(in.dtype) == Dtype::FLOAT64;
  const Dtype wide = ops::is_complex(in.dtype) ? in.dtype : is_double ? Dtype::FLOAT64 : Dtype::FLOAT32;
  const ValueId x = to_dtype(b, a.input(), wide);
  Dims dims;
  for (size_t i = a.normalized_shape().dims().size(); i-- > 0;)
    dims.emplace_back(static_cast<int64_t>(in.rank() - 1 - i));
  const Argument eps = a.eps().has_value() ? a.eps() : Argument(is_double ? 0x1p-52 : 0x1p-23);
  const ValueId square = b.call("aten.pow.Tensor_Scalar", {ValueRef{x}, Dim(2)});
  const ValueId mean = b.call("aten.mean.dim", {ValueRef{square}, std::move(dims), true});
  const ValueId shifted = b.call("aten.add.Scalar", {ValueRef{mean}, eps});
  const ValueId scale = b.call("aten.rsqrt.default", {ValueRef{shifted}});
  ValueId out = b.call("aten.mul.Tensor", {ValueRef{x}, ValueRef{scale}});
  if (a.weight().has_value()) out = b.call("aten.mul.Tensor", {ValueRef{out}, a.weight()});
  return {to_dtype(b, out, in.dtype)};
}

Values max_pool2d(Builder& b, const ops::max_pool2d_default<Call>& a) {
  return {b.call("aten.max_pool2d_with_indices.default",
                 {a.self(), a.kernel_size(), a.stride(), a.padding(), a.dilation(), a.ceil_mode()})};
}

Values adaptive_avg_pool2d(Builder& b, const ops::adaptive_avg_pool2d_default<Call>& a) {
  const Dims sizes = a.output_size().dims();
  if (sizes.size() == 2 && sizes[0].is(1) && sizes[1].is(1)) {
    return {b.call("aten.mean.dim", {a.self(), Dims{-1, -2}, true})};
  }
  return {b.call("aten._adaptive_avg_pool2d.default", {a.self(), Argument(sizes)})};
}

Values adaptive_avg_pool1d(Builder& b, const ops::adaptive_avg_pool1d_default<Call>& a) {
  const Dims sizes = a.output_size().dims();
  const ValueId image = b.call("aten.unsqueeze.default", {a.self(), Dim(-2)});
  const ValueId out =
      b.call("aten.adaptive_avg_pool2d.default", {ValueRef{image}, Dims{Dim(1), sizes.at(0)}});
  return {b.call("aten.squeeze.dims", {ValueRef{out}, Dims{-2}})};
}

// A pool or resampling over one dimension becomes one over two, the first of size 1.
ValueId as_image(Builder& b, ValueId line) {
  return b.call("aten.unsqueeze.default", {ValueRef{line}, Dim(-2)});
}
Values from_image(Builder& b, const Values& images) {
  Values out;
  for (const ValueId image : images) {
    out.push_back(b.call("aten.squeeze.dims", {ValueRef{image}, Dims{-2}}));
  }
  return out;
}
Argument with_row(const infer::IntListArgument& line, int64_t row) {
  const Dims own = line.dims();
  if (own.empty()) return Dims{};
  return Dims{Dim(row), own[0]};
}
Values avg_pool1d(Builder& b, const ops::avg_pool1d_default<Call>& a) {
  return from_image(
      b, {b.call("aten.avg_pool2d.default",
                 {ValueRef{as_image(b, a.self())}, with_row(a.kernel_size(), 1), with_row(a.stride(), 1),
                  with_row(a.padding(), 0), a.ceil_mode(), a.count_include_pad()})});
}
template <class A>
Values max_pool1d(Builder& b, const A& a) {
  return from_image(
      b, b.call_all("aten.max_pool2d_with_indices.default",
                    {ValueRef{as_image(b, a.self())}, with_row(a.kernel_size(), 1), with_row(a.stride(), 1),
                     with_row(a.padding(), 0), with_row(a.dilation(), 1), a.ceil_mode()}));
}
template <class A>
Values resample_line(Builder& b, const A& a, std::string_view op, std::vector<Builder::Named> named) {
  if (const ir::FloatList* list = a.scale_factors().find_list())
    named.push_back({"scale_factors", ir::FloatList{1.0, list->at(0)}});
  const Argument sizes = a.output_size().has_value() ? with_row(a.output_size(), 1) : Argument(Nothing{});
  return from_image(b, {b.call(op, {ValueRef{as_image(b, a.input())}, sizes}, std::move(named))});
}
Values upsample_nearest1d(Builder& b, const ops::upsample_nearest1d_vec<Call>& a) {
  return resample_line(b, a, "aten.upsample_nearest2d.vec", {});
}
Values upsample_linear1d(Builder& b, const ops::upsample_linear1d_vec<Call>& a) {
  return resample_line(b, a, "aten.upsample_bilinear2d.vec", {{"align_corners", a.align_corners()}});
}

// Reflection is a gather: index i of the padded line is |..| folded at both ends. One step per dimension,
// outermost first.
ValueId reflected(Builder& b, ValueId x, const Dims& pad) {
  const TensorSpec in = b.spec(x);
  const size_t count = pad.size() / 2;
  for (size_t i = in.rank() - count; i < in.rank(); ++i) {
    const size_t at = 2 * (in.rank() - 1 - i);
    const Dim size = in.sizes[i];
    const Dim last = b.symbols().sub(size, 1);
    const ValueId line =
        b.call("aten.arange.start_step", {b.symbols().mul(pad[at], -1), b.symbols().add(size, pad[at + 1])},
               {{"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}, {"pin_memory", false}});
    const ValueId folded_left = b.call("aten.abs.default", {ValueRef{line}});
    const ValueId from_right = b.call("aten.sub.Tensor", {last, ValueRef{folded_left}});
    const ValueId folded_right = b.call("aten.abs.default", {ValueRef{from_right}});
    const ValueId index = b.call("aten.sub.Tensor", {last, ValueRef{folded_right}});
    ir::ValueList indices{std::vector<ValueId>(in.rank(), ir::kNoValue)};
    indices.ids[i] = index;
    x = b.call("aten.index.Tensor", {ValueRef{x}, std::move(indices)});
  }
  return x;
}
template <class A>
Values reflection_pad(Builder& b, const A& a) {
  if (a.padding().dims().size() / 2 > a.self().spec().rank()) return {};
  return {reflected(b, a.self(), a.padding().dims())};
}

// Prepends the end and appends the beginning, one dimension after the other. A negative number cuts elements off before.
ValueId circular(Builder& b, const ops::pad_default<Call>& a, size_t count) {
  ValueId x = a.self();
  const Dims pad = a.pad().dims();
  ir::SymbolTable& symbols = b.symbols();
  for (size_t i = 0; i < count; ++i) {
    const TensorSpec in = b.spec(x);
    const size_t axis = in.rank() - 1 - i;
    const Dim dim = static_cast<int64_t>(axis);
    const auto slice = [&](Dim begin, Dim end) {
      return b.call("aten.slice.Tensor", {ValueRef{x}, dim, begin, end});
    };
    Dim before = pad[2 * i], after = pad[2 * i + 1];
    const auto is_negative = [](Dim number) { return number.is_static() && number.value() < 0; };
    if (is_negative(before) || is_negative(after)) {
      const Dim begin = is_negative(before) ? Dim(-before.value()) : Dim(0);
      const Dim end = is_negative(after) ? symbols.add(in.sizes[axis], after) : in.sizes[axis];
      x = slice(begin, end);
      if (is_negative(before)) before = 0;
      if (is_negative(after)) after = 0;
    }
    const Dim size = b.spec(x).sizes[axis];
    ir::ValueList parts;
    if (!before.is(0)) parts.ids.push_back(slice(symbols.sub(size, before), size));
    parts.ids.push_back(x);
    if (!after.is(0)) parts.ids.push_back(slice(Dim(0), after));
    if (parts.ids.size() > 1) x = b.call("aten.cat.default", {std::move(parts), dim});
  }
  return x;
}

Values pad(Builder& b, const ops::pad_default<Call>& a) {
  const auto* mode = ir::get_if<std::string>(a.mode());
  if (mode == nullptr || a.pad().dims().size() / 2 > a.self().spec().rank()) return {};
  if (*mode == "constant") {
    const Argument value = a.value().has_value() ? a.value() : Argument(0.0);
    return {b.call("aten.constant_pad_nd.default", {a.self(), a.pad(), value})};
  }
  if (*mode == "reflect") return {reflected(b, a.self(), a.pad().dims())};
  const size_t count = a.pad().dims().size() / 2;
  if (*mode == "replicate" && count >= 1 && count <= 3) {
    return {b.call("aten.replication_pad" + std::to_string(count) + "d.default", {a.self(), a.pad()})};
  }
  if (*mode == "circular") return {circular(b, a, count)};
  a.fail("padding mode '" + *mode + "' is not supported for " + std::to_string(count) + " dimensions");
  return {};
}

}  // namespace

std::span<const Decomposition> window_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_batch_norm_with_update_functional_default, batch_norm_with_update>(),
      row<ops::_native_batch_norm_legit_functional_default, batch_norm_functional>(),
      row<ops::adaptive_avg_pool1d_default, adaptive_avg_pool1d>(),
      row<ops::adaptive_avg_pool2d_default, adaptive_avg_pool2d>(),
      row<ops::avg_pool1d_default, avg_pool1d>(),
      row<ops::batch_norm_default, batch_norm>(),
      row<ops::conv1d_default, convolution>(),
      row<ops::conv1d_padding, convolution_with_named_padding>(),
      row<ops::conv2d_default, convolution>(),
      row<ops::conv2d_padding, convolution_with_named_padding>(),
      row<ops::conv3d_default, convolution>(),
      row<ops::conv3d_padding, convolution_with_named_padding>(),
      row<ops::conv_transpose1d_default, transposed_convolution>(),
      row<ops::conv_transpose2d_input, transposed_convolution>(),
      row<ops::conv_transpose3d_input, transposed_convolution>(),
      row<ops::group_norm_default, group_norm>(),
      row<ops::instance_norm_default, instance_norm>(),
      row<ops::layer_norm_default, layer_norm>(),
      row<ops::max_pool1d_default, max_pool1d>(),
      row<ops::max_pool1d_with_indices_default, max_pool1d>(),
      row<ops::max_pool2d_default, max_pool2d>(),
      row<ops::native_batch_norm_default, native_batch_norm>(),
      row<ops::pad_default, pad>(),
      row<ops::reflection_pad1d_default, reflection_pad>(),
      row<ops::reflection_pad2d_default, reflection_pad>(),
      row<ops::rms_norm_default, rms_norm>(),
      row<ops::upsample_linear1d_vec, upsample_linear1d>(),
      row<ops::upsample_nearest1d_vec, upsample_nearest1d>(),
  };
  return kRows;
}

}  // namespace etb::passes
