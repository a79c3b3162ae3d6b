// SPDX-License-Identifier: Apache-2.0
// Softmax and norms by designs over all attributes. Values with a large mean, with a wide spread, and with a
// variance no larger than eps show what ordinary values hide.
#include <algorithm>
#include <cmath>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::int_arg;
using graph::value_arg;

const std::vector<etb_dtype> kFloat32 = {ETB_DTYPE_FLOAT32},
                             kOthers = {ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64};

// ---- softmax

struct Softmax {
  bool is_log = false;
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Shape shape;
  int64_t dim = -1;  // negative or not
  double reach = 4, center = 0;
  bool is_large = false;
  bool has_masked = false;  // -inf at places, never in a whole row
  bool hides_row = false;   // -inf in all of the second row: NaN

  int64_t length() const {
    const auto rank = static_cast<int64_t>(shape.sizes.size());
    return shape.sizes[static_cast<size_t>(dim < 0 ? dim + rank : dim)];
  }
  const char* op() const { return is_log ? "aten._log_softmax.default" : "aten._softmax.default"; }
};

ErrorModel softmax_model(const Softmax& s) {
  ErrorModel out;
  out.rule = Rule::kRounded;
  out.ulps = 4;
  // The difference from the largest is rounded once: an error in the exponent of as many roundings as it is
  // large. Then comes the sum.
  const double length = static_cast<double>(s.length()), root = 4 * std::sqrt(length);
  out.steps = root + (s.is_log ? 4 : 2 * s.reach + 4);
  const double largest = 2 * (s.reach + std::abs(s.center)) + std::log(length) + 1;
  out.magnitude = fixed_magnitude(s.is_log ? largest : 1.0);
  return out;
}

OpForm softmax_form(const Softmax& s) {
  OpForm form;
  form.op = s.op();
  form.operands = {{s.shape, Values::kStatistical, {s.center - s.reach, s.center + s.reach}}};
  if (s.has_masked)
    form.operands[0].fill = [](TensorData& data, Random&) {
      for (int64_t i = 1; i < data.shape.numel(); i += 3)
        store_element(data.shape.dtype, data.bytes.data(), i, -HUGE_VAL);
    };
  if (s.hides_row)
    form.operands[0].fill = [](TensorData& data, Random&) {
      const int64_t length = data.shape.sizes.back();
      for (int64_t i = length; i < 2 * length; ++i)
        store_element(data.shape.dtype, data.bytes.data(), i, -HUGE_VAL);
    };
  form.args = {value_arg(0, "self"), int_arg(s.dim, "dim"), graph::bool_arg(false, "half_to_float")};
  form.results = {s.shape};
  form.error_model = softmax_model(s);
  form.word = "reach" + real_text(s.reach) + (s.center == 0 ? "" : "_at" + real_text(s.center)) +
              (s.has_masked ? ".masked" : "") + (s.hides_row ? ".hidden_row" : "") +
              (s.is_large ? ".large" : "");
  return form;
}

Maker maker_of(const Softmax& base) {
  return [base](const Sizes& sizes) {
    Softmax s = base;
    s.shape.sizes = sizes;
    return softmax_form(s);
  };
}

// A row of a design: a softmax whose shape has parts.
struct SoftmaxRow : Softmax {
  int64_t size = 1;                    // size of the dimension
  std::pair<Numbers, Numbers> around;  // sizes before and after the dimension
  bool is_negative = false, is_last = false;
};

Softmax softmax_of(const SoftmaxRow& row) {
  Softmax s = row;
  const auto& [before, after] = row.around;
  s.shape = {s.dtype, before, {}};
  s.shape.sizes.push_back(row.size);
  s.shape.sizes.insert(s.shape.sizes.end(), after.begin(), after.end());
  s.dim = row.is_negative ? -1 - static_cast<int64_t>(after.size()) : static_cast<int64_t>(before.size());
  if (row.is_last && s.shape.sizes.size() == 4) s.shape.dim_order = channels_last(4);
  if (is_half(s.dtype)) {
    s.reach = 4;
    s.center = 0;
  }
  // Elements of a row are apart by the sizes after the dimension: a masked third never fills a row.
  int64_t apart = 1;
  for (const int64_t size : after) apart *= size;
  s.has_masked = row.has_masked && !s.is_log && s.length() > 2 && apart % 3 != 0;
  return s;
}

