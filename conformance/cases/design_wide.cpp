// SPDX-License-Identifier: Apache-2.0
// Sizes and numbers beyond what a kernel takes at once: rows beside each other that are wider than a block, integers that
// differ in their last bits only, quotients next to an integer, one special number at the end of a long row.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;
using graph::bool_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::value_arg;

Sizes reduced(Sizes sizes, size_t dim, bool keeps) {
  if (keeps)
    sizes[dim] = 1;
  else
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  return sizes;
}

// ---- wide rows beside each other

void add_running(CaseList& out, etb_dtype dtype, const Sizes& sizes, int64_t dim) {
  const Shape shape{dtype, sizes, {}}, places{ETB_DTYPE_INT64, sizes, {}};
  const int64_t length = sizes[static_cast<size_t>(dim)];
  for (const char* op : {"aten.cumsum.default", "aten.cumprod.default", "aten.cummax.default",
                         "aten.cummin.default", "aten.logcumsumexp.default"}) {
    const std::string_view name = op;
    const bool is_log = name == "aten.logcumsumexp.default", is_product = name == "aten.cumprod.default",
               is_sum = name == "aten.cumsum.default";
    if (is_log && !is_floating(dtype)) continue;
    Shape result = shape;
    if (!is_floating(dtype) && (is_sum || is_product)) result.dtype = ETB_DTYPE_INT64;
    const Domain domain = is_product ? (is_floating(dtype) ? Domain{0.75, 1.5} : Domain{1, 2}) : Domain{};
    OpForm form{
        op, {{shape, Values::kStatistical, domain}}, {value_arg(0, "self"), int_arg(dim, "dim")}, {result}};
    if (!is_sum && !is_product && !is_log) form.results.push_back(places);
    if (is_floating(dtype) && is_sum) form.error_model = sum_model(Values::kStatistical, length + 1, 1);
    if (is_floating(dtype) && is_product) form.error_model = rounded_model(static_cast<double>(length) + 1);
    if (is_log)
      form.error_model = rounded_model(8, 8 * std::sqrt(static_cast<double>(length)) + 8, twice_the_largest);
    add_form(out, dtype, std::move(form));
  }
}

void add_reductions(CaseList& out, etb_dtype dtype, const Sizes& sizes, int64_t dim) {
  const auto at = static_cast<size_t>(dim);
  const Shape shape{dtype, sizes, {}};
  for (const bool keeps : {true, false}) {
    const auto add = [&](const char* op, ArgumentDesc where, etb_dtype result, const ErrorModel& model) {
      OpForm form{op,
                  {{shape}},
                  {value_arg(0, "self"), std::move(where), bool_arg(keeps, "keepdim")},
                  {{result, reduced(sizes, at, keeps), {}}}};
      form.error_model = model;
      add_form(out, dtype, std::move(form));
    };
    const ErrorModel sum =
        is_floating(dtype) ? sum_model(Values::kStatistical, sizes[at], 1) : exact_model(Rule::kExact);
    add("aten.sum.dim_IntList", ints_arg({dim}, "dim"),
        is_floating(dtype) ? dtype : static_cast<etb_dtype>(ETB_DTYPE_INT64), sum);
    add("aten.amax.default", ints_arg({dim}, "dim"), dtype, exact_model(Rule::kExactValue));
    add("aten.amin.default", ints_arg({dim}, "dim"), dtype, exact_model(Rule::kExactValue));
    add("aten.argmax.default", int_arg(dim, "dim"), ETB_DTYPE_INT64, exact_model(Rule::kExact));
  }
  if (!is_floating(dtype)) return;
  OpForm softmax{"aten._softmax.default",
                 {{shape}},
                 {value_arg(0, "self"), int_arg(dim, "dim"), bool_arg(false, "half_to_float")},
                 {shape}};
  softmax.error_model = rounded_model(16, 4);
  add_form(out, dtype, std::move(softmax));
}

// ---- integers with more digits than a double

