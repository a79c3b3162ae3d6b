// SPDX-License-Identifier: Apache-2.0
// Gradients of convolutions over one to three directions: of input, weight and bias.
#include <algorithm>

#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

OpForm gradient_form(const Convolution& c) {
  OpForm form;
  form.op = "aten.convolution_backward.default";
  int64_t places = c.batch, kernel = 1;
  for (const int64_t length : c.result_size()) places *= length;
  for (const int64_t length : c.kernel) kernel *= length;
  for (const int64_t length : c.is_transposed ? c.size : Numbers{})
    places = std::max(places, c.batch * length);
  const int64_t length = std::max(places, c.channels.out / c.channels.groups * kernel);
  const Values values = fitting_values(c.dtype, c.values, length);
  form.operands = {{c.result_shape(), values, {-1, 1}},
                   {c.input_shape(), values, {-1, 1}},
                   {c.weight_shape(), values, {-1, 1}}};
  form.args = {value_arg(0, "grad_output"),
               value_arg(1, "input"),
               value_arg(2, "weight"),
               graph::ints_arg({c.channels.out}, "bias_sizes"),
               graph::ints_arg(c.stride, "stride"),
               graph::ints_arg(c.padding, "padding"),
               graph::ints_arg(c.dilation, "dilation"),
               graph::bool_arg(c.is_transposed, "transposed"),
               graph::ints_arg(c.output_padding, "output_padding"),
               graph::int_arg(c.channels.groups, "groups"),
               graph::bools_arg({1, 1, 1}, "output_mask")};
  form.results = {c.input_shape(), c.weight_shape(), {c.dtype, {c.channels.out}, {}}};
  form.error_model = sum_model(values, length);
  return form;
}

// Levels of the attributes of one number of directions.
struct GradientLevels {
  std::vector<Numbers> sizes, kernels, strides, paddings, dilations;
};
const GradientLevels kLevels[] = {{{{9}, {16}}, {{3}, {1}, {4}}, {{1}, {2}, {3}}, {{0}, {1}}, {{1}, {2}}},
                                  {{{5, 7}, {8, 6}},
                                   {{3, 2}, {1, 3}, {2, 2}},
                                   {{1, 1}, {2, 1}, {1, 3}},
                                   {{0, 0}, {1, 0}, {1, 1}},
                                   {{1, 1}, {1, 2}, {2, 1}}},
                                  {{{4, 5, 6}, {5, 4, 7}},
                                   {{2, 1, 3}, {1, 2, 2}, {3, 3, 2}},
                                   {{1, 1, 1}, {2, 1, 1}, {1, 2, 3}},
                                   {{0, 0, 0}, {1, 0, 1}, {0, 1, 0}},
                                   {{1, 1, 1}, {1, 2, 1}}}};

void add_gradients(CaseList& out, const GradientLevels& levels) {
  Convolution base;
  base.output_padding = Numbers(levels.sizes[0].size(), 0);
  DesignOf<Convolution> design(base);
  design.add(&Convolution::channels, {{3, 5, 1}, {4, 6, 2}, {5, 5, 5}, {1, 1, 1}, {17, 9, 1}});
  design.add(&Convolution::batch, {1, 3});
  design.add(&Convolution::dtype,
             {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_FLOAT64});
  design.add(&Convolution::is_transposed, {false, false, true});
  design.add(&Convolution::values, {Values::kExact, Values::kStatistical});
  design.add(&Convolution::size, levels.sizes);
  design.add(&Convolution::kernel, levels.kernels);
  design.add(&Convolution::stride, levels.strides);
  design.add(&Convolution::padding, levels.paddings);
  design.add(&Convolution::dilation, levels.dilations);
  const auto is_allowed = [](const Convolution& c) {
    const Numbers made = c.result_size();
    return *std::min_element(made.begin(), made.end()) > 0;
  };
  const std::string seed = "gradients " + std::to_string(levels.sizes[0].size());
  for (const Convolution& c : design.rows(seed, is_allowed)) add_form(out, c.dtype, gradient_form(c));
}

}  // namespace

void add_convolution_gradient_designs(CaseList& out) {
  for (const GradientLevels& levels : kLevels) add_gradients(out, levels);
}

}  // namespace etb::conformance
