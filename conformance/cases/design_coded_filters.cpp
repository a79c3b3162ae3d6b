// SPDX-License-Identifier: Apache-2.0
// Convolutions of floats with filters of codes that have a scale for each output: weight-only quantisation. Channels of a
// group are no multiples of usual widths of vectors.
#include <cmath>

#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/design_quantisation.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

OpForm form_of(const Convolution& c, bool has_bias) {
  OpForm form;
  form.op = "aten.convolution.default";
  form.group = "quant";
  form.word = "filters_s" + number_text(c.stride) + "_p" + number_text(c.padding) + "_d" +
              number_text(c.dilation) + "_g" + number_text(c.channels.groups);
  const Shape weight = c.weight_shape();
  const Sizes count = {c.channels.out};
  form.operands = {{c.input_shape(), Values::kExact},
                   {{ETB_DTYPE_INT8, weight.sizes, {}}, Values::kStatistical, kWeightCodes.domain(), true},
                   constant_of({ETB_DTYPE_FLOAT32, count, {}},
                               [](int64_t i) { return std::ldexp(1.0, -static_cast<int>(i * 3 % 7)); }),
                   constant_of({ETB_DTYPE_INT64, count, {}}, [](int64_t) { return 0.0; })};
  if (has_bias)
    form.operands.push_back(constant_of({ETB_DTYPE_FLOAT32, count, {}},
                                        [](int64_t i) { return static_cast<double>(i % 5 - 2); }));
  FormNodes nodes(form.nodes, form.operands.size());
  const uint32_t w = nodes.add("quantized_decomposed.dequantize_per_channel.default",
                               channel_quant_args(1, 2, 3, 0, kWeightCodes), weight);
  nodes.add(form.op, convolution_args(c, 0, w, has_bias ? value_arg(4, "bias") : graph::none_arg("bias")),
            c.result_shape());
  form.error_model = exact_model(Rule::kExactValue);  // scales are powers of two
  return form;
}

}  // namespace

void add_coded_filters(CaseList& out) {
  size_t at = 0;
  for (const Channels& channels : {Channels{8, 12, 2},
                                   {6, 9, 3},
                                   {10, 5, 5},
                                   {5, 10, 5},
                                   {12, 20, 4},
                                   {17, 17, 17},
                                   {16, 18, 2},
                                   {3, 7, 1},
                                   {9, 33, 1}})
    for (const int64_t kernel : {1, 3}) {
      Convolution c = even_convolution(ETB_DTYPE_FLOAT32, channels, {7, 9}, kernel, at % 3 == 1 ? 2 : 1,
                                       kernel / 2, at % 4 == 3 ? 2 : 1);
      c.batch = at % 2 == 0 ? 1 : 2;
      c.is_last = at % 5 == 2;
      add_form(out, ETB_DTYPE_FLOAT32, form_of(c, at % 2 == 0));
      ++at;
    }
}

}  // namespace etb::conformance
