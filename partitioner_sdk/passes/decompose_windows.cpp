// SPDX-License-Identifier: Apache-2.0
// Convolutions, pools, padding and normalisation.
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// `args` are those of aten.convolution behind the input; an image without a batch gets one for as long.
Values call_convolution(Builder& b, const Arguments& a, ValueId x, std::vector<ir::Argument> args) {
  const bool has_batch = a.tensor(0).rank() >= a.tensor(1).rank();
  if (!has_batch) x = b.call("aten.unsqueeze.default", {ValueRef{x}, Dim(0)});
  args.insert(args.begin(), ValueRef{x});
  const ValueId out = b.call("aten.convolution.default", std::move(args));
  if (has_batch) return {out};
  return {b.call("aten.squeeze.dims", {ValueRef{out}, Dims{Dim(0)}})};
}

Values convolution(Builder& b, const Arguments& a) {
  const size_t spatial = a.tensor(1).rank() - 2;
  return call_convolution(b, a, a.value(0),
                          {a.argument(1), a.argument(2), a.argument(3), a.argument(4), a.argument(5), false,
                           Dims(spatial, Dim(0)), a.argument(6)});
}

// Padding by name: "valid" is none, "same" keeps the size; an odd rest goes to the right, as in PyTorch.
Values convolution_with_named_padding(Builder& b, const Arguments& a) {
  const TensorSpec weight = a.tensor(1);
  const auto* name = ir::get_if<std::string>(a.argument(4));
  const size_t spatial = weight.rank() - 2;
  Dims padding(spatial, Dim(0));
  const Dims dilation = a.dims(5);
  ValueId x = a.value(0);
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
  return call_convolution(b, a, x,
                          {a.argument(1), a.argument(2), a.argument(3), std::move(padding), a.argument(5),
                           false, Dims(spatial, Dim(0)), a.argument(6)});
}

// input, weight, bias, stride, padding, output_padding, groups, dilation
Values transposed_convolution(Builder& b, const Arguments& a) {
  return call_convolution(b, a, a.value(0),
                          {a.argument(1), a.argument(2), a.argument(3), a.argument(4), a.argument(7), true,
                           a.argument(5), a.argument(6)});
}

// input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
Values batch_norm(Builder& b, const Arguments& a) {
  // Weights that are standardised in every run have no statistics to keep.
  if (a.flag(5) && !a.has(3) && !a.has(4)) {
    return {b.call("aten._native_batch_norm_legit.no_stats",
                   {a.argument(0), a.argument(1), a.argument(2), true, a.argument(6), a.argument(7)})};
  }
  if (a.flag(5)) {
    a.fail("training mode; export the model after .eval()");
    return {};
  }
  return {b.call("aten._native_batch_norm_legit_no_training.default",
                 {a.argument(0), a.argument(1), a.argument(2), a.argument(3), a.argument(4), a.argument(6),
                  a.argument(7)})};
}

// input, normalized_shape, weight, bias, eps, cudnn_enable
Values layer_norm(Builder& b, const Arguments& a) {
  return {b.call("aten.native_layer_norm.default",
                 {a.argument(0), a.argument(1), a.argument(2), a.argument(3), a.argument(4)})};
}

// input, num_groups, weight, bias, eps, cudnn_enabled
Values group_norm(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  if (in.rank() < 2) return {};
  Dim pixels = 1;
  for (size_t i = 2; i < in.rank(); ++i) pixels = b.symbols().mul(pixels, in.sizes[i]);
  const ValueId x = contiguous(b, a.value(0));
  return {b.call("aten.native_group_norm.default", {ValueRef{x}, a.argument(2), a.argument(3), in.sizes[0],
                                                    in.sizes[1], pixels, a.argument(1), a.argument(4)})};
}

// input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled: each image and channel is
// one channel of a batch norm.
Values instance_norm(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  if (in.rank() < 2 || !a.flag(5) || a.has(3)) {
    a.fail("running statistics");
    return {};
  }
  Dims sizes = in.sizes;
  sizes[1] = b.symbols().mul(in.sizes[0], in.sizes[1]);
  sizes[0] = 1;
  const auto repeated = [&](size_t index) -> Argument {
    if (!a.has(index)) return Nothing{};
    return ValueRef{b.call("aten.repeat.default", {a.ref(index), Dims{in.sizes[0]}})};
  };
  const Argument weight = repeated(1), bias = repeated(2);
  const ValueId flat = reshape(b, contiguous(b, a.value(0)), std::move(sizes));
  const ValueId out = b.call("aten._native_batch_norm_legit.no_stats",
                             {ValueRef{flat}, weight, bias, true, a.argument(6), a.argument(7)});
  return {b.call("aten.view.default", {ValueRef{out}, Argument(in.sizes)})};
}