// Numbers from 2^53 to 2^62 whose neighbours are 1 apart, of both signs, in a mixed order. In every second pair both
// operands are equal.
void fill_with_digits(TensorData& data, uint32_t operand) {
  for (int64_t i = 0; i < data.shape.numel(); ++i) {
    const int64_t base = (int64_t{1} << (53 + i / 8 % 10)) + 1;
    const int64_t near = (i * 5 + (operand != 0 && i % 2 == 0 ? 1 : 0)) % 8;
    const int64_t value = i % 3 == 0 ? -base - near : base + near;
    std::memcpy(data.bytes.data() + static_cast<size_t>(i) * sizeof value, &value, sizeof value);
  }
}

Operand digits(const Sizes& sizes, uint32_t operand = 0) {
  Operand out{{ETB_DTYPE_INT64, sizes, {}}};
  out.fill = [operand](TensorData& data, Random&) { fill_with_digits(data, operand); };
  return out;
}

void add_digits_of(CaseList& out, const char* op, const Sizes& sizes, std::vector<ArgumentDesc> args,
                   std::vector<Shape> results, size_t operand_count = 1, std::vector<uint32_t> outputs = {}) {
  OpForm form;
  form.op = op;
  for (uint32_t i = 0; i < operand_count; ++i) form.operands.push_back(digits(sizes, i));
  form.args = std::move(args);
  form.results = std::move(results);
  form.outputs = std::move(outputs);
  form.word = "digits";
  form.error_model = exact_model(Rule::kExact);
  add_form(out, ETB_DTYPE_INT64, std::move(form));
}

// Running and whole sums that leave 32 bits, some after a few elements only.
void add_long_sums(CaseList& out, etb_dtype dtype) {
  const Sizes sizes = {3, 70};
  const double step = dtype == ETB_DTYPE_INT64 ? 8589934597 : 268435459;  // 2^33 + 5, 2^28 + 3
  Operand numbers{{dtype, sizes, {}}};
  numbers.fill = [step](TensorData& data, Random&) {
    data = filled(data.shape, [step](int64_t i) {
      return (i / 70 == 1 ? -1.0 : 1.0) * (step + static_cast<double>(i % 7));
    });
  };
  const auto add = [&](const char* op, std::vector<ArgumentDesc> args, const Sizes& result) {
    OpForm form{op, {numbers}, {value_arg(0, "self")}, {{ETB_DTYPE_INT64, result, {}}}};
    form.args.insert(form.args.end(), args.begin(), args.end());
    form.word = "long_sums";
    form.error_model = exact_model(Rule::kExact);
    add_form(out, dtype, std::move(form));
  };
  for (const int64_t dim : {0, 1}) add("aten.cumsum.default", {int_arg(dim, "dim")}, sizes);
  for (const int64_t dim : {0, 1})
    add("aten.sum.dim_IntList", {ints_arg({dim}, "dim"), bool_arg(true, "keepdim")},
        reduced(sizes, static_cast<size_t>(dim), true));
}

