// SPDX-License-Identifier: Apache-2.0
// More runs on one context, each with other sizes, than any counter of a plugin is likely to be tested with.
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {

using graph::value_arg;

void add_many_run_designs(CaseList& out) {
  const auto unary = [](const char* op) -> Maker {
    return [op](const Sizes& sizes) {
      const Shape shape{ETB_DTYPE_FLOAT32, sizes, {}};
      return OpForm{op, {{shape}}, {value_arg(0, "self")}, {shape}};
    };
  };
  for (const char* op : {"aten.abs.default", "aten.neg.default", "aten.ceil.default", "aten.clone.default"})
    add_dynamic_form(out, ETB_DTYPE_FLOAT32, unary(op), {3, 2}, Moving::kOuter, Order::kManyRuns);
  for (const char* op : {"aten.add.Tensor", "aten.mul.Tensor", "aten.maximum.default"})
    add_dynamic_form(
        out, ETB_DTYPE_FLOAT32,
        [op](const Sizes& sizes) {
          const Shape shape{ETB_DTYPE_FLOAT32, sizes, {}};
          OpForm form{op, {{shape}, {shape}}, {value_arg(0, "self"), value_arg(1, "other")}, {shape}};
          form.error_model = rounded_model(0.5);
          return form;
        },
        {2, 3}, Moving::kOuter, Order::kManyRuns);
  add_dynamic_form(
      out, ETB_DTYPE_FLOAT32,
      [](const Sizes& sizes) {
        OpForm form{"aten.linear.default",
                    {{{ETB_DTYPE_FLOAT32, sizes, {}}, Values::kStatistical, {-1, 1}},
                     {{ETB_DTYPE_FLOAT32, {3, 4}, {}}, Values::kStatistical, {-1, 1}, true}},
                    {value_arg(0, "input"), value_arg(1, "weight"), graph::none_arg("bias")},
                    {{ETB_DTYPE_FLOAT32, {sizes[0], 3}, {}}}};
        form.error_model = sum_model(Values::kStatistical, 5);
        return form;
      },
      {2, 4}, Moving::kFirst, Order::kManyRuns);
}

}  // namespace etb::conformance
