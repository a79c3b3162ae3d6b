// SPDX-License-Identifier: Apache-2.0
// Convolutions over one to three dimensions, also transposed, by designs over all attributes. Sizes, strides
// and so on differ between directions, so that a plugin that mixes them up is wrong.
#include "conformance/cases/design_convolution.hpp"

#include <algorithm>

#include "conformance/cases/designs.hpp"

namespace etb::conformance {

using graph::value_arg;

Numbers Convolution::result_size() const {
  Numbers out;
  for (size_t i = 0; i < size.size(); ++i) {
    const int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
    const int64_t span = size[i] + 2 * padding[i] - reach;
    if (is_transposed)
      out.push_back((size[i] - 1) * stride[i] - 2 * padding[i] + reach + output_padding[i]);
    else
      out.push_back(span < 0 ? 0 : span / stride[i] + 1);
  }
  return out;
}

Shape Convolution::input_shape() const {
  Shape shape{dtype, {batch, channels.in}, {}};
  shape.sizes.insert(shape.sizes.end(), size.begin(), size.end());
  if (is_last) shape.dim_order = channels_last(shape.sizes.size());
  return shape;
}

Shape Convolution::weight_shape() const {
  Shape shape{dtype,
              is_transposed ? Numbers{channels.in, channels.out / channels.groups}
                            : Numbers{channels.out, channels.in / channels.groups},
              {}};
  shape.sizes.insert(shape.sizes.end(), kernel.begin(), kernel.end());
  return shape;
}

Shape Convolution::result_shape() const {
  Shape shape{dtype, {batch, channels.out}, input_shape().dim_order};
  for (const int64_t length : result_size()) shape.sizes.push_back(length);
  return shape;
}

int64_t Convolution::length() const {
  int64_t count = channels.in / channels.groups + (bias == Parameter::kNone ? 0 : 1);
  for (const int64_t k : kernel) count *= k;
  return count;
}

std::vector<graph::ArgumentDesc> convolution_args(const Convolution& c, uint32_t input, uint32_t weight,
                                                  const graph::ArgumentDesc& bias) {
  return {value_arg(input, "input"),
          value_arg(weight, "weight"),
          bias,
          graph::ints_arg(c.stride, "stride"),
          graph::ints_arg(c.padding, "padding"),
          graph::ints_arg(c.dilation, "dilation"),
          graph::bool_arg(c.is_transposed, "transposed"),
          graph::ints_arg(c.output_padding, "output_padding"),
          graph::int_arg(c.channels.groups, "groups")};
}

Convolution even_convolution(etb_dtype dtype, const Channels& channels, const Sizes& size, int64_t kernel,
                             int64_t stride, int64_t padding, int64_t dilation) {
  Convolution c;
  c.dtype = dtype;
  c.channels = channels;
  c.size = size;
  c.kernel = Numbers(size.size(), kernel);
  c.stride = Numbers(size.size(), stride);
  c.padding = Numbers(size.size(), padding);
  c.dilation = Numbers(size.size(), dilation);
  c.output_padding = Numbers(size.size(), 0);
  return c;
}

OpForm convolution_form(const Convolution& c) {
  const Domain domain = is_floating(c.dtype) ? Domain{-1, 1} : Domain{-3, 3};
  OpForm form;
  form.op = "aten.convolution.default";
  form.operands = {{c.input_shape(), c.values, domain},
                   {c.weight_shape(), c.values, domain, c.weight == Parameter::kConstant}};
  if (c.bias != Parameter::kNone)
    form.operands.push_back(
        {{c.dtype, {c.channels.out}, {}}, c.values, domain, c.bias == Parameter::kConstant});
  const graph::ArgumentDesc bias =
      c.bias == Parameter::kNone ? graph::none_arg("bias") : value_arg(2, "bias");
  form.args = convolution_args(c, 0, 1, bias);
  form.results = {c.result_shape()};
  form.error_model = sum_model(c.values, c.length(), c.bias == Parameter::kNone ? 0 : c.channels.out);
  if (c.is_large) form.word = "large";
  return form;
}

namespace {

struct Directions {
  WindowLevels window;
  std::vector<Numbers> output_paddings;
};

const Directions kOne = {{{{9}, {16}, {33}, {7}},
                          {{3}, {1}, {5}, {2}, {8}},
                          {{1}, {2}, {3}, {4}},
                          {{0}, {1}, {2}, {4}},
                          {{1}, {2}, {3}}},
                         {{0}, {1}, {2}}};
const Directions kTwo = {{{{5, 7}, {9, 8}, {11, 6}, {16, 5}, {7, 17}},
                          {{3, 3}, {1, 1}, {3, 2}, {2, 5}, {5, 3}, {1, 4}, {3, 1}, {4, 4}, {2, 2}},
                          {{1, 1}, {2, 1}, {1, 3}, {2, 2}, {3, 2}},
                          {{0, 0}, {1, 1}, {1, 0}, {0, 2}, {2, 1}, {3, 2}},
                          {{1, 1}, {2, 1}, {1, 3}, {2, 2}}},
                         {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}}};
const Directions kThree = {{{{4, 5, 6}, {6, 4, 5}, {3, 7, 4}},
                            {{3, 2, 1}, {1, 1, 1}, {2, 3, 3}, {1, 3, 2}},
                            {{1, 1, 1}, {2, 1, 3}, {1, 2, 1}},
                            {{0, 0, 0}, {1, 0, 2}, {0, 1, 1}},
                            {{1, 1, 1}, {2, 1, 1}, {1, 1, 2}}},
                           {{0, 0, 0}, {1, 0, 0}, {0, 0, 1}}};

// In, out, groups: one group, groups that no vector width divides, depthwise with one and several filters a
// channel, sums longer than a tile.
const std::vector<Channels> kManyChannels = {{3, 8, 1},  {1, 1, 1},    {8, 5, 1},   {16, 17, 1}, {33, 4, 1},
                                             {6, 4, 2},  {9, 6, 3},    {4, 4, 4},   {5, 10, 5},  {3, 9, 3},
                                             {7, 33, 1}, {17, 17, 17}, {12, 20, 4}, {2, 3, 1}};

const std::vector<etb_dtype> kFloat32 = {ETB_DTYPE_FLOAT32},
                             kOthers = {ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64};

// Makes a row possible instead of rejecting it, which would take most of the time of a design: an image that the
// kernel does not fit into becomes larger, and output padding stays below stride and dilation, as PyTorch requires.
void fit(Convolution& c) {
  for (size_t i = 0; i < c.size.size(); ++i) {
    const int64_t reach = c.dilation[i] * (c.kernel[i] - 1) + 1;
    if (!c.is_transposed) c.size[i] = std::max(c.size[i], reach - 2 * c.padding[i]);
    if (c.is_transposed)
      c.padding[i] = std::min(c.padding[i], ((c.size[i] - 1) * c.stride[i] + reach - 1) / 2);
    c.output_padding[i] = std::min(c.output_padding[i], std::max(c.stride[i], c.dilation[i]) - 1);
  }
}

// A maker of the same layer at other sizes of batch, channels and image.
Maker maker_of(const Convolution& base) {
  return [base](const Sizes& sizes) {
    Convolution c = base;
    c.batch = sizes[0];
    c.channels.in = sizes[1];
    c.size.assign(sizes.begin() + 2, sizes.end());
    return convolution_form(c);
  };
}

// Adds the case, and for some rows dynamic ones: the image moves where the kernel fits into one of size 1.
void add_row(CaseList& out, const Convolution& c, size_t at) {
  add_form(out, c.dtype, convolution_form(c));
  if (at % 3 != 0) return;
  Convolution least = c;
  least.size.assign(c.size.size(), 1);
  const Numbers result = least.result_size();
  const bool may_be_one = *std::min_element(result.begin(), result.end()) > 0;
  const Sizes sizes = c.input_shape().sizes;
  const auto order = static_cast<Order>(at / 3 % 3);
  add_dynamic_form(out, c.dtype, maker_of(c), sizes,
                   may_be_one && at % 2 == 0 ? Moving::kLast : Moving::kFirst, order);
}

void add_design(CaseList& out, const Directions& directions, const std::vector<etb_dtype>& dtypes,
                bool is_transposed, const std::string& seed) {
  // The bias is there or not, and the parameters are constants or inputs. Few plugins accept parameters that are known
  // only at run time: a third of the rows has some.
  struct Row : Convolution {
    bool has_bias = false;
    std::pair<Parameter, Parameter> parameters;
  };
  Row base;
  base.is_transposed = is_transposed;
  base.output_padding = directions.output_paddings[0];
  DesignOf<Row> design(base);
  add_window(design, directions.window);
  design.add(&Row::output_padding,
             is_transposed ? directions.output_paddings : std::vector<Numbers>{base.output_padding});
  design.add(&Row::channels, kManyChannels);
  design.add(&Row::batch, {1, 2, 3});
  design.add(&Row::dtype, dtypes);
  design.add(&Row::is_last, {false, true});
  design.add(&Row::has_bias, {true, false});
  design.add(&Row::values,
             {Values::kExact, Values::kStatistical, Values::kSparse, Values::kPositive, Values::kSpread});
  design.add(&Row::parameters, {{Parameter::kConstant, Parameter::kConstant},
                                {Parameter::kConstant, Parameter::kConstant},
                                {Parameter::kConstant, Parameter::kConstant},
                                {Parameter::kInput, Parameter::kInput},
                                {Parameter::kConstant, Parameter::kInput}});
  size_t at = 0;
  for (const Row& row : design.rows(seed)) {
    Convolution c = row;
    c.weight = row.parameters.first;
    c.bias = row.has_bias ? row.parameters.second : Parameter::kNone;
    c.values = fitting_values(c.dtype, c.values, c.length());
    fit(c);
    add_row(out, c, at++);
  }
}

// One NaN and both infinities reach the windows that have them, and no other. Not for depthwise filters: kernels
// with more taps than the filter multiply a neighbour by 0.
void add_non_finite(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16})
    for (const bool is_transposed : {false, true})
      for (const Channels& channels : {Channels{3, 5, 1}, Channels{6, 4, 2}}) {
        Convolution c = even_convolution(dtype, channels, {9, 12}, 1);
        c.batch = 2;
        c.kernel = {3, 2};
        c.stride = {2, 1};
        c.padding = {1, 0};
        c.is_transposed = is_transposed;
        c.values = Values::kNonFinite;
        add_form(out, dtype, convolution_form(c));
      }
}

