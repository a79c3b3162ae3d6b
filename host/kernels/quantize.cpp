// SPDX-License-Identifier: Apache-2.0
// quantized_decomposed: quantize, dequantize and choose_qparams, per tensor, channel and token, and add.
//
// Numbers are computed in float, in double where scales are double, as PyTorch's reference does: x / scale is x times the reciprocal,
// rounded half to even.
#include <cmath>
#include <limits>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/cortex_m/dequantize_per_tensor.hpp"
#include "ops/cortex_m/quantize_per_tensor.hpp"
#include "ops/quantized_decomposed/add.hpp"
#include "ops/quantized_decomposed/choose_qparams.hpp"
#include "ops/quantized_decomposed/choose_qparams_per_token_asymmetric.hpp"
#include "ops/quantized_decomposed/dequantize_per_channel.hpp"
#include "ops/quantized_decomposed/dequantize_per_tensor.hpp"
#include "ops/quantized_decomposed/dequantize_per_token.hpp"
#include "ops/quantized_decomposed/quantize_per_channel.hpp"
#include "ops/quantized_decomposed/quantize_per_tensor.hpp"
#include "ops/quantized_decomposed/quantize_per_token.hpp"

namespace etb::host {
namespace {

// Applies a formula row by row; parameters(row, T*) gives p[0..3].
template <class T, class Parameters>
etb_status map_rows(KernelContext& context, UnaryOp op, const Tensor& input, const DimSet& dims, Tensor& out,
                    Parameters parameters) {
  const VectorTable& table = vector_table(context);
  const ElementLoop loop = table.loops(op)[static_cast<int>(kComputeOf<T>)];
  constexpr int64_t kChunk = 1024;
  alignas(64) T values[kChunk];
  if (out.numel() == 0) return ETB_OK;
  RowWalk from(input, dims), to(out, dims);
  for (int64_t row = 0; row < from.row_count(); ++row, from.advance(), to.advance()) {
    T params[4] = {};
    parameters(row, params);
    if (context.should_stop(1)) return context.stopped();
    for (int64_t begin = 0; begin < from.row_numel(); begin += kChunk) {
      const int64_t count = std::min(kChunk, from.row_numel() - begin);
      if (context.should_stop(count)) return context.stopped();
      from.load(*table.conversions, kComputeOf<T>, values, begin, count);
      const void* in[] = {values};
      loop(values, in, count, params);
      to.store(*table.conversions, kComputeOf<T>, values, begin, count);
    }
  }
  return ETB_OK;
}

// The integers that a quantized element may be.
struct Range {
  int64_t smallest, largest;
};

etb_status check_quantize(KernelContext& context, const Tensor& input, Range range, int64_t dtype,
                          Tensor& out) {
  if (!is_floating(input.dtype()) || !is_integer(out.dtype()) || static_cast<int64_t>(out.dtype()) != dtype) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s, dtype %lld", to_text(input.dtype()),
                        to_text(out.dtype()), static_cast<long long>(dtype));
  }
  if (range.smallest > range.largest) {
    return context.fail(ETB_INVALID_ARGUMENT, "a range from %lld to %lld",
                        static_cast<long long>(range.smallest), static_cast<long long>(range.largest));
  }
  return resize_output(context, out, input.sizes());
}

etb_status quantize_per_tensor(KernelContext& context, const Tensor& input, double scale, double zero_point,
                               Range range, int64_t dtype, Tensor& out) {
  ETB_CHECK(check_quantize(context, input, range, dtype, out));
  LoopParams params;
  params.set(0, 1.0 / scale);
  params.set(1, zero_point);
  params.set(2, range.smallest);
  params.set(3, range.largest);
  const Operand operand(input);
  const ElementLoop* loops = vector_table(context).loops(UnaryOp::quantize);
  return run_elements(context, {loops, Dtype::FLOAT32, out.dtype(), params}, {&operand, 1}, out);
}

