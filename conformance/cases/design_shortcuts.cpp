// SPDX-License-Identifier: Apache-2.0
// Forms for which a usual shortcut of compilers is wrong: folding a norm of another dimension than that of the layer's outputs,
// sizes in place of given factors, views that are equal for the largest sizes only, factors between codes beyond what integers
// hold, numbers of elements beyond the largest float16. Strangers found each of them in a plugin that passed.
#include <cmath>
#include <limits>

#include "conformance/cases/coded_form.hpp"
#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/design_quantisation.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/quantised_layer.hpp"

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;
using graph::bool_arg;
using graph::float_arg;
using graph::floats_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::none_arg;
using graph::value_arg;

constexpr etb_dtype kReal = ETB_DTYPE_FLOAT32, kHalf = ETB_DTYPE_FLOAT16;

// ---- norms of another dimension

// Adds a batch norm of dimension 1 of value `x`, and makes its result the form's.
void add_norm(OpForm& form, FormNodes& nodes, size_t first_parameter, uint32_t x, const Shape& shape) {
  const auto parameter = [&](size_t i, const char* name) {
    return value_arg(static_cast<uint32_t>(first_parameter + i), name);
  };
  const Shape empty{kReal, {0}, {}};
  const uint32_t norm = nodes.add(
      "aten._native_batch_norm_legit_no_training.default",
      {value_arg(x, "input"), parameter(0, "weight"), parameter(1, "bias"), parameter(2, "running_mean"),
       parameter(3, "running_var"), float_arg(0.1, "momentum"), float_arg(1e-5, "eps")},
      std::vector<Shape>{shape, empty, empty});
  form.outputs = {norm - static_cast<uint32_t>(form.operands.size())};
}

void add_norm_parameters(OpForm& form, int64_t channels) {
  for (const Domain& domain : {Domain{0.25, 2}, Domain{-1, 1}, Domain{-1, 1}, Domain{0.5, 2}})
    form.operands.push_back({{kReal, {channels}, {}}, Values::kStatistical, domain, true});
}

// A norm of the rows of a product: as many as the product has columns, or not.
OpForm norm_of_rows(int64_t batch, int64_t rows, int64_t in, int64_t out) {
  OpForm form;
  form.op = "aten.linear.default";
  form.word = "norm_of_rows";
  form.operands = {{{kReal, {batch, rows, in}, {}}, Values::kStatistical, {-1, 1}},
                   {{kReal, {out, in}, {}}, Values::kStatistical, {-1, 1}, true},
                   {{kReal, {out}, {}}, Values::kStatistical, {-1, 1}, true}};
  add_norm_parameters(form, rows);
  FormNodes nodes(form.nodes, form.operands.size());
  const Shape made{kReal, {batch, rows, out}, {}};
  const uint32_t y =
      nodes.add(form.op, {value_arg(0, "input"), value_arg(1, "weight"), value_arg(2, "bias")}, made);
  add_norm(form, nodes, 3, y, made);
  const auto length = static_cast<double>(in + 1);
  form.error_model = rounded_model(4, 4 * std::sqrt(length) + 8, fixed_magnitude(3 * (length / 3 + 2) + 1));
  return form;
}

// A norm of the rows of images: channels and rows change places behind the layer.
OpForm norm_of_turned(int64_t batch, int64_t channels) {
  Convolution c = even_convolution(kReal, {3, channels, 1}, {channels, 7}, 3, 1, 1);
  c.batch = batch;
  c.bias = Parameter::kConstant;
  OpForm form = convolution_form(c);
  const std::vector<ArgumentDesc> layer_args = std::move(form.args);
  const Shape made = form.results[0];
  const size_t first = form.operands.size();
  add_norm_parameters(form, channels);
  FormNodes nodes(form.nodes, form.operands.size());
  const uint32_t y = nodes.add(form.op, layer_args, made);
  const Shape turned{kReal, {made.sizes[0], made.sizes[2], made.sizes[1], made.sizes[3]}, {}};
  const uint32_t z =
      nodes.add("aten.permute_copy.default", {value_arg(y, "self"), ints_arg({0, 2, 1, 3}, "dims")}, turned);
  add_norm(form, nodes, first, z, turned);
  const auto length = static_cast<double>(form.error_model.length);
  form.error_model = rounded_model(4, 4 * std::sqrt(length) + 8, fixed_magnitude(3 * (length / 3 + 2) + 1));
  form.args.clear();
  form.results.clear();
  form.word = "norm_of_turned";
  return form;
}

