// SPDX-License-Identifier: Apache-2.0
// Finite operands whose result is far above the largest number of its dtype: infinity, not that number. Sums of integers that
// only the 64 bits of the result hold.
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

// The sum of 32 numbers near the largest one of the dtype.
void add_wide_sum(CaseList& out, etb_dtype dtype, const char* op) {
  constexpr int64_t kColumns = 32;
  const double largest = dtype == ETB_DTYPE_INT32 ? 0x7fffffff : dtype == ETB_DTYPE_INT16 ? 0x7fff : 0x7f;
  const Shape shape{dtype, {3, kColumns}, {}};
  Operand operand{shape};
  operand.fill = [largest](TensorData& data, Random&) {
    data = filled(data.shape, [&](int64_t i) { return largest - static_cast<double>(i % 7); });
  };
  const bool is_running = op == std::string_view("aten.cumsum.default");
  OpForm form{op,
              {operand},
              {value_arg(0, "self"), is_running ? graph::int_arg(1, "dim") : graph::ints_arg({1}, "dim")},
              {{ETB_DTYPE_INT64, is_running ? shape.sizes : std::vector<int64_t>{3}, {}}}};
  if (!is_running) form.args.push_back(graph::bool_arg(false, "keepdim"));
  form.error_model = exact_model();
  form.word = "overflow";
  form.group = "edge";
  add_form(out, dtype, std::move(form));
}

}  // namespace

void add_overflow_designs(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_INT32, ETB_DTYPE_INT16, ETB_DTYPE_INT8, ETB_DTYPE_UINT8})
    for (const char* op : {"aten.cumsum.default", "aten.sum.dim_IntList"}) add_wide_sum(out, dtype, op);
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