etb_status quantize_per_tensor_out(KernelContext& context,
                                   ops::quantized_decomposed::quantize_per_tensor_out<KernelArguments> args) {
  return quantize_per_tensor(context, args.input(), args.scale(), static_cast<double>(args.zero_point()),
                             {args.quant_min(), args.quant_max()}, args.dtype(), args.out());
}

// The first element of a scale or zero point tensor.
etb_status read_one(KernelContext& context, const Tensor& tensor, double* out_value) {
  if (tensor.numel() != 1 || !is_arithmetic(tensor.dtype())) {
    return context.fail(ETB_INVALID_ARGUMENT, "scale and zero point have sizes %s, expected one element",
                        SizesText(tensor.sizes()).text);
  }
  *out_value = load_element<double>(*vector_table(context).conversions, tensor, 0);
  return ETB_OK;
}

etb_status quantize_per_tensor_tensor_out(
    KernelContext& context, ops::quantized_decomposed::quantize_per_tensor_Tensor_out<KernelArguments> args) {
  double scale = 0.0, zero_point = 0.0;
  ETB_CHECK(read_one(context, args.scale(), &scale));
  ETB_CHECK(read_one(context, args.zero_point(), &zero_point));
  return quantize_per_tensor(context, args.input(), scale, std::trunc(zero_point),
                             {args.quant_min(), args.quant_max()}, args.dtype(), args.out());
}