void add_norms(CaseList& out) {
  for (const auto& [rows, columns] : {std::pair{8, 8}, std::pair{5, 5}, std::pair{16, 16}, std::pair{6, 9}})
    add_form(out, kReal, norm_of_rows(2, rows, 7, columns));
  add_dynamic_form(
      out, kReal, [](const Sizes& sizes) { return norm_of_rows(sizes[0], sizes[1], sizes[2], 6); }, {3, 6, 7},
      Moving::kFirst, Order::kMixed);
  for (const int64_t channels : {4, 9}) add_form(out, kReal, norm_of_turned(2, channels));
}

// ---- given factors

// Factors whose quotients are not whole: positions follow from the factors, not from the sizes of the result, which are rounded
// down.
OpForm nearest_form(etb_dtype dtype, const Sizes& sizes, const std::vector<double>& factors) {
  Sizes result = sizes;
  for (size_t i = 0; i < 2; ++i)
    result[2 + i] = static_cast<int64_t>(static_cast<double>(sizes[2 + i]) * factors[i]);
  OpForm form{"aten.upsample_nearest2d.vec",
              {{{dtype, sizes, {}}}},
              {value_arg(0, "input"), none_arg("output_size"), floats_arg(factors, "scale_factors")},
              {{dtype, result, {}}}};
  return form;
}

void add_factors(CaseList& out) {
  for (const etb_dtype dtype : {kReal, kHalf})
    for (const Sizes& sizes : {Sizes{1, 3, 2, 2}, {2, 1, 3, 4}, {1, 8, 9, 5}})
      for (const std::vector<double>& factors :
           {std::vector<double>{2.4, 2.4}, std::vector<double>{1, 1.7}, std::vector<double>{0.7, 2.4}})
        add_form(out, dtype, nearest_form(dtype, sizes, factors));
  add_dynamic_form(
      out, kReal,
      [](const Sizes& sizes) {
        return nearest_form(kReal, sizes, {2.4, 1.7});
      },
      {2, 3, 4, 5}, Moving::kFirst, Order::kMixed);
}

// ---- views that are equal for the largest sizes only

// [n, m] as [m, n], and an op that sees the difference. The sizes of the view are equal where n is m.
OpForm turned_view(int64_t n, int64_t m, const char* reader) {
  OpForm form;
  form.op = "aten.view_copy.default";
  form.word = std::string("turned_") + (std::string_view(reader) == "aten._softmax.default" ? "rows" : "sum");
  form.operands = {{{kReal, {n, m}, {}}, Values::kStatistical, {-2, 2}}};
  FormNodes nodes(form.nodes, 1);
  const Shape turned{kReal, {m, n}, {}};
  const uint32_t y = nodes.add(form.op, {value_arg(0, "self"), ints_arg({m, -1}, "size")}, turned);
  if (std::string_view(reader) == "aten._softmax.default")
    nodes.add(reader, {value_arg(y, "self"), int_arg(-1, "dim"), bool_arg(false, "half_to_float")}, turned);
  else
    nodes.add(reader, {value_arg(y, "self"), value_arg(y, "other")}, turned);
  // The sum is a doubling. The softmax is that of design_norms.cpp: rows of n numbers within 2 of zero.
  constexpr double kReach = 2;
  form.error_model = rounded_model(1);
  if (std::string_view(reader) == "aten._softmax.default")
    form.error_model =
        rounded_model(4, 4 * std::sqrt(static_cast<double>(n)) + 2 * kReach + 4, fixed_magnitude(1));
  return form;
}

void add_views(CaseList& out) {
  for (const char* reader : {"aten._softmax.default", "aten.add.Tensor"})
    for (const Order order : {Order::kMixed, Order::kShrinking})
      add_dynamic_form(
          out, kReal, [reader](const Sizes& sizes) { return turned_view(sizes[0], sizes[1], reader); },
          {12, 12}, Moving::kFirst, order);
}

// Expansions of zeros of both signs, NaN and infinities: a sum with zeros is none.
void add_expansions(CaseList& out) {
  const std::pair<Sizes, Sizes> kShapes[] = {{{64, 1}, {64, 3}},
                                             {{1, 64}, {3, 64}},
                                             {{4, 1, 16}, {4, 5, 16}},
                                             {{1, 4, 4, 4}, {2, 4, 4, 4}},
                                             {{1, 1, 64}, {2, 3, 64}}};
  for (const etb_dtype dtype : {kReal, kHalf})
    for (const auto& [from, to] : kShapes)
      add_form(out, dtype,
               {"aten.expand_copy.default",
                {{{dtype, from, {}}, Values::kSpecial}},
                {value_arg(0, "self"), ints_arg(to, "size")},
                {{dtype, to, {}}}});
}