void add_softmax_design(CaseList& out, bool is_log, const std::vector<etb_dtype>& dtypes,
                        const std::string& seed) {
  SoftmaxRow base;
  base.is_log = is_log;
  DesignOf<SoftmaxRow> design(base);
  design.add(&SoftmaxRow::dtype, dtypes);
  design.add(&SoftmaxRow::size, {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 127, 255, 257, 1031});
  design.add(&SoftmaxRow::around, {{{}, {}},
                                   {{3}, {}},
                                   {{2, 5}, {}},
                                   {{}, {4}},
                                   {{3}, {5}},
                                   {{2}, {3, 4}},
                                   {{2, 3, 2}, {}},
                                   {{1, 17}, {2}}});
  design.add(&SoftmaxRow::is_negative, {true, false});
  design.add(&SoftmaxRow::is_last, {false, false, true});
  design.add(&SoftmaxRow::has_masked, {false, false, true});
  design.add(&SoftmaxRow::reach, {4, 30, 80});
  design.add(&SoftmaxRow::center, {0, 0, 1000, -1000});
  size_t at = 0;
  for (const SoftmaxRow& row : design.rows(seed)) {
    const Softmax s = softmax_of(row);
    add_form(out, s.dtype, softmax_form(s));
    // Elements of a moving dimension would be masked in other places.
    if (++at % 3 == 0 && !s.has_masked)
      add_dynamic_form(out, s.dtype, maker_of(s), s.shape.sizes, static_cast<Moving>(at / 3 % 5),
                       static_cast<Order>(at % 3));
  }
}

// ---- norms

enum class Kind { kLayer, kGroup, kBatch };

struct Norm {
  Kind kind = Kind::kLayer;
  Shape shape;
  int64_t normalised = 1;  // layer norm: trailing dimensions
  int64_t groups = 1;      // group norm
  double eps = 1e-5;
  bool has_weight = true, has_bias = true, is_constant = true, has_statistics = false, is_large = false;
  Values values = Values::kStatistical;

  const char* op() const {
    return kind == Kind::kLayer   ? "aten.native_layer_norm.default"
           : kind == Kind::kGroup ? "aten.native_group_norm.default"
                                  : "aten._native_batch_norm_legit_no_training.default";
  }
  // Number of elements with one mean.
  int64_t length() const {
    if (kind == Kind::kBatch) return 1;
    int64_t count = 1;
    const size_t first = kind == Kind::kLayer ? shape.sizes.size() - static_cast<size_t>(normalised) : 1;
    for (size_t d = first; d < shape.sizes.size(); ++d) count *= shape.sizes[d];
    return kind == Kind::kGroup ? count / groups : count;
  }
  Shape row() const {
    if (kind != Kind::kLayer) return {shape.dtype, {shape.sizes[1]}, {}};
    return {shape.dtype, {shape.sizes.end() - normalised, shape.sizes.end()}, {}};
  }
  Shape mean() const {
    if (kind == Kind::kBatch) return {shape.dtype, {0}, {}};
    if (kind == Kind::kGroup) return {shape.dtype, {shape.sizes[0], groups}, {}};
    Shape out{shape.dtype, shape.sizes, {}};
    std::fill(out.sizes.end() - normalised, out.sizes.end(), 1);
    return out;
  }
};

double magnitude_of(const TensorData& data) {
  double out = 0;
  for (int64_t i = 0; i < data.shape.numel(); ++i) {
    const double value = std::abs(load_element(data.shape.dtype, data.bytes.data(), i));
    if (std::isfinite(value)) out = std::max(out, value);
  }
  return out;
}