etb_status check_dequantize(KernelContext& context, const Tensor& input, Tensor& out) {
  if (!is_integer(input.dtype()) || !is_floating(out.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s", to_text(input.dtype()), to_text(out.dtype()));
  }
  return resize_output(context, out, input.sizes());
}

etb_status dequantize_per_tensor(KernelContext& context, const Tensor& input, double scale, double zero_point,
                                 Tensor& out) {
  ETB_CHECK(check_dequantize(context, input, out));
  LoopParams params;
  params.set(0, scale);
  params.set(1, zero_point);
  const Operand operand(input);
  const Dtype computed = is_float64(out.dtype()) ? Dtype::FLOAT64 : Dtype::FLOAT32;
  const ElementLoop* loops = vector_table(context).loops(UnaryOp::dequantize);
  return run_elements(context, {loops, computed, out.dtype(), params}, {&operand, 1}, out);
}

etb_status dequantize_per_tensor_out(
    KernelContext& context, ops::quantized_decomposed::dequantize_per_tensor_out<KernelArguments> args) {
  return dequantize_per_tensor(context, args.input(), args.scale(), static_cast<double>(args.zero_point()),
                               args.out());
}

etb_status dequantize_per_tensor_tensor_out(
    KernelContext& context,
    ops::quantized_decomposed::dequantize_per_tensor_Tensor_out<KernelArguments> args) {
  double scale = 0.0, zero_point = 0.0;
  ETB_CHECK(read_one(context, args.scale(), &scale));
  ETB_CHECK(read_one(context, args.zero_point(), &zero_point));
  return dequantize_per_tensor(context, args.input(), scale, zero_point, args.out());
}

etb_status dequantize_per_tensor_cortex_m_out(
    KernelContext& context, ops::cortex_m::dequantize_per_tensor_out<KernelArguments> args) {
  return dequantize_per_tensor(context, args.input(), args.scale(), static_cast<double>(args.zero_point()),
                               args.out());
}

// Scales and zero points of `count` channels or tokens.
struct ScaleReader {
  const ConvertLoops& loops;
  const Tensor& scales;
  const Tensor* zero_points;

  static etb_status check(KernelContext& context, const Tensor& scales, const Tensor* zero_points,
                          int64_t count) {
    const bool fits = scales.numel() == count && (zero_points == nullptr || zero_points->numel() == count);
    const bool is_typed =
        is_floating(scales.dtype()) && (zero_points == nullptr || is_arithmetic(zero_points->dtype()));
    const bool is_dense = scales.is_contiguous() && (zero_points == nullptr || zero_points->is_contiguous());
    if (fits && is_typed && is_dense) return ETB_OK;
    return context.fail(
        ETB_INVALID_ARGUMENT, "scales are %s %s, expected %lld floats with as many zero points",
        to_text(scales.dtype()), SizesText(scales.sizes()).text, static_cast<long long>(count));
  }
  double scale(int64_t index) const { return load_element<double>(loops, scales, index); }
  double zero_point(int64_t index) const {
    return zero_points == nullptr ? 0.0 : load_element<double>(loops, *zero_points, index);
  }
  bool is_double() const { return is_float64(scales.dtype()); }
};

// Rows are what follows the axis; the row's channel is its index along the axis.
etb_status find_axis(KernelContext& context, const Tensor& input, int64_t wanted_axis, int* out_axis,
                     DimSet* out_dims) {
  if (input.rank() == 0)
    return context.fail(ETB_INVALID_ARGUMENT, "the input has rank 0, expected at least 1");
  ETB_CHECK(wrap_dim(context, wanted_axis, input.rank(), out_axis));
  for (int dim = *out_axis + 1; dim < input.rank(); ++dim) out_dims->set(static_cast<size_t>(dim));
  return ETB_OK;
}

template <class T>
etb_status quantize_rows(KernelContext& context, UnaryOp op, const Tensor& input, const DimSet& dims,
                         const ScaleReader& reader, int64_t channels, double smallest, double largest,
                         Tensor& out) {
  return map_rows<T>(context, op, input, dims, out, [&](int64_t row, T* params) {
    params[0] = T(1) / static_cast<T>(reader.scale(row % channels));
    params[1] = static_cast<T>(reader.zero_point(row % channels));
    params[2] = static_cast<T>(smallest);
    params[3] = static_cast<T>(largest);
  });
}

template <class T>
etb_status dequantize_rows(KernelContext& context, const Tensor& input, const DimSet& dims,
                           const ScaleReader& reader, int64_t channels, Tensor& out) {
  return map_rows<T>(context, UnaryOp::dequantize, input, dims, out, [&](int64_t row, T* params) {
    params[0] = static_cast<T>(reader.scale(row % channels));
    params[1] = static_cast<T>(reader.zero_point(row % channels));
  });
}

etb_status quantize_per_channel_out(
    KernelContext& context, ops::quantized_decomposed::quantize_per_channel_out<KernelArguments> args) {
  const Tensor& input = args.input();
  Tensor& out = args.out();
  ETB_CHECK(check_quantize(context, input, {args.quant_min(), args.quant_max()}, args.dtype(), out));
  int axis = 0;
  DimSet dims;
  ETB_CHECK(find_axis(context, input, args.axis(), &axis, &dims));
  const ScaleReader reader = {*vector_table(context).conversions, args.scales(), &args.zero_points()};
  const int64_t channels = input.size(axis);
  ETB_CHECK(ScaleReader::check(context, reader.scales, reader.zero_points, channels));
  const double smallest = static_cast<double>(args.quant_min()),
               largest = static_cast<double>(args.quant_max());
  return reader.is_double() ? quantize_rows<double>(context, UnaryOp::quantize, input, dims, reader, channels,
                                                    smallest, largest, out)
                            : quantize_rows<float>(context, UnaryOp::quantize, input, dims, reader, channels,
                                                   smallest, largest, out);
}

etb_status dequantize_per_channel_out(
    KernelContext& context, ops::quantized_decomposed::dequantize_per_channel_out<KernelArguments> args) {
  const Tensor& input = args.input();
  Tensor& out = args.out();
  ETB_CHECK(check_dequantize(context, input, out));
  int axis = 0;
  DimSet dims;
  ETB_CHECK(find_axis(context, input, args.axis(), &axis, &dims));
  const ScaleReader reader = {*vector_table(context).conversions, args.scales(), args.zero_points()};
  const int64_t channels = input.size(axis);
  ETB_CHECK(ScaleReader::check(context, reader.scales, reader.zero_points, channels));
  return reader.is_double() ? dequantize_rows<double>(context, input, dims, reader, channels, out)
                            : dequantize_rows<float>(context, input, dims, reader, channels, out);
}

// A token is a row along the last dim.
etb_status find_tokens(KernelContext& context, const Tensor& input, DimSet* out_dims, int64_t* out_count) {
  if (input.rank() == 0)
    return context.fail(ETB_INVALID_ARGUMENT, "the input has rank 0, expected at least 1");
  out_dims->set(static_cast<size_t>(input.rank() - 1));
  *out_count = RowWalk(input, *out_dims).row_count();
  return ETB_OK;
}

etb_status quantize_per_token_out(KernelContext& context,
                                  ops::quantized_decomposed::quantize_per_token_out<KernelArguments> args) {
  const Tensor& input = args.input();
  Tensor& out = args.out();
  DimSet dims;
  int64_t count = 0;
  ETB_CHECK(check_quantize(context, input, {args.quant_min(), args.quant_max()}, args.dtype(), out));
  ETB_CHECK(find_tokens(context, input, &dims, &count));
  const ScaleReader reader = {*vector_table(context).conversions, args.scales(), &args.zero_points()};
  ETB_CHECK(ScaleReader::check(context, reader.scales, reader.zero_points, count));
  if (count == 0) return ETB_OK;
  const double smallest = static_cast<double>(args.quant_min()),
               largest = static_cast<double>(args.quant_max());
  return reader.is_double() ? quantize_rows<double>(context, UnaryOp::quantize_rounding_last, input, dims,
                                                    reader, count, smallest, largest, out)
                            : quantize_rows<float>(context, UnaryOp::quantize_rounding_last, input, dims,
                                                   reader, count, smallest, largest, out);
}

etb_status dequantize_per_token_out(
    KernelContext& context, ops::quantized_decomposed::dequantize_per_token_out<KernelArguments> args) {
  const Tensor& input = args.input();
  Tensor& out = args.out();
  DimSet dims;
  int64_t count = 0;
  ETB_CHECK(check_dequantize(context, input, out));
  ETB_CHECK(find_tokens(context, input, &dims, &count));
  const ScaleReader reader = {*vector_table(context).conversions, args.scales(), &args.zero_points()};
  ETB_CHECK(ScaleReader::check(context, reader.scales, reader.zero_points, count));
  if (count == 0) return ETB_OK;
  return reader.is_double() ? dequantize_rows<double>(context, input, dims, reader, count, out)
                            : dequantize_rows<float>(context, input, dims, reader, count, out);
}

// The smallest and largest value of the current row, with 0 among them.
struct Extent {
  float low = 0.0f, high = 0.0f;
};
Extent extent_of(KernelContext& context, const RowWalk& walk) {
  const VectorTable& table = vector_table(context);
  Extent extent;
  constexpr int64_t kChunk = 1024;
  alignas(64) float values[kChunk];
  for (int64_t begin = 0; begin < walk.row_numel() && !context.should_stop(kChunk); begin += kChunk) {
    const int64_t count = std::min(kChunk, walk.row_numel() - begin);
    walk.load(*table.conversions, Compute::kFloat, values, begin, count);
    extent.low = std::min(extent.low, table.float_rows->minimum(values, count));
    extent.high = std::max(extent.high, table.float_rows->maximum(values, count));
  }
  return extent;
}

etb_status choose_qparams_out(KernelContext& context,
                              ops::quantized_decomposed::choose_qparams_Tensor_out<KernelArguments> args) {
  const Tensor& input = args.input();
  Tensor &scale_out = args.scale_out(), &zero_point_out = args.zero_point_out();
  const int64_t smallest = args.quant_min(), largest = args.quant_max(), one = 1;
  if (!is_floating(input.dtype()) || scale_out.dtype() != Dtype::FLOAT64 ||
      zero_point_out.dtype() != Dtype::INT64) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s and %s, expected a float into float64 and int64",
                        to_text(input.dtype()), to_text(scale_out.dtype()), to_text(zero_point_out.dtype()));
  }
  if (input.numel() == 0 || smallest >= largest)
    return context.fail(ETB_INVALID_ARGUMENT, "no elements, or an empty range");
  ETB_CHECK(resize_output(context, scale_out, {&one, 1}));
  ETB_CHECK(resize_output(context, zero_point_out, {&one, 1}));
  const Extent extent = extent_of(context, RowWalk(input, all_dims(input)));
  const auto eps = static_cast<float>(args.eps());
  const auto range = static_cast<float>(static_cast<double>(largest) - static_cast<double>(smallest));
  const float scale = std::max((extent.high - extent.low) / range, eps);
  const double zero_point =
      static_cast<double>(smallest) - static_cast<double>(std::nearbyint(extent.low / scale));
  *scale_out.data_as<double>() = static_cast<double>(scale);
  *zero_point_out.data_as<int64_t>() = zero_point <= static_cast<double>(smallest)  ? smallest
                                       : zero_point >= static_cast<double>(largest) ? largest
                                       : zero_point == zero_point ? static_cast<int64_t>(zero_point)
                                                                  : smallest;
  return ETB_OK;
}

