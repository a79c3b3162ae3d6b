// SPDX-License-Identifier: Apache-2.0
// Finite operands whose result is far above the largest number of its dtype: infinity, not that number.
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

// Every second element is `large`, with both signs; the others are small.
Operand operand_of(const Shape& shape, double large) {
  Operand out{shape};
  out.fill = [large](TensorData& data, Random&) {
    data = filled(data.shape, [&](int64_t i) { return i % 2 != 0 ? 0.5 : i % 4 == 0 ? large : -large; });
  };
  return out;
}

struct Level {
  etb_dtype dtype;
  double root, part;  // about four times the root of the largest number, and three quarters of that number
};

}  // namespace

void add_overflow_designs(CaseList& out) {
  for (const Level& level :
       {Level{ETB_DTYPE_FLOAT16, 1000, 49152}, Level{ETB_DTYPE_BFLOAT16, 0x1p66, 0x1.8p127},
        Level{ETB_DTYPE_FLOAT32, 0x1p66, 0x1.8p127}})
    for (const char* op : {"aten.mul.Tensor", "aten.add.Tensor"}) {
      const Shape shape{level.dtype, {4, 9}, {}};
      const double large = op == std::string_view("aten.mul.Tensor") ? level.root : level.part;
      OpForm form{op,
                  {operand_of(shape, large), operand_of(shape, large)},
                  {value_arg(0, "self"), value_arg(1, "other")},
                  {shape}};
      form.error_model = error_model_of(Rule::kRounded, 0.5);
      form.word = "overflow";
      form.group = "edge";
      add_form(out, level.dtype, std::move(form));
    }
}

}  // namespace etb::conformance