void add_digits(CaseList& out, const Sizes& sizes) {
  constexpr etb_dtype kLong = ETB_DTYPE_INT64;
  const Shape same{kLong, sizes, {}}, truth{ETB_DTYPE_BOOL, sizes, {}};
  const size_t last = sizes.size() - 1;
  const auto dim = static_cast<int64_t>(last);
  for (const char* op : {"aten.eq.Tensor", "aten.ne.Tensor", "aten.lt.Tensor", "aten.le.Tensor",
                         "aten.gt.Tensor", "aten.ge.Tensor"})
    add_digits_of(out, op, sizes, {value_arg(0, "self"), value_arg(1, "other")}, {truth}, 2);
  for (const char* op : {"aten.maximum.default", "aten.minimum.default", "aten.add.Tensor", "aten.sub.Tensor",
                         "aten.bitwise_xor.Tensor", "aten.remainder.Tensor"})
    add_digits_of(out, op, sizes, {value_arg(0, "self"), value_arg(1, "other")}, {same}, 2);
  for (const char* op : {"aten.abs.default", "aten.neg.default", "aten.relu.default", "aten.clone.default"})
    add_digits_of(out, op, sizes, {value_arg(0, "self")}, {same});
  for (const bool flag : {false, true}) {
    add_digits_of(
        out, "aten.sort.stable", sizes,
        {value_arg(0, "self"), bool_arg(true, "stable"), int_arg(dim, "dim"), bool_arg(flag, "descending")},
        {same, same});
    Shape few = same;
    few.sizes[last] = std::min<int64_t>(3, sizes[last]);
    add_digits_of(out, "aten.topk.default", sizes,
                  {value_arg(0, "self"), int_arg(few.sizes[last], "k"), int_arg(dim, "dim"),
                   bool_arg(flag, "largest"), bool_arg(true, "sorted")},
                  {few, few}, 1, {0});
  }
  for (const char* op : {"aten.amax.default", "aten.amin.default"})
    add_digits_of(out, op, sizes, {value_arg(0, "self"), ints_arg({dim}, "dim"), bool_arg(true, "keepdim")},
                  {{kLong, reduced(sizes, last, true), {}}});
  for (const char* op : {"aten.argmax.default", "aten.argmin.default"})
    add_digits_of(out, op, sizes, {value_arg(0, "self"), int_arg(dim, "dim"), bool_arg(true, "keepdim")},
                  {{kLong, reduced(sizes, last, true), {}}});
  for (const char* op : {"aten.cummax.default", "aten.cummin.default"})
    add_digits_of(out, op, sizes, {value_arg(0, "self"), int_arg(dim, "dim")}, {same, same}, 1, {0});
  const auto limit = [&](size_t i) { return int_arg((int64_t{1} << 55) + 3, i == 0 ? "min" : "max"); };
  add_digits_of(out, "aten.clamp.default", sizes, {value_arg(0, "self"), limit(0)}, {same});
  add_digits_of(out, "aten.clamp.default", sizes, {value_arg(0, "self"), graph::none_arg("min"), limit(1)},
                {same});
  for (const char* op : {"aten.eq.Scalar", "aten.lt.Scalar", "aten.ge.Scalar"})
    add_digits_of(out, op, sizes, {value_arg(0, "self"), int_arg((int64_t{1} << 53) + 1, "other")}, {truth});
  for (const char* op : {"aten.max.dim", "aten.min.dim"})
    add_digits_of(out, op, sizes, {value_arg(0, "self"), int_arg(dim, "dim"), bool_arg(true, "keepdim")},
                  {{kLong, reduced(sizes, last, true), {}}, {kLong, reduced(sizes, last, true), {}}}, 1, {0});
  add_digits_of(out, "aten.median.dim", sizes,
                {value_arg(0, "self"), int_arg(dim, "dim"), bool_arg(true, "keepdim")},
                {{kLong, reduced(sizes, last, true), {}}, {kLong, reduced(sizes, last, true), {}}}, 1, {0});
}

// ---- quotients next to an integer

// Products of a whole number and the divisor, as the dtype rounds them: the quotient is a whole number or just beside it.
void add_near_quotients(CaseList& out, etb_dtype dtype) {
  const Shape shape{dtype, {6, 41}, {}};
  static constexpr double kDivisors[] = {0.1, 0.3, -0.7, 1.1, -3.3, 0.01};
  const auto divisor = [](int64_t i) { return kDivisors[i / 41]; };
  const auto rounded = [dtype](double x) {
    return dtype == ETB_DTYPE_FLOAT32 ? static_cast<double>(static_cast<float>(x)) : x;
  };
  const auto product = [=](int64_t i) {
    const double whole = static_cast<double>(i % 41 - 20);
    return whole == 0 ? 0.0 : rounded(whole * rounded(divisor(i)));
  };
  const auto add = [&](const char* op, std::vector<ArgumentDesc> more, const ErrorModel& model) {
    OpForm form{op, {{shape}, {shape}}, {value_arg(0, "self"), value_arg(1, "other")}, {shape}};
    form.operands[0].fill = [=](TensorData& data, Random&) { data = filled(data.shape, product); };
    form.operands[1].fill = [=](TensorData& data, Random&) { data = filled(data.shape, divisor); };
    form.args.insert(form.args.end(), more.begin(), more.end());
    form.error_model = model;
    form.word = "near_whole";
    add_form(out, dtype, std::move(form));
  };
  const ErrorModel exact = exact_model(Rule::kExactValue);
  add("aten.div.Tensor_mode", {graph::string_arg("floor", "rounding_mode")}, exact);
  add("aten.floor_divide.default", {}, exact);
  add("aten.fmod.Tensor", {}, exact);
}