// A computed value that is read again after a view of it was changed in its place.
OpForm reader_behind_view(const char* view, const char* change) {
  OpForm form;
  form.op = view;
  const Shape whole{kReal, {4, 6}, {}};
  const bool is_flat = std::string_view(view) == "aten.view_copy.default";
  const Shape seen{kReal, is_flat ? Sizes{24} : Sizes{4, 1, 6}, {}};
  form.word =
      std::string("read_behind_") + (std::string_view(change) == "aten.relu.default" ? "relu" : "neg");
  form.operands = {{whole, Values::kStatistical, {-2, 2}}, {whole, Values::kStatistical, {-2, 2}}};
  FormNodes nodes(form.nodes, 2);
  const uint32_t sum = nodes.add("aten.add.Tensor", {value_arg(0, "self"), value_arg(1, "other")}, whole);
  const uint32_t v =
      nodes.add(view, {value_arg(sum, "self"), is_flat ? ints_arg({24}, "size") : int_arg(1, "dim")}, seen);
  const uint32_t changed = nodes.add(change, {value_arg(v, "self")}, seen);
  const uint32_t result = nodes.add("aten.abs.default", {value_arg(changed, "self")}, seen);
  const uint32_t product =
      nodes.add("aten.mul.Tensor", {value_arg(sum, "self"), value_arg(0, "other")}, whole);
  form.outputs = {result - sum, product - sum};
  form.error_model = rounded_model(4, 8, fixed_magnitude(8));
  return form;
}

void add_readers_behind_views(CaseList& out) {
  for (const char* view : {"aten.view_copy.default", "aten.unsqueeze_copy.default"})
    for (const char* change : {"aten.relu.default", "aten.neg.default"})
      add_form(out, kReal, reader_behind_view(view, change));
}

// ---- more elements than float16 counts

OpForm long_mean(const char* op, int64_t count, double value) {
  const bool is_mean = std::string_view(op) == "aten.mean.dim";
  OpForm form;
  form.op = op;
  form.word = value == 0 ? "zeros" : "small";
  Operand operand{{kHalf, {2, count}, {}}};
  operand.fill = [value](TensorData& data, Random&) {
    data = filled(data.shape, [&](int64_t) { return value; });
  };
  form.operands = {operand};
  form.args = {value_arg(0, "self"), ints_arg({1}, "dim"), bool_arg(false, "keepdim")};
  if (is_mean) form.args.push_back(none_arg("dtype"));
  form.results = {{kHalf, {2}, {}}};
  form.error_model = sum_model(Values::kStatistical, count, 1);
  return form;
}

void add_long_means(CaseList& out) {
  for (const char* op : {"aten.mean.dim", "aten.sum.dim_IntList"})
    for (const int64_t count : {65536, 70001})
      for (const double value : {0.0, 0.0009765625})
        add_form(out, kHalf, long_mean(op, count, value), "large");
}

// Norms of zeros, as behind padding, with an eps that float16 does not hold.
OpForm norm_of_zeros(double eps) {
  OpForm form;
  form.op = "aten.native_layer_norm.default";
  form.word = "zeros.eps_" + real_text(eps);
  Operand rows{{kHalf, {3, 16}, {}}};
  rows.fill = [](TensorData& data, Random& random) {
    data = filled(data.shape,
                  [&](int64_t i) { return i < 16 ? 0.0 : static_cast<double>(random.between(-8, 8)) / 4; });
  };
  form.operands = {rows};
  form.args = {value_arg(0, "input"), ints_arg({16}, "normalized_shape"), none_arg("weight"),
               none_arg("bias"), float_arg(eps, "eps")};
  const Shape statistics{kHalf, {3, 1}, {}};
  form.results = {{kHalf, {3, 16}, {}}, statistics, statistics};
  form.outputs = {0};
  // As in design_norms.cpp: 4 sqrt(16) + 8 roundings. A deviation of at least 1/2 makes no result larger than 4.
  form.error_model = rounded_model(4, 24, fixed_magnitude(4));
  return form;
}

// ---- factors between codes