// choose_qparams_per_token_asymmetric(input, dtype, scale_out, zero_point_out): for int8.
etb_status choose_qparams_per_token_out(
    KernelContext& context,
    ops::quantized_decomposed::choose_qparams_per_token_asymmetric_out<KernelArguments> args) {
  const Tensor& input = args.input();
  Tensor &scale_out = args.scale_out(), &zero_point_out = args.zero_point_out();
  DimSet dims;
  int64_t count = 0;
  if (!is_floating(input.dtype()) || scale_out.dtype() != Dtype::FLOAT64 ||
      zero_point_out.dtype() != Dtype::INT64) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s and %s, expected a float into float64 and int64",
                        to_text(input.dtype()), to_text(scale_out.dtype()), to_text(zero_point_out.dtype()));
  }
  ETB_CHECK(find_tokens(context, input, &dims, &count));
  int64_t sizes[kMaxRank];
  const size_t rank = reduced_sizes(input, dims, true, sizes);
  ETB_CHECK(resize_output(context, scale_out, {sizes, rank}));
  ETB_CHECK(resize_output(context, zero_point_out, {sizes, rank}));
  if (input.size(input.rank() - 1) == 0) return context.fail(ETB_INVALID_ARGUMENT, "tokens have no elements");
  RowWalk walk(input, dims);
  for (int64_t row = 0; row < count; ++row, walk.advance()) {
    const Extent extent = extent_of(context, walk);
    if (context.should_stop(1)) return context.stopped();
    constexpr float kLow = -128.0f, kHigh = 127.0f;
    const float scale =
        std::max((extent.high - extent.low) / (kHigh - kLow), std::numeric_limits<float>::epsilon());
    const float low = extent.low / scale, high = extent.high / scale;
    const float zero_point = (kLow + low) + (kHigh + high) > 0.0f ? kLow - low : kHigh - high;
    scale_out.data_as<double>()[row_major_offset(scale_out, row)] = static_cast<double>(scale);
    const float rounded = std::nearbyint(std::min(std::max(zero_point, kLow), kHigh));
    zero_point_out.data_as<int64_t>()[row_major_offset(zero_point_out, row)] =
        rounded == rounded ? static_cast<int64_t>(rounded) : 0;
  }
  return ETB_OK;
}

