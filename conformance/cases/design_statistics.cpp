// SPDX-License-Identifier: Apache-2.0
// Norms with the batch's own statistics, rms norm, and variances together with means. Values with a large mean and
// with a variance no larger than eps show what ordinary values hide.
#include <algorithm>
#include <cmath>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::bool_arg;
using graph::float_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::none_arg;
using graph::value_arg;

// Returns a maker of a norm's form at other sizes of its input.
template <class Norm>
Maker maker_of(const Norm& base, OpForm (*form)(const Norm&)) {
  return [base, form](const Sizes& sizes) {
    Norm norm = base;
    norm.shape.sizes = sizes;
    return form(norm);
  };
}

// Adds the case, and for every second row a dynamic one.
void add_row(CaseList& out, const Shape& shape, const Maker& maker, size_t at, Moving moving) {
  add_form(out, shape.dtype, maker(shape.sizes));
  if (at % 2 == 0)
    add_dynamic_form(out, shape.dtype, maker, shape.sizes, moving, static_cast<Order>(at / 2 % 3));
}

// ---- rms norm

struct RmsNorm {
  Shape shape;
  int64_t normalised = 1;  // trailing dimensions
  double eps = 1e-5;
  bool has_eps = true, has_weight = true, is_constant = true;
  Values values = Values::kStatistical;

  Sizes row() const { return {shape.sizes.end() - normalised, shape.sizes.end()}; }
  double length() const {
    double count = 1;
    for (const int64_t size : row()) count *= static_cast<double>(size);
    return count;
  }
  double used_eps() const {
    if (has_eps) return eps;
    return shape.dtype == ETB_DTYPE_FLOAT64 ? 0x1p-52 : 0x1p-23;  // the eps of the type that computes
  }
};

// x / sqrt(mean(x * x) + eps) * weight
void add_reference(const RmsNorm& n, ReferenceForm& out) {
  Shape mean = n.shape;
  std::fill(mean.sizes.end() - n.normalised, mean.sizes.end(), 1);
  Numbers dims;
  for (int64_t d = -n.normalised; d < 0; ++d) dims.push_back(d);
  FormNodes nodes(out.nodes, n.has_weight ? 2 : 1);
  const uint32_t square =
      nodes.add("aten.mul.Tensor", {value_arg(0, "self"), value_arg(0, "other")}, n.shape);
  const uint32_t average = nodes.add(
      "aten.mean.dim", {value_arg(square, "self"), ints_arg(dims, "dim"), bool_arg(true, "keepdim")}, mean);
  const uint32_t moved =
      nodes.add("aten.add.Scalar", {value_arg(average, "self"), float_arg(n.used_eps(), "other")}, mean);
  const uint32_t factor = nodes.add("aten.rsqrt.default", {value_arg(moved, "self")}, mean);
  const uint32_t scaled =
      nodes.add("aten.mul.Tensor", {value_arg(0, "self"), value_arg(factor, "other")}, n.shape);
  if (n.has_weight) nodes.add("aten.mul.Tensor", {value_arg(scaled, "self"), value_arg(1, "other")}, n.shape);
}

OpForm rms_form(const RmsNorm& n) {
  OpForm form;
  form.op = "aten.rms_norm.default";
  form.operands = {{n.shape, n.values}};
  if (n.has_weight)
    form.operands.push_back({{n.shape.dtype, n.row(), {}}, Values::kStatistical, {0.5, 2}, n.is_constant});
  form.args = {value_arg(0, "input"), ints_arg(n.row(), "normalized_shape"),
               n.has_weight ? value_arg(1, "weight") : none_arg("weight"),
               n.has_eps ? float_arg(n.eps, "eps") : none_arg("eps")};
  form.results = {n.shape};
  // An element is at most sqrt(length) times the root of the mean square, and the weight at most 2.
  form.error_model = rounded_model(4 + std::sqrt(n.length()), 4);
  form.error_model.magnitude = fixed_magnitude(2);
  add_reference(n, form.reference);
  return form;
}

void add_rms_norms(CaseList& out, const std::vector<etb_dtype>& dtypes, const std::string& seed) {
  DesignOf<RmsNorm> design;
  design.add([](RmsNorm& n) -> Sizes& { return n.shape.sizes; },
             {{7},
              {3, 8},
              {2, 17},
              {5, 64},
              {2, 3, 31},
              {4, 1, 65},
              {2, 3, 4, 5},
              {2, 257},
              {3, 1031},
              {1, 2, 3, 33},
              {17, 2}});
  design.add(&RmsNorm::normalised, {1, 1, 2, 3});
  design.add([](RmsNorm& n) -> etb_dtype& { return n.shape.dtype; }, dtypes);
  design.add(&RmsNorm::eps, {1e-5, 1e-6, 1e-3, 0.1});
  design.add(&RmsNorm::has_eps, {true, true, false});
  design.add(&RmsNorm::has_weight, {true, false});
  design.add(&RmsNorm::is_constant, {true, true, false});
  design.add(&RmsNorm::values, {Values::kStatistical, Values::kOffset, Values::kSpread, Values::kSmall});
  size_t at = 0;
  for (RmsNorm n : design.rows(seed)) {
    n.normalised = std::min<int64_t>(n.normalised, static_cast<int64_t>(n.shape.sizes.size()));
    // The default of 16-bit floats is not the same everywhere.
    n.has_eps = n.has_eps || is_half(n.shape.dtype);
    ++at;
    add_row(out, n.shape, maker_of(n, rms_form), at, at % 4 == 0 ? Moving::kFirst : Moving::kMiddle);
  }
}

