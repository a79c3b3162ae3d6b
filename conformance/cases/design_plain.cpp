// SPDX-License-Identifier: Apache-2.0
// The forms that a plugin of few ops claims, and forms beside them: operands of equal sizes in every order of runs, sizes
// including zero; factors near 1; ranks from nine to the largest.
#include <cmath>

#include "conformance/cases/designs.hpp"
#include "conformance/cases/elementwise.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

constexpr Order kOrders[] = {Order::kGrowing, Order::kShrinking, Order::kMixed, Order::kWithZero};
const Sizes kHigh[] = {{2, 1, 3, 1, 2, 2, 1, 2, 3},
                       {1, 2, 1, 2, 1, 3, 1, 2, 1, 2, 1, 2},
                       {1, 1, 2, 1, 2, 1, 1, 2, 1, 3, 1, 1, 2, 1, 2, 1}};

Maker equal_maker(const BinaryRow& row, etb_dtype dtype, double alpha = 1) {
  return [&row, dtype, alpha](const Sizes& sizes) {
    const bool is_pow = std::string_view(row.op).find("pow") != std::string_view::npos;
    const Shape shape{dtype, sizes, {}};
    OpForm form{row.op,
                {{shape, Values::kStatistical, is_pow ? Domain{0.25, 4} : Domain{}}, {shape}},
                {value_arg(0, "self"), value_arg(1, is_pow ? "exponent" : "other")},
                {{result_dtype(row.gives, dtype), sizes, {}}}};
    if (row.second != Second::kAny)
      form.operands[1].fill = [&row, shape](TensorData& data, Random& random) {
        data = make_values(shape, Values::kStatistical, {}, 1, random);
        restrict_second(data, row.second, random);
      };
    if (alpha != 1) form.args.push_back(graph::float_arg(alpha, "alpha"));
    form.error_model = error_model_of(row.rule, row.ulps, alpha == 1 ? 0 : std::abs(alpha));
    if (alpha != 1) form.error_model.magnitude = twice_the_largest;
    form.widen_integers = row.gives == Gives::kReal;
    return form;
  };
}

Maker unary_maker(const UnaryRow& row, etb_dtype dtype) {
  return [&row, dtype](const Sizes& sizes) {
    OpForm form{row.op,
                {{{dtype, sizes, {}}, Values::kStatistical, row.domain}},
                {value_arg(0, "self")},
                {{result_dtype(row.gives, dtype), sizes, {}}}};
    form.error_model = error_model_of(row.rule, row.ulps);
    form.widen_integers = row.gives == Gives::kReal;
    return form;
  };
}

// Each order of runs, and ranks that few other cases have. Types beside float32 have those with sizes of zero.
void add_runs_and_ranks(CaseList& out, etb_dtype dtype, const Maker& maker) {
  for (const Order order : kOrders)
    for (const Sizes& sizes : {Sizes{5}, {3, 4, 5}})
      if (dtype == ETB_DTYPE_FLOAT32 || order == Order::kWithZero)
        add_dynamic_form(out, dtype, maker, sizes, Moving::kFirst, order);
  add_dynamic_form(out, dtype, maker, {4, 6}, Moving::kLast, Order::kWithZero);
  add_dynamic_form(out, dtype, maker, {4, 6, 3}, Moving::kAll, Order::kWithZero);
  for (const Sizes& sizes : kHigh) {
    add_form(out, dtype, maker(sizes));
    if (dtype == ETB_DTYPE_FLOAT32) add_dynamic_form(out, dtype, maker, sizes, Moving::kLast, Order::kMixed);
  }
}

Shape permuted(const Shape& from, const std::vector<int64_t>& dims) {
  Shape out{from.dtype, {}, {}};
  for (const int64_t dim : dims) out.sizes.push_back(from.sizes[static_cast<size_t>(dim)]);
  return out;
}

// Ops that name a dimension, with one behind the eighth.
void add_high_dims(CaseList& out, etb_dtype dtype, const Sizes& sizes) {
  const auto rank = static_cast<int64_t>(sizes.size());
  const Shape shape{dtype, sizes, {}};
  const auto add = [&](const char* op, std::vector<graph::ArgumentDesc> args, const Shape& result,
                       const ErrorModel& model = {}) {
    OpForm form{op, {{shape}}, {value_arg(0, "self")}, {result}};
    form.args.insert(form.args.end(), args.begin(), args.end());
    form.error_model = model;
    add_form(out, dtype, std::move(form));
  };
  std::vector<int64_t> reversed, turned;
  for (int64_t d = 0; d < rank; ++d) {
    reversed.push_back(rank - 1 - d);
    turned.push_back((d + 8) % rank);
  }
  for (const std::vector<int64_t>& dims : {reversed, turned})
    add("aten.permute_copy.default", {graph::ints_arg(dims, "dims")}, permuted(shape, dims));
  for (const int64_t dim : {int64_t{8}, rank - 1, int64_t{2}}) {
    Shape part = shape, single = shape;
    const auto at = static_cast<size_t>(dim);
    single.sizes[at] = 1;
    if (shape.sizes[at] > 1) {
      --part.sizes[at];
      add("aten.slice_copy.Tensor",
          {graph::int_arg(dim, "dim"), graph::int_arg(1, "start"), graph::int_arg(shape.sizes[at], "end")},
          part);
    }
    ErrorModel model =
        is_floating(dtype) ? sum_model(Values::kStatistical, shape.sizes[at], 1) : exact_model(Rule::kExact);
    add("aten.sum.dim_IntList", {graph::ints_arg({dim}, "dim"), graph::bool_arg(true, "keepdim")},
        {is_floating(dtype) ? dtype : static_cast<etb_dtype>(ETB_DTYPE_INT64), single.sizes, {}}, model);
    add("aten.amax.default", {graph::ints_arg({dim}, "dim"), graph::bool_arg(true, "keepdim")}, single,
        exact_model(Rule::kExactValue));
  }
}

}  // namespace

void add_plain_designs(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_INT32}) {
    for (const BinaryRow& row : binary_rows())
      if (takes(row.takes, dtype) && row.second != Second::kShift)
        add_runs_and_ranks(out, dtype, equal_maker(row, dtype));
    if (dtype != ETB_DTYPE_FLOAT16)
      for (const UnaryRow& row : unary_rows())
        if (takes(row.takes, dtype)) add_runs_and_ranks(out, dtype, unary_maker(row, dtype));
    for (const Sizes& sizes : kHigh) add_high_dims(out, dtype, sizes);
  }
  // A factor that is cut or rounded to an integer, or compared with too few digits, is 1.
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64, ETB_DTYPE_FLOAT16})
    for (const BinaryRow& row : binary_rows())
      for (const double alpha : {1.5, 1.25, 0.75, 1.03125, -1.0, 0.0})
        if (const std::string_view op = row.op; op == "aten.add.Tensor" || op == "aten.sub.Tensor")
          for (const Sizes& sizes : {Sizes{17}, {5, 9}, {2, 3, 4, 5}})
            add_form(out, dtype, equal_maker(row, dtype, alpha)(sizes));
}

}  // namespace etb::conformance
