// SPDX-License-Identifier: Apache-2.0
// Elementwise ops of one tensor: ranks up to 8, dim orders, sizes around powers of two, long and empty tensors,
// special values at every place; dynamic sizes. Also conversions, and an op with a number.
#include <cmath>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/elementwise.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

struct Sized {
  Sizes sizes;
  uint32_t order = 0;
  bool is_large = false;
};
const Sized kSized[] = {{{2, 3, 1, 2, 2, 3}},
                        {{2, 3, 2, 2, 3}, 1},
                        {{3, 4, 5}, 2},
                        {{8}},
                        {{9, 7}},
                        {{31}},
                        {{33, 3}},
                        {{63}},
                        {{64}},
                        {{127}},
                        {{129}},
                        {{5, 0, 2}},
                        {{3, 0}},
                        {{0, 7}},
                        {{1, 1, 1, 1}},
                        {{2, 17, 3, 5}, 1},
                        {{2, 3, 2, 2, 3, 2}, 2},
                        {{1023}},
                        {{3, 4096}, 0, true},
                        {{65537}, 0, true},
                        {{2, 1, 3, 2, 1, 2, 3}},
                        {{2, 2, 1, 2, 3, 1, 2, 2}, 2}};
constexpr Values kData[] = {Values::kStatistical, Values::kNan, Values::kSpread, Values::kSpecial};

Maker unary_maker(const UnaryRow& row, etb_dtype dtype, uint32_t order, Values data) {
  return [&row, dtype, order, data](const Sizes& sizes) {
    const Shape shape{dtype, sizes, order_of(sizes.size(), order)};
    Shape result = shape;
    result.dtype = result_dtype(row.gives, dtype);
    OpForm form{row.op, {{shape, data, row.domain}}, {value_arg(0, "self")}, {result}};
    form.error_model = error_model_of(row.rule, row.ulps);
    form.widen_integers = row.gives == Gives::kReal;
    return form;
  };
}

void add_unary_row(CaseList& out, const UnaryRow& row, etb_dtype dtype) {
  size_t index = hash_text(row.op) % 4 + static_cast<size_t>(dtype), at = 0;
  for (const Sized& sized : kSized) {
    ++index;
    if (!is_drawn(row.op, dtype, at++) || (sized.is_large && dtype != ETB_DTYPE_FLOAT32)) continue;
    Values data = kData[index % 4];
    if (!row.has_special && data != Values::kNan) data = Values::kStatistical;
    if (dtype == ETB_DTYPE_BOOL || (!row.has_special && !is_floating(dtype))) data = Values::kStatistical;
    add_form(out, dtype, unary_maker(row, dtype, sized.order, data)(sized.sizes));
  }
  const Sizes bases[] = {{3, 4, 5}, {2, 3, 4, 5}, {6}, {4, 7}, {2, 2, 3, 2, 2}, {2, 3, 2, 2, 1, 2}};
  const size_t count = dtype == ETB_DTYPE_FLOAT32 ? 3 : 1;
  for (size_t i = 0; i < count; ++i)
    add_dynamic_forms(out, dtype,
                      unary_maker(row, dtype, index % 3 == 0 && i == 1 ? 1 : 0, Values::kStatistical),
                      bases[(index + i) % 6], index / 2 + i);
}

Maker conversion_maker(etb_dtype from, etb_dtype to, uint32_t order, Values data) {
  return [=](const Sizes& sizes) {
    const Shape shape{from, sizes, order_of(sizes.size(), order)};
    Shape result = shape;
    result.dtype = to;
    // Reals beyond an integer's range and negative ones to unsigned are undefined.
    const Domain domain = to == ETB_DTYPE_UINT8 ? Domain{0, 100} : Domain{-100, 100};
    OpForm form{"aten._to_copy.default",
                {{shape, data, domain}},
                {value_arg(0, "self"), graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, to, "dtype")},
                {result}};
    form.error_model = error_model_of(is_floating(to) ? Rule::kRounded : Rule::kExact, kHalf);
    return form;
  };
}