// ---- batch norm with the statistics of the batch

struct TrainingNorm {
  Shape shape;
  double eps = 1e-5, momentum = 0.1;
  bool has_affine = true, is_functional = false;
  Values values = Values::kStatistical;

  Shape row() const { return {shape.dtype, {shape.sizes[1]}, {}}; }
  double count() const { return static_cast<double>(shape.numel() / shape.sizes[1]); }
};

// The running statistics move by `momentum` to the mean and the unbiased variance of the batch.
void add_running_statistics(const TrainingNorm& n, const std::vector<graph::ArgumentDesc>& norm_args,
                            ReferenceForm& out) {
  Numbers dims = {0};
  for (size_t d = 2; d < n.shape.sizes.size(); ++d) dims.push_back(static_cast<int64_t>(d));
  const Shape row = n.row();
  const uint32_t mean = n.has_affine ? 3 : 1, var = mean + 1, first = var + 1;
  FormNodes nodes(out.nodes, first);
  const auto scaled = [&](uint32_t x, double factor) {
    return nodes.add("aten.mul.Scalar", {value_arg(x, "self"), float_arg(factor, "other")}, row);
  };
  const auto sum = [&](uint32_t a, uint32_t b) {
    return nodes.add("aten.add.Tensor", {value_arg(a, "self"), value_arg(b, "other")}, row);
  };
  nodes.add("aten._native_batch_norm_legit.no_stats", norm_args, std::vector<Shape>{n.shape, row, row});
  const uint32_t new_mean = sum(scaled(first + 1, n.momentum), scaled(mean, 1 - n.momentum));
  const uint32_t unbiased = nodes.add(
      "aten.var.correction",
      {value_arg(0, "self"), ints_arg(dims, "dim"), int_arg(1, "correction"), bool_arg(false, "keepdim")},
      row);
  const uint32_t new_var = sum(scaled(unbiased, n.momentum), scaled(var, 1 - n.momentum));
  out.outputs = {0, 1, 2, new_mean - first, new_var - first};
}

// The mean has an error of some 4 sqrt(n) roundings of the largest input, which 1 / deviation and the weight (at most
// 2) multiply.
ErrorModel training_model(const TrainingNorm& n) {
  ErrorModel out = rounded_model(4, 4 * std::sqrt(n.count()) + 8);
  const double eps = n.eps;
  out.magnitude = [eps, values = n.values](const std::vector<TensorData>& inputs) {
    const double largest = twice_the_largest({inputs[0]})[0];
    const double deviation = values == Values::kSmall ? 1.0 / 128 : 0.125;
    const double r = 1 / std::sqrt(deviation * deviation + eps);
    return std::vector<double>{std::max({(largest + 1) * r * 2, r * largest * r, largest * largest}) + 2};
  };
  return out;
}

OpForm training_form(const TrainingNorm& n) {
  OpForm form;
  const Shape row = n.row();
  form.operands = {{n.shape, n.values}};
  form.args = {value_arg(0, "input"), none_arg("weight"), none_arg("bias")};
  if (n.has_affine) {
    form.operands.push_back({row, Values::kStatistical, {0.5, 2}, true});
    form.operands.push_back({row, Values::kStatistical, {-1, 1}, true});
    form.args[1] = value_arg(1, "weight");
    form.args[2] = value_arg(2, "bias");
  }
  std::vector<graph::ArgumentDesc> plain = form.args;
  form.results = {n.shape, row, row};
  if (n.is_functional) {
    const auto mean = static_cast<uint32_t>(form.operands.size());
    form.operands.push_back({row, Values::kStatistical, {-1, 1}});
    form.operands.push_back({row, Values::kStatistical, {0.5, 2}});
    form.args.push_back(value_arg(mean, "running_mean"));
    form.args.push_back(value_arg(mean + 1, "running_var"));
    form.results.insert(form.results.end(), {row, row});
  }
  for (std::vector<graph::ArgumentDesc>* args : {&form.args, &plain})
    args->insert(args->end(),
                 {bool_arg(true, "training"), float_arg(n.momentum, "momentum"), float_arg(n.eps, "eps")});
  form.op = n.is_functional ? "aten._native_batch_norm_legit_functional.default"
                            : "aten._native_batch_norm_legit.no_stats";
  form.error_model = training_model(n);
  if (is_half(n.shape.dtype)) form.outputs = {0};  // statistics are float32 or have the input's dtype
  if (n.is_functional) add_running_statistics(n, plain, form.reference);
  return form;
}