// Returns the largest 1 / sqrt(variance + eps) of rows that are `length` elements one after another in memory
// or, in another order, as a mixture: rows of one case have the same distribution.
double largest_rstd(const TensorData& data, int64_t length, double eps) {
  double out = 0;
  length = std::min(length, data.shape.numel());  // a case that was made smaller has fewer elements
  if (length == 0) return out;
  for (int64_t first = 0; first + length <= data.shape.numel(); first += length) {
    double sum = 0, squares = 0;
    const auto element = [&](int64_t i) {
      return load_element(data.shape.dtype, data.bytes.data(), first + i);
    };
    for (int64_t i = 0; i < length; ++i) sum += element(i);
    const double mean = sum / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i) squares += (element(i) - mean) * (element(i) - mean);
    if (std::isfinite(squares))
      out = std::max(out, 1 / std::sqrt(squares / static_cast<double>(length) + eps));
  }
  return out;
}

// The mean has an error of some 4 sqrt(n) roundings of the largest input M, which 1 / deviation r and the
// weight w (at most 2) multiply; 1 / deviation has as many roundings of itself. The bias is at most 1.
ErrorModel norm_model(const Norm& n) {
  ErrorModel out;
  out.rule = Rule::kRounded;
  out.ulps = 4;
  out.steps = 4 * std::sqrt(static_cast<double>(n.length())) + 8;
  out.magnitude = [n](const std::vector<TensorData>& inputs) {
    const double largest = magnitude_of(inputs[0]);
    // Batch norm has the statistics given: means up to 1, variances from 1/64.
    const double r =
        n.kind == Kind::kBatch ? 1 / std::sqrt(1.0 / 64 + n.eps) : largest_rstd(inputs[0], n.length(), n.eps);
    return std::vector<double>{std::max(2 * std::max((largest + 1) * r, 1.0) + 1, r)};
  };
  return out;
}

// Adds an operand, and returns the argument that names it.
graph::ArgumentDesc parameter(const Norm& n, OpForm& form, const char* word, const Domain& domain) {
  form.operands.push_back({n.row(), Values::kStatistical, domain, n.is_constant});
  return value_arg(static_cast<uint32_t>(form.operands.size() - 1), word);
}

void add_norm_args(const Norm& n, OpForm& form) {
  std::vector<graph::ArgumentDesc>& args = form.args;
  args = {value_arg(0, "input")};
  if (n.kind == Kind::kLayer) args.push_back(graph::ints_arg(n.row().sizes, "normalized_shape"));
  args.push_back(n.has_weight ? parameter(n, form, "weight", {0.5, 2}) : graph::none_arg("weight"));
  args.push_back(n.has_bias ? parameter(n, form, "bias", {-1, 1}) : graph::none_arg("bias"));
  if (n.kind == Kind::kBatch) {
    args.push_back(parameter(n, form, "running_mean", {-1, 1}));
    args.push_back(parameter(n, form, "running_var", {1.0 / 64, n.values == Values::kSmall ? 1.0 / 16 : 2}));
    args.push_back(float_arg(0.1, "momentum"));
  }
  if (n.kind == Kind::kGroup) {
    int64_t positions = 1;
    for (size_t d = 2; d < n.shape.sizes.size(); ++d) positions *= n.shape.sizes[d];
    args.push_back(int_arg(n.shape.sizes[0], "N"));
    args.push_back(int_arg(n.shape.sizes[1], "C"));
    args.push_back(int_arg(positions, "HxW"));
    args.push_back(int_arg(n.groups, "group"));
  }
  args.push_back(float_arg(n.eps, "eps"));
}

OpForm norm_form(const Norm& n) {
  OpForm form;
  form.op = n.op();
  form.operands = {{n.shape, n.values}};
  add_norm_args(n, form);
  form.results = {n.shape, n.mean(), n.mean()};
  if (!n.has_statistics) form.outputs = {0};
  form.error_model = norm_model(n);
  form.word = n.is_large ? "large" : n.has_statistics ? "statistics" : "";
  return form;
}

Maker maker_of(const Norm& base) {
  return [base](const Sizes& sizes) {
    Norm n = base;
    n.shape.sizes = sizes;
    return norm_form(n);
  };
}

