// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/large_values.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/checks/plain_convolution.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

using graph::bool_arg;
using graph::ints_arg;
using graph::none_arg;
using graph::value_arg;

// Adds dequantize or quantize, with a scale of a half.
uint32_t convert_codes(CaseBuilder& builder, bool is_quantize, uint32_t value, const Shape& result) {
  return builder.node(
      is_quantize ? "quantized_decomposed.quantize_per_tensor.default"
                  : "quantized_decomposed.dequantize_per_tensor.default",
      {value_arg(value, "input"), graph::float_arg(0.5, "scale"), graph::int_arg(0, "zero_point"),
       graph::int_arg(-128, "quant_min"), graph::int_arg(127, "quant_max"),
       graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")},
      result);
}

uint32_t add(CaseBuilder& builder, uint32_t a, uint32_t b, const Shape& shape) {
  return builder.node("aten.add.Tensor", {value_arg(a, "self"), value_arg(b, "other")}, shape);
}

uint32_t add_wide(CaseBuilder& builder, uint32_t x, const Shape& shape) {
  constexpr size_t kValues = 8;
  std::vector<uint32_t> values;
  for (size_t i = 0; i < kValues; ++i)
    values.push_back(add(builder, values.empty() ? x : values.back(), x, shape));
  uint32_t last = values.back();
  for (const uint32_t value : values) last = add(builder, last, value, shape);
  return last;
}

uint32_t add_chain(CaseBuilder& builder, uint32_t x, const Shape& shape, bool is_of_codes, bool is_one_node) {
  const Shape codes{ETB_DTYPE_INT8, shape.sizes, {}};
  for (const char* op : {"aten.add.Tensor", "aten.mul.Tensor", "aten.add.Tensor"}) {
    if (is_of_codes) x = convert_codes(builder, false, x, shape);
    x = builder.node(op, {value_arg(x, "self"), value_arg(x, "other")}, shape);
    if (is_of_codes) x = convert_codes(builder, true, x, codes);
    if (is_one_node) break;
  }
  return x;
}

// An op of images with one channel: maxima or a filter of 3 x 3 around each pixel, or twice as many pixels each way.
uint32_t add_image_op(CaseBuilder& builder, Large form, int64_t side) {
  const Shape image{ETB_DTYPE_FLOAT32, {1, 1, side, side}, {}};
  if (form == Large::kResize) {
    const uint32_t x = builder.input({ETB_DTYPE_FLOAT32, {1, 1, side / 2, side / 2}, {}}, Values::kExact);
    return builder.node("aten.upsample_bilinear2d.vec",
                        {value_arg(x, "input"), none_arg("output_size"), bool_arg(false, "align_corners"),
                         graph::floats_arg({2, 2}, "scale_factors")},
                        image);
  }
  const uint32_t x = builder.input(image, Values::kExact);
  if (form == Large::kWindow)
    return builder.node(
        "aten.max_pool2d_with_indices.default",
        {value_arg(x, "self"), ints_arg({3, 3}, "kernel_size"), ints_arg({1, 1}, "stride"),
         ints_arg({1, 1}, "padding"), ints_arg({1, 1}, "dilation"), bool_arg(false, "ceil_mode")},
        std::vector<Shape>{image, {ETB_DTYPE_INT64, image.sizes, {}}});
  const uint32_t w = builder.constant(
      make_values({ETB_DTYPE_FLOAT32, {1, 1, 3, 3}, {}}, Values::kExact, {}, 1, builder.random()));
  return add_plain_convolution(builder, x, w, 1, image);
}

uint32_t add_products(CaseBuilder& builder, int64_t elements) {
  constexpr int64_t kRows = 32;
  const Shape shape{ETB_DTYPE_FLOAT32, {std::max<int64_t>(elements / (kRows * kRows), 1), kRows, kRows}, {}};
  const uint32_t a = builder.input(shape, Values::kExact), b = builder.input(shape, Values::kExact);
  return builder.node("aten.bmm.default", {value_arg(a, "self"), value_arg(b, "mat2")}, shape);
}

uint32_t add_values(CaseBuilder& builder, Large form, int64_t elements) {
  const Shape shape{ETB_DTYPE_FLOAT32, {8, elements / 8}, {}};
  const bool is_of_codes = form == Large::kCodes;
  const uint32_t x =
      builder.input({is_of_codes ? ETB_DTYPE_INT8 : shape.dtype, shape.sizes, {}}, Values::kExact);
  if (form == Large::kWide) return add_wide(builder, x, shape);
  if (form != Large::kConstant) return add_chain(builder, x, shape, is_of_codes, form == Large::kOneNode);
  const uint32_t w = builder.constant(make_values(shape, Values::kExact, {}, 1, builder.random()));
  return add(builder, x, w, shape);
}

}  // namespace

uint64_t nbytes_of_runs(const BuiltCase& built) {
  uint64_t out = 0;
  const auto view = graph::View::open(built.image.span());
  if (!view) return out;
  const graph::Graph method = view->method();
  const auto add = [&](const etb_graph_spec& spec) {
    uint64_t nbytes = element_nbytes(static_cast<etb_dtype>(spec.dtype));
    for (uint32_t i = 0; i < spec.rank; ++i) nbytes *= static_cast<uint64_t>(spec.sizes[i]);
    out += nbytes;
  };
  for (uint32_t i = 0; i < method.input_count(); ++i)
    if (method.input(i).constant == ETB_GRAPH_NONE) add(method.spec_of(i));
  for (uint32_t i = 0; i < method.output_count(); ++i) add(method.output(i).spec());
  return out;
}

Result<BuiltCase> with_large_values(Large form, int64_t elements) {
  CaseBuilder builder("large values");
  const bool is_image = form == Large::kWindow || form == Large::kFilter || form == Large::kResize;
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(elements))));
  builder.output(is_image                   ? add_image_op(builder, form, side)
                 : form == Large::kProducts ? add_products(builder, elements)
                                            : add_values(builder, form, elements));
  return builder.finish({});
}

}  // namespace etb::conformance
