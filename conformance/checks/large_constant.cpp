// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/large_constant.hpp"

namespace etb::conformance {

Result<BuiltCase> with_constant(ConstantUse use, int64_t rows, std::string_view name) {
  CaseBuilder builder(name);
  const Shape square{ETB_DTYPE_FLOAT32, {rows, rows}, {}}, row{ETB_DTYPE_FLOAT32, {1, rows}, {}};
  const uint32_t x = builder.input(use == ConstantUse::kSum ? square : row, Values::kExact);
  const uint32_t w = builder.constant(make_values(square, Values::kExact, {}, 1, builder.random()));
  builder.output(
      use == ConstantUse::kLinear
          ? builder.node("aten.linear.default", {graph::value_arg(x, "input"), graph::value_arg(w, "weight")},
                         row)
      : use == ConstantUse::kProduct
          ? builder.node("aten.mm.default", {graph::value_arg(x, "self"), graph::value_arg(w, "mat2")}, row)
          : builder.node("aten.add.Tensor", {graph::value_arg(x, "self"), graph::value_arg(w, "other")},
                         square));
  return builder.finish({});
}

}  // namespace etb::conformance