// Adds the case, and for some rows a dynamic one. Group norm has the sizes as arguments.
void add_row(CaseList& out, const Norm& n, size_t at) {
  add_form(out, n.shape.dtype, norm_form(n));
  if (at % 3 != 0 || n.values == Values::kNonFinite) return;
  const Moving moving = at % 2 != 0 || n.kind == Kind::kBatch ? Moving::kFirst : Moving::kMiddle;
  if (n.kind != Kind::kLayer || n.normalised < static_cast<int64_t>(n.shape.sizes.size()))
    add_dynamic_form(out, n.shape.dtype, maker_of(n), n.shape.sizes, moving, static_cast<Order>(at / 3 % 3));
}

struct NormFactors {
  std::vector<Numbers> shapes;
  std::vector<int64_t> parts;  // normalised dimensions, or groups
};
const NormFactors kLayerFactors = {{{7},
                                    {3, 8},
                                    {2, 17},
                                    {5, 64},
                                    {1, 33},
                                    {2, 3, 31},
                                    {4, 1, 65},
                                    {2, 3, 4, 5},
                                    {3, 2, 2, 9},
                                    {2, 257},
                                    {3, 1031},
                                    {17, 2}},
                                   {1, 2, 3}},
                  kGroupFactors = {{{2, 4, 3},
                                    {1, 6, 5},
                                    {3, 8, 2, 3},
                                    {2, 12, 5, 4},
                                    {1, 33, 3, 3},
                                    {2, 6, 2, 3, 4},
                                    {2, 16, 17},
                                    {1, 64, 7},
                                    {2, 6, 1}},
                                   {1, 2, 3, 4, 6, 33, 64}},
                  kBatchFactors = {{{4, 6},
                                    {3, 1},
                                    {2, 3, 5},
                                    {1, 17, 9},
                                    {2, 3, 4, 5},
                                    {3, 8, 7, 1},
                                    {1, 33, 5, 3},
                                    {2, 4, 2, 3, 5},
                                    {5, 65}},
                                   {1}};

bool is_possible(const Norm& n) {
  if (n.kind == Kind::kGroup && n.shape.sizes[1] % n.groups != 0) return false;
  if (n.kind == Kind::kLayer && n.normalised > static_cast<int64_t>(n.shape.sizes.size())) return false;
  return n.kind == Kind::kBatch || n.length() > 1;
}

void add_norm_design(CaseList& out, Kind kind, const NormFactors& factors,
                     const std::vector<etb_dtype>& dtypes, const std::string& seed) {
  struct Row : Norm {
    bool is_last = false;
  };
  using Flags = std::vector<bool>;
  Row base;
  base.kind = kind;
  DesignOf<Row> design(base);
  design.add([](Row& n) -> Numbers& { return n.shape.sizes; }, factors.shapes);
  design.add(kind == Kind::kGroup ? &Row::groups : &Row::normalised, factors.parts);
  design.add([](Row& n) -> etb_dtype& { return n.shape.dtype; }, dtypes);
  design.add(&Row::eps, {1e-5, 1e-12, 1e-3, 0.1, 1});
  design.add(&Row::has_weight, {true, false});
  design.add(&Row::has_bias, {true, false});
  design.add(&Row::is_constant, {true, true, false});
  design.add(&Row::is_last, {false, false, true});
  design.add(&Row::has_statistics, kind == Kind::kBatch ? Flags{false} : Flags{false, false, false, true});
  design.add(&Row::values,
             {Values::kStatistical, Values::kOffset, Values::kSpread, Values::kSmall, Values::kNonFinite});
  size_t at = 0;
  for (Row n : design.rows(seed, is_possible)) {
    if (n.shape.dtype == ETB_DTYPE_FLOAT16) n.eps = std::max(n.eps, 1e-5);  // above float16's smallest
    // Some plugins keep statistics in float32 at least, others in the input's dtype.
    n.has_statistics = n.has_statistics && !is_half(n.shape.dtype);
    if (n.is_last && kind != Kind::kLayer && n.shape.sizes.size() == 4) n.shape.dim_order = channels_last(4);
    add_row(out, n, at++);
  }
}