// Every dimension moves: one by one, with padding, depthwise, dilated, transposed, of one and two directions.
void add_dynamic(CaseList& out, etb_dtype dtype) {
  const auto add = [&](Convolution c, const Sizes& sizes) {
    c.bias = Parameter::kConstant;
    add_all_dynamic_forms(out, dtype, maker_of(c), sizes, false);
  };
  for (const bool is_last : {false, true}) {
    const auto two = [&](const Channels& channels, int64_t kernel, int64_t stride, int64_t padding,
                         int64_t dilation) {
      Convolution c = even_convolution(dtype, channels, {1, 1}, kernel, stride, padding, dilation);
      c.is_last = is_last;
      return c;
    };
    add(two({3, 5, 1}, 1, 1, 0, 1), {2, 3, 5, 6});
    add(two({3, 4, 1}, 3, 1, 1, 1), {2, 3, 5, 6});
    add(two({2, 5, 1}, 3, 2, 1, 1), {1, 2, 7, 6});
    add(two({6, 6, 6}, 3, 1, 1, 1), {2, 6, 5, 6});
    add(two({4, 4, 2}, 3, 1, 2, 2), {2, 4, 6, 7});
    Convolution transposed = two({3, 3, 1}, 2, 2, 0, 1);
    transposed.is_transposed = true;
    add(transposed, {2, 3, 4, 5});
  }
  add(even_convolution(dtype, {3, 4, 1}, {1}, 3, 1, 1), {2, 3, 9});
  add(even_convolution(dtype, {3, 6, 3}, {1}, 3, 2, 1), {2, 3, 9});
}