etb_status add_out(KernelContext& context, ops::quantized_decomposed::add_out<KernelArguments> args) {
  const Tensor &a = args.a(), &b = args.b();
  Tensor& out = args.out();
  const bool fits = a.rank() == b.rank() && std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin());
  if (!fits)
    return context.fail(ETB_INVALID_ARGUMENT, "%s and %s", SizesText(a.sizes()).text,
                        SizesText(b.sizes()).text);
  if (!is_integer(a.dtype()) || a.dtype() != b.dtype() || a.dtype() != out.dtype()) {
    return context.fail(ETB_INVALID_TYPE, "%s and %s into %s", to_text(a.dtype()), to_text(b.dtype()),
                        to_text(out.dtype()));
  }
  ETB_CHECK(resize_output(context, out, a.sizes()));
  const VectorTable& table = vector_table(context);
  constexpr int64_t kChunk = 512;
  constexpr int kFloat = static_cast<int>(Compute::kFloat);
  alignas(64) float x[kChunk], y[kChunk];
  const float x_params[4] = {static_cast<float>(args.a_scale()), static_cast<float>(args.a_zero_point())};
  const float y_params[4] = {static_cast<float>(args.b_scale()), static_cast<float>(args.b_zero_point())};
  const float out_params[4] = {
      1.0f / static_cast<float>(args.out_scale()), static_cast<float>(args.out_zero_point()),
      static_cast<float>(args.out_quant_min()), static_cast<float>(args.out_quant_max())};
  const ElementLoop dequantize = table.loops(UnaryOp::dequantize)[kFloat];
  RowWalk from_a(a, all_dims(a)), from_b(b, all_dims(b)), to(out, all_dims(out));
  for (int64_t begin = 0; begin < a.numel(); begin += kChunk) {
    if (context.should_stop(kChunk)) return context.stopped();
    const int64_t count = std::min(kChunk, a.numel() - begin);
    const void *in_x[] = {x}, *in_y[] = {y}, *both[] = {x, y};
    from_a.load(*table.conversions, Compute::kFloat, x, begin, count);
    from_b.load(*table.conversions, Compute::kFloat, y, begin, count);
    dequantize(x, in_x, count, x_params);
    dequantize(y, in_y, count, y_params);
    table.loops(BinaryOp::add)[kFloat](x, both, count, out_params);
    table.loops(UnaryOp::quantize)[kFloat](x, in_x, count, out_params);
    to.store(*table.conversions, Compute::kFloat, x, begin, count);
  }
  return ETB_OK;
}