// Sums of codes times a factor that shifts to the left by many bits: most results are the limits.
void add_large_multipliers(CaseList& out) {
  for (const LayerKind kind : {LayerKind::kLinear, LayerKind::kConvolution})
    for (const double ratio : {0.9, 60.0, 300.0, 2000.0})
      for (const int64_t groups : {1, 2}) {
        if (kind == LayerKind::kLinear && groups != 1) continue;
        QuantisedLayer layer;
        layer.kind = kind;
        layer.codes = kInt8;
        layer.input_scale = 0.0173;
        layer.weight_scale = 0.0047;
        layer.result_scale = layer.input_scale * layer.weight_scale / ratio;
        layer.input_zero = 3;
        layer.result_zero = -5;
        layer.outputs = 6;
        layer.input = {ETB_DTYPE_INT8, {3, 9}, {}};
        if (kind == LayerKind::kConvolution) {
          layer.convolution = even_convolution(ETB_DTYPE_INT8, {4, 6, groups}, {5, 6}, 3, 1, 1);
          layer.convolution.output_padding = {0, 0};
          layer.input = {ETB_DTYPE_INT8, layer.convolution.input_shape().sizes, {}};
        }
        add_form(out, ETB_DTYPE_INT8, layer_form(layer));
      }
}

void add_slopes(CaseList& out) {
  for (const double ratio : {0.004, 100.0, 127.9, 130.0, 1000.0})
    for (const double slope : {0.125, -0.5, 1.5}) {
      Coded coded;
      coded.op = "aten.leaky_relu.default";
      coded.word = "ratio_" + real_text(ratio) + "_slope_" + real_text(slope);
      coded.operands = {{ETB_DTYPE_INT8, {3, 97}, {}}};
      coded.from = {{kInt8, 0.0313, -9}};
      coded.to = {kInt8, 0.0313 / ratio, 4};
      coded.result = {ETB_DTYPE_INT8, {3, 97}, {}};
      coded.args = [slope](const std::vector<uint32_t>& values) {
        return std::vector<ArgumentDesc>{value_arg(values[0], "self"), float_arg(slope, "negative_slope")};
      };
      add_form(out, ETB_DTYPE_INT8, coded_form(coded));
    }
}

// A square weight with a scale for each input: the other axis than that of the outputs.
void add_scales_of_inputs(CaseList& out) {
  for (const int64_t axis : {0, 1})
    for (const int64_t count : {8, 5}) {
      OpForm form;
      form.op = "aten.linear.default";
      form.group = "quant";
      form.word = "scales_along_" + std::to_string(axis);
      form.operands = {
          {{kReal, {3, count}, {}}, Values::kExact},
          {{ETB_DTYPE_INT8, {count, count}, {}}, Values::kStatistical, kWeightCodes.domain(), true},
          constant_of({kReal, {count}, {}},
                      [](int64_t i) { return std::ldexp(1.0, -static_cast<int>(i * 3 % 7)); }),
          constant_of({ETB_DTYPE_INT64, {count}, {}}, [](int64_t) { return 0.0; })};
      FormNodes nodes(form.nodes, form.operands.size());
      const uint32_t w =
          nodes.add("quantized_decomposed.dequantize_per_channel.default",
                    channel_quant_args(1, 2, 3, axis, kWeightCodes), {kReal, {count, count}, {}});
      nodes.add(form.op, {value_arg(0, "input"), value_arg(w, "weight"), none_arg("bias")},
                Shape{kReal, {3, count}, {}});
      form.error_model = exact_model(Rule::kExactValue);  // scales are powers of two
      add_form(out, kReal, std::move(form));
    }
}

// ---- functions at the ends of the numbers

void add_powers(CaseList& out, etb_dtype dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double exponent : {0.5, -0.5, 1.5, 2.0, 3.0, -1.0}) {
    const double largest = dtype == kReal ? 3e38 : 65000, small = dtype == kReal ? 1e-30 : 1e-4;
    const std::vector<double> numbers = {0, 1, kInfinity, largest, largest / 30, small, 1e-4, 2.25};
    Operand operand{{dtype, {3, static_cast<int64_t>(numbers.size())}, {}}};
    operand.fill = [numbers](TensorData& data, Random&) {
      data = filled(data.shape, [&](int64_t i) { return numbers[static_cast<size_t>(i) % numbers.size()]; });
    };
    OpForm form{"aten.pow.Tensor_Scalar",
                {operand},
                {value_arg(0, "self"), float_arg(exponent, "exponent")},
                {operand.shape}};
    form.word = "ends.e" + real_text(exponent);
    form.error_model = rounded_model(16);
    add_form(out, dtype, std::move(form));
  }
}

}  // namespace

void add_shortcut_designs(CaseList& out) {
  add_norms(out);
  add_factors(out);
  add_views(out);
  add_expansions(out);
  add_readers_behind_views(out);
  add_long_means(out);
  for (const double eps : {1e-5, 1e-12}) add_form(out, kHalf, norm_of_zeros(eps));
  add_large_multipliers(out);
  add_slopes(out);
  add_scales_of_inputs(out);
  for (const etb_dtype dtype : {kReal, kHalf}) add_powers(out, dtype);
}

}  // namespace etb::conformance