// Every dimension moves.
void add_dynamic(CaseList& out, etb_dtype dtype) {
  for (const bool is_log : {false, true})
    for (const int64_t dim : {int64_t{-1}, int64_t{0}, int64_t{1}})
      for (const Sizes& sizes : {Sizes{3, 17}, {2, 3, 5}, {2, 3, 4, 5}}) {
        Softmax s;
        s.is_log = is_log;
        s.dtype = dtype;
        s.shape = {dtype, sizes, {}};
        s.dim = dim;
        add_all_dynamic_forms(out, dtype, maker_of(s), sizes, dim == -1);
      }
  Norm n;
  for (const Sizes& sizes : {Sizes{3, 8}, {2, 3, 33}, {2, 3, 4, 5}}) {
    n.shape = {dtype, sizes, {}};
    add_all_dynamic_forms(out, dtype, maker_of(n), sizes, false);
  }
  n.kind = Kind::kBatch;
  for (const bool is_last : {false, true})
    for (const Sizes& sizes : {Sizes{4, 6}, {2, 3, 4, 5}}) {
      n.shape = {dtype, sizes, {}};
      if (is_last && sizes.size() == 4) n.shape.dim_order = channels_last(4);
      add_all_dynamic_forms(out, dtype, maker_of(n), sizes, true);
    }
}

// Rows of 4,096 and more, many rows, many channels; and rows of -infinity.
void add_large(CaseList& out) {
  struct Sizes {
    Numbers sizes;
    int64_t dim;
    bool is_large = true;  // else it hides a row
  };
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16}) {
    for (const Sizes& s : {Sizes{{3, 4096}, -1}, Sizes{{2, 4999}, 1}, Sizes{{4097, 5}, -1},
                           Sizes{{1031, 3}, 0}, Sizes{{2, 515, 3}, 1}, Sizes{{3, 7}, -1, false},
                           Sizes{{4, 65}, -1, false}, Sizes{{2, 3, 257}, -1, false}})
      for (const bool is_log : {false, true}) {
        Softmax softmax;
        softmax.is_log = is_log;
        softmax.dtype = dtype;
        softmax.shape = {dtype, s.sizes, {}};
        softmax.dim = s.dim;
        softmax.is_large = s.is_large;
        softmax.hides_row = !s.is_large;
        add_form(out, dtype, softmax_form(softmax));
      }
    struct Row {
      Kind kind;
      Numbers sizes;
      int64_t parts;
    };
    for (const Row& row :
         {Row{Kind::kLayer, {3, 4096}, 1}, Row{Kind::kLayer, {2049, 9}, 1}, Row{Kind::kLayer, {2, 65, 67}, 2},
          Row{Kind::kGroup, {2, 528, 3}, 33}, Row{Kind::kGroup, {1, 6, 40, 41}, 2},
          Row{Kind::kBatch, {2, 515, 3}, 1}, Row{Kind::kBatch, {17, 9, 5, 6}, 1}}) {
      Norm n;
      n.kind = row.kind;
      n.shape = {dtype, row.sizes, {}};
      n.normalised = n.groups = row.parts;
      n.is_large = true;
      add_form(out, dtype, norm_form(n));
    }
  }
}

}  // namespace

void add_norm_designs(CaseList& out) {
  for (const bool is_log : {false, true}) {
    const std::string seed = is_log ? "log_softmax" : "softmax";
    add_softmax_design(out, is_log, kFloat32, seed);
    add_softmax_design(out, is_log, kOthers, seed + ", other types");
  }
  add_norm_design(out, Kind::kLayer, kLayerFactors, kFloat32, "layer norm");
  add_norm_design(out, Kind::kLayer, kLayerFactors, kOthers, "layer norm, other types");
  add_norm_design(out, Kind::kGroup, kGroupFactors, kFloat32, "group norm");
  add_norm_design(out, Kind::kGroup, kGroupFactors, kOthers, "group norm, other types");
  add_norm_design(out, Kind::kBatch, kBatchFactors, kFloat32, "batch norm");
  add_norm_design(out, Kind::kBatch, kBatchFactors, kOthers, "batch norm, other types");
  for (const etb_dtype dtype : kFloats) add_dynamic(out, dtype);
  add_large(out);
}

}  // namespace etb::conformance