// Beyond thresholds of tiles, of unrolled kernels and of channels: the few cases that take long.
Convolution large(etb_dtype dtype, int64_t batch, const Channels& channels, const Numbers& size,
                  const Numbers& kernel, int64_t stride = 1, int64_t padding = 0, int64_t dilation = 1) {
  Convolution c = even_convolution(dtype, channels, size, 1, stride, padding, dilation);
  c.batch = batch;
  c.kernel = kernel;
  c.bias = Parameter::kConstant;
  c.is_large = true;
  return c;
}

void add_large(CaseList& out) {
  constexpr etb_dtype kF32 = ETB_DTYPE_FLOAT32, kF16 = ETB_DTYPE_FLOAT16;
  const Convolution rows[] = {large(kF32, 1, {520, 33, 1}, {5, 6}, {1, 1}),
                              large(kF16, 1, {520, 33, 1}, {5, 6}, {1, 1}),
                              large(kF32, 1, {1025, 5, 1}, {3, 4}, {3, 3}, 1, 1),
                              large(kF32, 1, {20, 515, 1}, {4, 5}, {3, 3}, 1, 1),
                              large(kF32, 1, {513, 513, 513}, {6, 5}, {3, 3}, 1, 1),
                              large(kF16, 1, {520, 1040, 520}, {5, 4}, {3, 3}, 2, 1),
                              large(kF32, 1, {520, 260, 130}, {5, 4}, {3, 3}, 1, 1),
                              large(kF32, 1, {3, 8, 1}, {14, 15}, {9, 9}, 2, 4),
                              large(kF32, 2, {5, 9, 1}, {13, 33}, {1, 15}, 3),
                              large(kF16, 1, {5, 9, 1}, {33, 7}, {11, 1}, 4),
                              large(kF32, 1, {17, 17, 17}, {15, 16}, {7, 7}, 1, 3),
                              large(kF32, 1, {8, 8, 8}, {15, 14}, {13, 11}, 1, 5),
                              large(kF32, 1, {3, 9, 1}, {190, 180}, {3, 3}, 1, 1),
                              large(kF32, 17, {5, 6, 1}, {5, 4}, {2, 3}),
                              large(kF32, 33, {8, 8, 8}, {4, 5}, {3, 3}, 1, 1),
                              large(kF32, 1, {4, 6, 1}, {40, 37}, {3, 3}, 1, 0, 17),
                              large(kF32, 1, {4, 6, 1}, {67, 70}, {4, 4}, 33),
                              large(kF32, 2, {3, 5, 1}, {5000}, {25}, 3, 12),
                              large(kF32, 1, {65, 129, 1}, {17, 19}, {3, 3}, 1, 1),
                              large(kF32, 1, {4, 4, 4}, {5, 1100}, {3, 3}, 2, 1),
                              large(kF32, 1, {4, 4, 4}, {1100, 5}, {3, 3}, 1, 1),
                              large(kF32, 1, {3, 5, 1}, {5, 1100}, {3, 3}, 2, 1),
                              large(kF32, 1, {3, 5, 1}, {1100, 5}, {3, 3}, 1, 1, 2),
                              large(kF32, 1, {4, 6, 2}, {3, 1031}, {1, 2}, 2)};
  for (Convolution c : rows)
    for (const bool is_last : {false, true}) {
      c.is_last = is_last;
      if (c.size.size() == 2 || !is_last) add_form(out, c.dtype, convolution_form(c));
    }
  Convolution transposed[] = {large(kF32, 1, {515, 7, 1}, {4, 5}, {2, 2}, 2),
                              large(kF32, 1, {7, 515, 1}, {4, 5}, {3, 3}, 2, 1),
                              large(kF16, 1, {130, 260, 130}, {5, 4}, {4, 4}, 2, 1),
                              large(kF32, 1, {6, 4, 1}, {7, 6}, {16, 16}, 8, 4),
                              large(kF32, 1, {3, 4, 1}, {3, 520}, {3, 3}, 2, 1),
                              large(kF32, 18, {5, 6, 1}, {3, 4}, {3, 3}, 1, 1)};
  for (Convolution& c : transposed) {
    c.is_transposed = true;
    add_form(out, c.dtype, convolution_form(c));
  }
}

}  // namespace

void add_convolution_designs(CaseList& out) {
  for (const bool is_transposed : {false, true}) {
    const std::string seed = is_transposed ? "transposed" : "convolution";
    add_design(out, kTwo, kFloat32, is_transposed, seed + " of two");
    add_design(out, kTwo, kOthers, is_transposed, seed + " of two, other types");
    add_design(out, kOne, kFloat32, is_transposed, seed + " of one");
    add_design(out, kThree, kFloat32, is_transposed, seed + " of three");
    add_design(out, kOne, kOthers, is_transposed, seed + " of one, other types");
    add_design(out, kThree, kOthers, is_transposed, seed + " of three, other types");
  }
  for (const etb_dtype dtype : kFloats) add_dynamic(out, dtype);
  add_non_finite(out);
  add_large(out);
}

}  // namespace etb::conformance