// input, normalized_shape, weight, eps
Values rms_norm(Builder& b, const Arguments& a) {
  const ValueId x = a.value(0);
  const TensorSpec in = b.spec(x);
  Dims dims;
  for (size_t i = a.dims(1).size(); i-- > 0;) dims.emplace_back(static_cast<int64_t>(in.rank() - 1 - i));
  // Without eps the smallest step of the dtype counts: 2^-23 for float32.
  const Argument eps = a.has(3) ? a.argument(3) : Argument(0x1p-23);
  if (!a.has(3) && in.dtype != Dtype::FLOAT32) {
    a.fail("no eps for this dtype");
    return {};
  }
  const ValueId square = b.call("aten.pow.Tensor_Scalar", {ValueRef{x}, Dim(2)});
  const ValueId mean = b.call("aten.mean.dim", {ValueRef{square}, std::move(dims), true});
  const ValueId shifted = b.call("aten.add.Scalar", {ValueRef{mean}, eps});
  const ValueId scale = b.call("aten.rsqrt.default", {ValueRef{shifted}});
  const ValueId out = b.call("aten.mul.Tensor", {ValueRef{x}, ValueRef{scale}});
  return {a.has(2) ? b.call("aten.mul.Tensor", {ValueRef{out}, a.ref(2)}) : out};
}

Values max_pool2d(Builder& b, const Arguments& a) {
  return {b.call("aten.max_pool2d_with_indices.default",
                 {a.argument(0), a.argument(1), a.argument(2), a.argument(3), a.argument(4), a.argument(5)})};
}

Values adaptive_avg_pool2d(Builder& b, const Arguments& a) {
  const Dims sizes = a.dims(1);
  if (sizes.size() == 2 && sizes[0].is(1) && sizes[1].is(1)) {
    return {b.call("aten.mean.dim", {a.ref(0), Dims{-1, -2}, true})};
  }
  return {b.call("aten._adaptive_avg_pool2d.default", {a.ref(0), Argument(sizes)})};
}

Values adaptive_avg_pool1d(Builder& b, const Arguments& a) {
  const Dims sizes = a.dims(1);
  const ValueId image = b.call("aten.unsqueeze.default", {a.ref(0), Dim(-2)});
  const ValueId out =
      b.call("aten.adaptive_avg_pool2d.default", {ValueRef{image}, Dims{Dim(1), sizes.at(0)}});
  return {b.call("aten.squeeze.dims", {ValueRef{out}, Dims{-2}})};
}

// A pool or resampling over one dimension is one over two, the first of size 1.
ValueId as_image(Builder& b, const Arguments& a) {
  return b.call("aten.unsqueeze.default", {a.ref(0), Dim(-2)});
}
Values from_image(Builder& b, const Values& images) {
  Values out;
  for (const ValueId image : images) {
    out.push_back(b.call("aten.squeeze.dims", {ValueRef{image}, Dims{-2}}));
  }
  return out;
}
Argument with_row(const Arguments& a, size_t index, int64_t row) {
  const Dims own = a.dims(index);
  if (own.empty()) return Dims{};
  return Dims{Dim(row), own[0]};
}
// self, kernel, stride, padding, ceil_mode, count_include_pad
Values avg_pool1d(Builder& b, const Arguments& a) {
  return from_image(
      b, {b.call("aten.avg_pool2d.default", {ValueRef{as_image(b, a)}, with_row(a, 1, 1), with_row(a, 2, 1),
                                             with_row(a, 3, 0), a.argument(4), a.argument(5)})});
}
// self, kernel, stride, padding, dilation, ceil_mode
Values max_pool1d(Builder& b, const Arguments& a) {
  return from_image(b, b.call_all("aten.max_pool2d_with_indices.default",
                                  {ValueRef{as_image(b, a)}, with_row(a, 1, 1), with_row(a, 2, 1),
                                   with_row(a, 3, 0), with_row(a, 4, 1), a.argument(5)}));
}
// input, output_size, [align_corners,] scale_factors
Values resample_line(Builder& b, const Arguments& a, std::string_view op, bool has_corners) {
  const size_t scales = has_corners ? 3 : 2;
  Argument factors = Nothing{};
  if (const auto* list = a.has(scales) ? ir::get_if<ir::FloatList>(a.argument(scales)) : nullptr) {
    factors = ir::FloatList{1.0, list->at(0)};
  }
  std::vector<Argument> args = {ValueRef{as_image(b, a)}, a.has(1) ? with_row(a, 1, 1) : Argument(Nothing{})};
  if (has_corners) args.push_back(a.argument(2));
  args.push_back(std::move(factors));
  return from_image(b, {b.call(op, std::move(args))});
}
Values upsample_nearest1d(Builder& b, const Arguments& a) {
  return resample_line(b, a, "aten.upsample_nearest2d.vec", false);
}
Values upsample_linear1d(Builder& b, const Arguments& a) {
  return resample_line(b, a, "aten.upsample_bilinear2d.vec", true);
}

