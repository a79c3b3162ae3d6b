// SPDX-License-Identifier: Apache-2.0
// Conversions between element types.
#include <cmath>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/elementwise.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
void add_conversions(CaseList& out) {
  for (const etb_dtype from : kAllDtypes)
    for (const etb_dtype to : kAllDtypes)
      for (const Values values : {Values::kStatistical, Values::kTies, Values::kExact}) {
        if (from == to || (from == ETB_DTYPE_BOOL && values != Values::kExact)) continue;
        // Reals beyond an integer's range, and negative ones to an unsigned type, are undefined.
        const bool is_unsigned = to == ETB_DTYPE_UINT8 && from != ETB_DTYPE_BOOL;
        for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{65}, std::vector<int64_t>{2, 3, 4}}) {
          const Shape shape{from, sizes, {}};
          const std::string name = name_of("aten._to_copy.default", from,
                                           shape_text(shape) + ".to_" + short_name(to), values, false);
          out.add({name, "aten._to_copy.default", from, [=](std::string_view full_name) {
                     CaseBuilder builder(full_name);
                     TensorData data = make_values(shape, values, is_unsigned ? Domain{0, 4} : Domain{}, 0,
                                                   builder.random());
                     if (is_unsigned)
                       for (int64_t i = 0; i < data.shape.numel(); ++i)
                         store_element(from, data.bytes.data(), i,
                                       std::abs(load_element(from, data.bytes.data(), i)));
                     const uint32_t x = builder.input(std::move(data));
                     Shape result = shape;
                     result.dtype = to;
                     builder.output(builder.node("aten._to_copy.default",
                                                 {graph::value_arg(x, "self"),
                                                  graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, to, "dtype")},
                                                 result));
                     return builder.finish(
                         error_model_of(is_floating(to) ? Rule::kRounded : Rule::kExact, kHalf));
                   }});
        }
      }
}

}  // namespace etb::conformance
