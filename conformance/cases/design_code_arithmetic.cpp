// SPDX-License-Identifier: Apache-2.0
// Arithmetic between codes, with sizes that change from run to run.
#include "conformance/cases/design_quantisation.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

// A maker of op(dequantised, dequantised), quantised again; of one operand for relu. The second operand is whole, a
// row, or a slice.
enum class Second { kWhole, kRow, kSlice };

Maker code_maker(const char* op, bool is_unary, Second second) {
  return [=](const Sizes& sizes) {
    Sizes other = sizes;
    if (second == Second::kRow) other = {sizes.back()};
    if (second == Second::kSlice) other.front() = 1;
    const Shape code{ETB_DTYPE_INT8, sizes, {}}, real{ETB_DTYPE_FLOAT32, sizes, {}};
    OpForm form;
    form.op = op;
    form.word = "between_codes";
    form.operands = {{code, Values::kStatistical, kInt8.domain()}};
    if (!is_unary)
      form.operands.push_back({{ETB_DTYPE_INT8, other, {}}, Values::kStatistical, kInt8.domain()});
    for (const bool is_reference : {false, true}) {
      FormNodes nodes(is_reference ? form.reference.nodes : form.nodes, form.operands.size());
      const uint32_t a = nodes.add(kDequantise, tensor_quant_args(0, 0x1p-5, 3, kInt8), real);
      std::vector<graph::ArgumentDesc> args = {value_arg(a, "self")};
      if (!is_unary)
        args.push_back(value_arg(nodes.add(kDequantise, tensor_quant_args(1, 0x1p-5, -7, kInt8),
                                           Shape{ETB_DTYPE_FLOAT32, other, {}}),
                                 "other"));
      const uint32_t y = nodes.add(op, args, real);
      if (is_reference)
        add_real_codes(nodes, y, 0x1p-4, 11, kInt8, real);
      else
        nodes.add(kQuantise, tensor_quant_args(y, 0x1p-4, 11, kInt8), code);
    }
    form.error_model = code_model(11);
    return form;
  };
}

}  // namespace

// Every dimension moves.
void add_code_arithmetic(CaseList& out) {
  for (const Sizes& sizes : {Sizes{17}, {3, 17}, {2, 3, 4}, {2, 3, 4, 5}, {2, 1, 3, 2, 4}}) {
    for (const char* op : {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor"})
      for (const Second second : {Second::kWhole, Second::kRow, Second::kSlice})
        add_all_dynamic_forms(out, ETB_DTYPE_INT8, code_maker(op, false, second), sizes, true);
    add_all_dynamic_forms(out, ETB_DTYPE_INT8, code_maker("aten.relu.default", true, Second::kWhole), sizes,
                          true);
    for (const bool is_down : {false, true})
      add_all_dynamic_forms(
          out, ETB_DTYPE_INT8,
          [=](const Sizes& now) {
            const Shape code{ETB_DTYPE_INT8, now, {}}, real{ETB_DTYPE_FLOAT32, now, {}};
            return OpForm{
                is_down ? kQuantise : kDequantise,
                {{is_down ? real : code, is_down ? Values::kExact : Values::kStatistical, kInt8.domain()}},
                tensor_quant_args(0, 0x1p-3, 3, kInt8),
                {is_down ? code : real}};
          },
          sizes, true);
  }
}

}  // namespace etb::conformance
