// SPDX-License-Identifier: Apache-2.0
// Activations with attributes, static and dynamic. Those without are rows of unary.cpp.
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::value_arg;

void add_activations(CaseList& out, etb_dtype dtype) {
  struct Activation {
    const char* op;
    std::vector<graph::ArgumentDesc> args;
    double ulps, steps;
  };
  const std::vector<Activation> activations = {
      {"aten.leaky_relu.default", {float_arg(0.125, "negative_slope")}, 0.5, 1},
      {"aten.elu.default", {float_arg(1, "alpha")}, 4, 1},
      {"aten.gelu.default", {graph::string_arg("none", "approximate")}, 6, 4},
      {"aten.gelu.default", {graph::string_arg("tanh", "approximate")}, 6, 8}};
  size_t at = 0;
  for (const Activation& item : activations)
    for (const Sizes& sizes :
         {Sizes{9}, {3, 17}, {2, 3, 4}, {2, 3, 4, 5}, {2, 1, 3, 2, 4}, {2, 1, 2, 3, 2, 2}})
      for (const uint32_t order : {0u, 1u}) {
        if (order == 1 && sizes.size() < 4) continue;
        const Maker maker = [=](const Sizes& now) {
          const Shape shape{dtype, now, order_of(now.size(), order)};
          OpForm form{item.op, {{shape}}, {value_arg(0, "self")}, {shape}};
          form.args.insert(form.args.end(), item.args.begin(), item.args.end());
          form.error_model = rounded_model(item.ulps, item.steps, twice_the_largest);
          return form;
        };
        add_form(out, dtype, maker(sizes));
        add_dynamic_forms(out, dtype, maker, sizes, ++at);
      }
  const auto product_with = [=](const char* whole, const char* part) -> Maker {
    return [=](const Sizes& now) {
      const Shape shape{dtype, now, {}};
      OpForm form{whole, {{shape}}, {value_arg(0, "self")}, {shape}};
      form.error_model = rounded_model(8, 2, twice_the_largest);
      form.reference.nodes = {{part, {value_arg(0, "self")}, shape},
                              {"aten.mul.Tensor", {value_arg(0, "self"), value_arg(1, "other")}, shape}};
      return form;
    };
  };
  for (const Sizes& sizes : {Sizes{9}, {3, 17}, {2, 3, 4, 5}, {2, 1, 2, 3, 2, 2}})
    add_dynamic_forms(out, dtype, product_with("aten.silu.default", "aten.sigmoid.default"), sizes, ++at);
}

}  // namespace

void add_activation_designs(CaseList& out) {
  for (const etb_dtype dtype : kFloats) add_activations(out, dtype);
}

}  // namespace etb::conformance