constexpr Kernel kRows[] = {
    kernel_row<ops::quantized_decomposed::quantize_per_tensor_out, quantize_per_tensor_out>(),
    kernel_row<ops::cortex_m::quantize_per_tensor_out, quantize_per_tensor_out>(),
    kernel_row<ops::cortex_m::dequantize_per_tensor_out, dequantize_per_tensor_cortex_m_out>(),
    kernel_row<ops::quantized_decomposed::quantize_per_tensor_Tensor_out, quantize_per_tensor_tensor_out>(),
    kernel_row<ops::quantized_decomposed::dequantize_per_tensor_out, dequantize_per_tensor_out>(),
    kernel_row<ops::quantized_decomposed::dequantize_per_tensor_Tensor_out,
               dequantize_per_tensor_tensor_out>(),
    kernel_row<ops::quantized_decomposed::quantize_per_channel_out, quantize_per_channel_out>(),
    kernel_row<ops::quantized_decomposed::dequantize_per_channel_out, dequantize_per_channel_out>(),
    kernel_row<ops::quantized_decomposed::quantize_per_token_out, quantize_per_token_out>(),
    kernel_row<ops::quantized_decomposed::dequantize_per_token_out, dequantize_per_token_out>(),
    kernel_row<ops::quantized_decomposed::choose_qparams_Tensor_out, choose_qparams_out>(),
    kernel_row<ops::quantized_decomposed::choose_qparams_per_token_asymmetric_out,
               choose_qparams_per_token_out>(),
    kernel_row<ops::quantized_decomposed::add_out, add_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(quantize, kRows);

}  // namespace etb::host
