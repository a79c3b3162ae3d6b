// SPDX-License-Identifier: Apache-2.0
// Cases of where, which selects elements of one tensor or the other.
#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/elementwise.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
void add_selection(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes)
    for (const ShapePair& pair : shape_pairs()) {
      const Shape a = shaped(dtype, pair.a, pair.a_is_last), b = shaped(dtype, pair.b, pair.b_is_last);
      const Shape result = shaped(dtype, broadcast(pair.a, pair.b), pair.a_is_last);
      const std::string sizes = shape_text(a) + "__" + shape_text(b);
      out.add({name_of("aten.where.self", dtype, sizes, Values::kStatistical, is_edge_shape(result)),
               "aten.where.self", dtype, [a, b, result](std::string_view name) {
                 CaseBuilder builder(name);
                 Shape condition = a;
                 condition.dtype = ETB_DTYPE_BOOL;
                 const uint32_t c = builder.input(condition, Values::kExact),
                                x = builder.input(a, Values::kStatistical),
                                y = builder.input(b, Values::kStatistical);
                 builder.output(builder.node("aten.where.self",
                                             {graph::value_arg(c, "condition"), graph::value_arg(x, "self"),
                                              graph::value_arg(y, "other")},
                                             result));
                 return builder.finish(error_model_of(Rule::kExact, 0));
               }});
    }
}

}  // namespace etb::conformance