void add_conversion(CaseList& out, etb_dtype from, etb_dtype to) {
  const bool is_real = is_floating(from) && is_floating(to);
  const Sized sized[] = {{{2, 3, 4, 5}, 1}, {{2, 1, 3, 2, 2, 3}}, {{}}, {{0, 3}}, {{129}}, {{3, 5, 4}, 2}};
  size_t at = static_cast<size_t>(from) * 5 + static_cast<size_t>(to);
  for (size_t i = 0; i < (is_real ? 6 : 2); ++i, ++at) {
    const Values data =
        is_real && i % 2 == 0 ? (i == 4 ? Values::kSpecial : Values::kNan) : Values::kStatistical;
    add_form(out, from, conversion_maker(from, to, sized[at % 6].order, data)(sized[at % 6].sizes));
  }
  if (is_real || at % 4 == 0)
    add_dynamic_forms(out, from, conversion_maker(from, to, 0, Values::kStatistical), {3, 4, 5}, at);
}

Maker scalar_maker(const ScalarRow& row, etb_dtype dtype, double value, uint32_t order, Values data) {
  return [&row, dtype, value, order, data](const Sizes& sizes) {
    const Shape shape{dtype, sizes, order_of(sizes.size(), order)};
    Shape result = shape;
    result.dtype = result_dtype(row.gives, dtype);
    OpForm form{row.op,
                {{shape, data}},
                {value_arg(0, "self"), value == std::floor(value)
                                           ? graph::int_arg(static_cast<int64_t>(value), row.argument)
                                           : graph::float_arg(value, row.argument)},
                {result}};
    form.error_model = error_model_of(row.rule, kHalf);
    form.widen_integers = row.gives == Gives::kReal;
    return form;
  };
}

// Attributes of an op with a number.
struct Scaled {
  double number = 0;
  Sizes sizes;
  Values values = Values::kStatistical;
  uint32_t order = 0;
};

const std::vector<Scaled>& scalar_rows_of_design() {
  static const std::vector<Scaled> rows = [] {
    DesignOf<Scaled> design;
    design.add(&Scaled::number, {-3, 1, 2, 0.5, -2.25, 0});
    design.add(&Scaled::sizes,
               {{}, {65}, {3, 5}, {2, 3, 4}, {2, 3, 4, 5}, {2, 1, 3, 2, 2}, {2, 3, 1, 2, 2, 2}});
    design.add_all(&Scaled::values, kData);
    design.add(&Scaled::order, {0, 1, 2});
    return design.rows("scalar");
  }();
  return rows;
}

void add_scalar_row(CaseList& out, const ScalarRow& row, etb_dtype dtype) {
  size_t at = 0;
  for (const Scaled& scaled : scalar_rows_of_design()) {
    const double number = scaled.number;
    const bool is_whole = number == std::floor(number);
    const bool divides = row.gives == Gives::kReal ||
                         std::string_view(row.op).find("mod") != std::string::npos ||
                         std::string_view(row.op).find("remainder") != std::string::npos;
    if (!is_drawn(row.op, dtype, at++) || (!is_floating(dtype) && !is_whole) || (divides && number == 0))
      continue;
    if ((dtype == ETB_DTYPE_UINT8 || dtype == ETB_DTYPE_BOOL) && number < 0) continue;
    const Values data = dtype == ETB_DTYPE_BOOL || divides ? Values::kStatistical : scaled.values;
    const Maker maker = scalar_maker(row, dtype, number, scaled.order, data);
    add_form(out, dtype, maker(scaled.sizes));
    if (at % 12 == 1 && is_floating(dtype)) add_dynamic_forms(out, dtype, maker, scaled.sizes, at);
  }
}

}  // namespace

void add_unary_designs(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes) {
    for (const UnaryRow& row : unary_rows())
      if (takes(row.takes, dtype)) add_unary_row(out, row, dtype);
    for (const etb_dtype to : kAllDtypes)
      if (dtype != to) add_conversion(out, dtype, to);
  }
}

void add_scalar_designs(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes)
    for (const ScalarRow& row : scalar_rows())
      if (takes(row.takes, dtype)) add_scalar_row(out, row, dtype);
}

}  // namespace etb::conformance