// ---- one special number in a long row

void add_single_special(CaseList& out, etb_dtype dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::nan("");
  struct Special {
    const char* word;
    double value;
  };
  for (const int64_t length : {70, 129, 1027})
    for (const auto& [word, value] : {Special{"nan", kNan}, {"inf", kInfinity}, {"minus_inf", -kInfinity}})
      for (const int64_t place : {int64_t{0}, length / 2, length - 1}) {
        const Shape shape{dtype, {3, length}, {}};
        const auto add = [&](const char* op, std::vector<ArgumentDesc> more, std::vector<Shape> results,
                             const ErrorModel& model) {
          OpForm form{op, {{shape}}, {value_arg(0, "self")}, std::move(results)};
          form.operands[0].fill = [length, place, value = value](TensorData& data, Random& random) {
            const int64_t start = random.between(0, 30);
            // The second row has no special number.
            data = filled(data.shape, [&](int64_t i) {
              const bool is_special = i % length == place && i / length != 1;
              return is_special ? value : static_cast<double>((i * 7 + start) % 61 - 30) / 8;
            });
          };
          form.args.insert(form.args.end(), more.begin(), more.end());
          form.error_model = model;
          form.word = std::string(word) + "_at_" + std::to_string(place);
          add_form(out, dtype, std::move(form));
        };
        const Shape reduced_shape{dtype, {3}, {}}, places{ETB_DTYPE_INT64, {3}, {}};
        const std::vector<ArgumentDesc> dims = {ints_arg({1}, "dim"), bool_arg(false, "keepdim")},
                                        dim = {int_arg(1, "dim"), bool_arg(false, "keepdim")};
        const ErrorModel exact = exact_model(Rule::kExactValue);
        add("aten.amax.default", dims, {reduced_shape}, exact);
        add("aten.amin.default", dims, {reduced_shape}, exact);
        if (value != value) {
          add("aten.argmax.default", dim, {places}, exact);
          add("aten.max.dim", dim, {reduced_shape, places}, exact);
        }
      }
}

}  // namespace

void add_wide_designs(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_INT32}) {
    for (const Sizes& sizes : {Sizes{2, 5, 700}, {1, 3, 1031}}) {
      add_running(out, dtype, sizes, 1);
      add_reductions(out, dtype, sizes, 1);
    }
    add_running(out, dtype, {4, 2100}, 0);
    add_reductions(out, dtype, {4, 2100}, 0);
    // Long columns of few rows beside each other.
    for (const auto& [sizes, dim] : {std::pair<Sizes, int64_t>{{131, 3}, 0}, {{2, 70, 5}, 1}}) {
      add_running(out, dtype, sizes, dim);
      add_reductions(out, dtype, sizes, dim);
    }
  }
  for (const Sizes& sizes : {Sizes{80}, {3, 27}, {2, 3, 16}}) add_digits(out, sizes);
  for (const etb_dtype dtype : {ETB_DTYPE_INT64, ETB_DTYPE_INT32}) add_long_sums(out, dtype);
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64}) {
    add_near_quotients(out, dtype);
    add_single_special(out, dtype);
  }
}

}  // namespace etb::conformance