void add_training_norms(CaseList& out) {
  struct Row : TrainingNorm {
    bool is_last = false;
  };
  DesignOf<Row> design;
  design.add(
      [](Row& n) -> Sizes& { return n.shape.sizes; },
      {{8, 6}, {4, 3, 5}, {2, 17, 9}, {2, 3, 4, 5}, {3, 8, 7, 3}, {1, 5, 5, 4}, {2, 4, 2, 3, 5}, {33, 2}});
  design.add([](Row& n) -> etb_dtype& { return n.shape.dtype; },
             {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64});
  design.add(&Row::eps, {1e-5, 1e-3, 0.1});
  design.add(&Row::momentum, {0.1, 0.5});
  design.add(&Row::has_affine, {true, false});
  design.add(&Row::is_functional, {false, true});
  design.add(&Row::is_last, {false, true});
  design.add(&Row::values, {Values::kStatistical, Values::kOffset, Values::kSmall});
  size_t at = 0;
  for (Row n : design.rows("batch norm in training")) {
    if (n.is_last && n.shape.sizes.size() == 4) n.shape.dim_order = channels_last(4);
    ++at;
    const Maker maker = maker_of<TrainingNorm>(n, training_form);
    // A batch of one element has no unbiased variance.
    if (n.shape.sizes.size() > 2)
      add_row(out, n.shape, maker, at, Moving::kFirst);
    else
      add_form(out, n.shape.dtype, maker(n.shape.sizes));
  }
}

// ---- deviations, and variances with means

OpForm spread_form(const Shape& shape, const Numbers& dims, bool keeps, int64_t correction,
                   bool is_deviation) {
  Shape result{shape.dtype, {}, {}};
  for (size_t d = 0; d < shape.sizes.size(); ++d) {
    const bool is_reduced = std::any_of(dims.begin(), dims.end(),
                                        [&](int64_t dim) { return wrapped(dim, shape.sizes.size()) == d; });
    if (!is_reduced || keeps) result.sizes.push_back(is_reduced ? 1 : shape.sizes[d]);
  }
  const double count = static_cast<double>(shape.numel() / std::max<int64_t>(result.numel(), 1));
  OpForm form;
  form.op = is_deviation ? "aten.std.correction" : "aten.var_mean.correction";
  form.operands = {{shape}};
  form.args = {value_arg(0, "self"), ints_arg(dims, "dim"), int_arg(correction, "correction"),
               bool_arg(keeps, "keepdim")};
  form.results = {result};
  form.error_model = rounded_model(4, 4 * std::sqrt(count) + 8, fixed_magnitude(64));
  if (!is_deviation) {
    form.results.push_back(result);
    return form;
  }
  FormNodes nodes(form.reference.nodes, 1);
  const uint32_t var = nodes.add("aten.var.correction", form.args, result);
  nodes.add("aten.sqrt.default", {value_arg(var, "self")}, result);
  return form;
}

void add_spreads(CaseList& out) {
  Design design;
  const auto sizes = design.add<Sizes>({{33}, {5, 9}, {3, 4, 7}, {2, 3, 4, 5}, {2, 257}});
  const auto place = design.add_all(kAllPlaces);
  const auto has_two = design.add<bool>({false, true}), is_negative = design.add<bool>({false, true}),
             keeps = design.add<bool>({false, true}), is_deviation = design.add<bool>({false, true});
  const auto correction = design.add<int64_t>({0, 1, 2});
  const auto dtype = design.add<etb_dtype>(
      {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64});
  const auto order = design.add<uint32_t>({0, 1, 2});
  for (const Levels& row : design.rows("deviations")) {
    const size_t rank = sizes(row).size(), dim = dim_at(rank, place(row));
    Numbers dims = {signed_dim(dim, rank, is_negative(row))};
    if (has_two(row) && rank > 1) dims.push_back(signed_dim(dim == 0 ? 1 : dim - 1, rank, false));
    add_form(out, dtype(row),
             spread_form({dtype(row), sizes(row), order_of(rank, order(row))}, dims, keeps(row),
                         correction(row), is_deviation(row)));
  }
}

}  // namespace

void add_statistics_designs(CaseList& out) {
  add_rms_norms(out, {ETB_DTYPE_FLOAT32}, "rms norm");
  add_rms_norms(out, {ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64}, "rms norm, other types");
  add_training_norms(out);
  add_spreads(out);
}

}  // namespace etb::conformance