// Reflection is a gather: index i of the padded line is |..| folded at both ends. One step a dimension, outermost first.
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
Values reflection_pad(Builder& b, const Arguments& a) {
  if (a.dims(1).size() / 2 > a.tensor(0).rank()) return {};
  return {reflected(b, a.value(0), a.dims(1))};
}

// The end in front of the beginning and the beginning behind the end, one dimension after the other.
ValueId circular(Builder& b, const Arguments& a, size_t count) {
  ValueId x = a.value(0);
  const Dims pad = a.dims(1);
  ir::SymbolTable& symbols = b.symbols();
  for (size_t i = 0; i < count; ++i) {
    const TensorSpec in = b.spec(x);
    const size_t axis = in.rank() - 1 - i;
    const Dim dim = static_cast<int64_t>(axis), size = in.sizes[axis];
    ir::ValueList parts;
    if (!pad[2 * i].is(0)) {
      parts.ids.push_back(
          b.call("aten.slice.Tensor", {ValueRef{x}, dim, symbols.sub(size, pad[2 * i]), size}));
    }
    parts.ids.push_back(x);
    if (!pad[2 * i + 1].is(0)) {
      parts.ids.push_back(b.call("aten.slice.Tensor", {ValueRef{x}, dim, Dim(0), pad[2 * i + 1]}));
    }
    if (parts.ids.size() > 1) x = b.call("aten.cat.default", {std::move(parts), dim});
  }
  return x;
}

Values pad(Builder& b, const Arguments& a) {
  const auto* mode = ir::get_if<std::string>(a.argument(2));
  if (mode == nullptr || a.dims(1).size() / 2 > a.tensor(0).rank()) return {};
  if (*mode == "constant") {
    const Argument value = a.has(3) ? a.argument(3) : Argument(0.0);
    return {b.call("aten.constant_pad_nd.default", {a.argument(0), a.argument(1), value})};
  }
  if (*mode == "reflect") return {reflected(b, a.value(0), a.dims(1))};
  const size_t count = a.dims(1).size() / 2;
  if (*mode == "replicate" && count >= 1 && count <= 3) {
    return {b.call("aten.replication_pad" + std::to_string(count) + "d.default", {a.ref(0), a.argument(1)})};
  }
  if (*mode == "circular") return {circular(b, a, count)};
  a.fail("padding mode '" + *mode + "'");
  return {};
}

// A mode that only training has an effect in.
Values dropout(Builder& b, const Arguments& a) {
  if (a.flag(2)) {
    a.fail("training mode; export the model after .eval()");
    return {};
  }
  return {b.call("aten.clone.default", {a.ref(0)})};
}

}  // namespace

std::span<const Decomposition> window_decompositions() {
  static constexpr Decomposition kRows[] = {
      {"aten.adaptive_avg_pool1d.default", adaptive_avg_pool1d},
      {"aten.adaptive_avg_pool2d.default", adaptive_avg_pool2d},
      {"aten.avg_pool1d.default", avg_pool1d},
      {"aten.batch_norm.default", batch_norm},
      {"aten.conv1d.default", convolution},
      {"aten.conv1d.padding", convolution_with_named_padding},
      {"aten.conv2d.default", convolution},
      {"aten.conv2d.padding", convolution_with_named_padding},
      {"aten.conv3d.default", convolution},
      {"aten.conv3d.padding", convolution_with_named_padding},
      {"aten.conv_transpose1d.default", transposed_convolution},
      {"aten.conv_transpose2d.input", transposed_convolution},
      {"aten.conv_transpose3d.input", transposed_convolution},
      {"aten.dropout.default", dropout},
      {"aten.group_norm.default", group_norm},
      {"aten.instance_norm.default", instance_norm},
      {"aten.layer_norm.default", layer_norm},
      {"aten.max_pool1d.default", max_pool1d},
      {"aten.max_pool1d_with_indices.default", max_pool1d},
      {"aten.max_pool2d.default", max_pool2d},
      {"aten.pad.default", pad},
      {"aten.reflection_pad1d.default", reflection_pad},
      {"aten.reflection_pad2d.default", reflection_pad},
      {"aten.rms_norm.default", rms_norm},
      {"aten.upsample_linear1d.vec", upsample_linear1d},
      {"aten.upsample_nearest1d.vec", upsample_nearest1d},
  };
  return kRows;
}

}  // namespace etb::passes
