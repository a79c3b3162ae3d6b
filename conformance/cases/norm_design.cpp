// SPDX-License-Identifier: Apache-2.0
// Softmax and norms by designs over all attributes. Values with a large mean, with a wide spread, and with a
// variance no larger than eps show what ordinary values hide.
#include <algorithm>
#include <cmath>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/design.hpp"
#include "conformance/cases/sum_designs.hpp"
#include "conformance/cases/value_sets.hpp"

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::int_arg;
using graph::value_arg;

const std::vector<etb_dtype> kFloat32 = {ETB_DTYPE_FLOAT32},
                             kOthers = {ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64};

bool is_half(etb_dtype dtype) { return dtype == ETB_DTYPE_FLOAT16 || dtype == ETB_DTYPE_BFLOAT16; }

// ---- softmax

struct Softmax {
  bool is_log = false;
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Shape shape;
  int64_t dim = -1;  // negative or not
  double reach = 4, center = 0;
  bool is_large = false;
  bool has_masked = false;  // -inf at places, never in a whole row

  int64_t length() const {
    const auto rank = static_cast<int64_t>(shape.sizes.size());
    return shape.sizes[static_cast<size_t>(dim < 0 ? dim + rank : dim)];
  }
  const char* op() const { return is_log ? "aten._log_softmax.default" : "aten._softmax.default"; }
  std::string name() const {
    return op_word(op()) + "." + short_name(dtype) + "." + shape_text(shape) + ".dim" + number_text({dim}) +
           ".reach" + real_text(reach) + (center == 0 ? "" : "_at" + real_text(center)) +
           (has_masked ? ".masked" : "") + (is_large ? ".large" : "") + ".stat";
  }
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
  out.magnitude = [largest, is_log = s.is_log](const std::vector<TensorData>&) {
    return std::vector<double>{is_log ? largest : 1.0};
  };
  return out;
}

void add_softmax(CaseList& out, const Softmax& s) {
  out.add({s.name(), s.op(), s.dtype, [s](std::string_view name) {
             CaseBuilder builder(name);
             TensorData data = make_set(s.shape, ValueSet::kStatistical,
                                        {s.center - s.reach, s.center + s.reach}, 0, builder.random());
             for (int64_t i = 0; s.has_masked && i < s.shape.numel(); ++i)
               if (i % 3 == 1) store_element(s.dtype, data.bytes.data(), i, -HUGE_VAL);
             const uint32_t x = builder.input(std::move(data));
             builder.output(builder.node(
                 s.op(),
                 {value_arg(x, "self"), int_arg(s.dim, "dim"), graph::bool_arg(false, "half_to_float")},
                 s.shape));
             return builder.finish(softmax_model(s));
           }});
}

void add_softmax_design(CaseList& out, bool is_log, const std::vector<etb_dtype>& dtypes,
                        const std::string& seed) {
  Design design;
  const auto dtype = design.add(dtypes);
  const auto length =
      design.add<int64_t>({1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 127, 255, 257, 1031});
  // Sizes before and after the dimension.
  const auto around = design.add<std::pair<Numbers, Numbers>>({{{}, {}},
                                                               {{3}, {}},
                                                               {{2, 5}, {}},
                                                               {{}, {4}},
                                                               {{3}, {5}},
                                                               {{2}, {3, 4}},
                                                               {{2, 3, 2}, {}},
                                                               {{1, 17}, {2}}});
  const auto is_negative = design.add<bool>({true, false}), is_last = design.add<bool>({false, false, true}),
             has_masked = design.add<bool>({false, false, true});
  const auto reach = design.add<double>({4, 30, 80}), center = design.add<double>({0, 0, 1000, -1000});
  Names names;
  for (const Levels& row : design.rows(seed)) {
    Softmax s;
    s.is_log = is_log;
    s.dtype = dtype(row);
    const auto [before, after] = around(row);
    s.shape = {s.dtype, before, {}};
    s.shape.sizes.push_back(length(row));
    s.shape.sizes.insert(s.shape.sizes.end(), after.begin(), after.end());
    s.dim = is_negative(row) ? -1 - static_cast<int64_t>(after.size()) : static_cast<int64_t>(before.size());
    if (is_last(row) && s.shape.sizes.size() == 4) s.shape.dim_order = channels_last(4);
    s.reach = is_half(s.dtype) ? 4 : reach(row);
    s.center = is_half(s.dtype) ? 0 : center(row);
    // Elements of a row are apart by the sizes after the dimension: a masked third never fills a row.
    int64_t apart = 1;
    for (const int64_t size : after) apart *= size;
    s.has_masked = has_masked(row) && !is_log && s.length() > 2 && apart % 3 != 0;
    if (names.is_new(s.name())) add_softmax(out, s);
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
  ValueSet values = ValueSet::kStatistical;

  const char* op() const {
    return kind == Kind::kLayer   ? "aten.native_layer_norm.default"
           : kind == Kind::kGroup ? "aten.native_group_norm.default"
                                  : "aten._native_batch_norm_legit_no_training.default";
  }
  // Elements with one mean.
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
  std::string name() const {
    const std::string word = kind == Kind::kBatch ? "op.batch_norm_no_training" : op_word(op());
    std::string text = word + "." + short_name(shape.dtype) + "." + shape_text(shape);
    if (kind == Kind::kLayer) text += ".last" + std::to_string(normalised);
    if (kind == Kind::kGroup) text += ".g" + std::to_string(groups);
    text += ".eps" + real_text(eps) + (has_weight ? "_w" : "") + (has_bias ? "_b" : "");
    text += is_constant ? ".constant" : ".input";
    text += has_statistics ? ".statistics" : "";
    return text + (is_large ? ".large." : ".") + to_text(values);
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
  length = std::min(length, data.shape.numel());  // of a case made smaller
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

std::vector<graph::ArgumentDesc> norm_args(const Norm& n, CaseBuilder& builder, uint32_t x) {
  const auto parameter = [&](bool is_given, const char* word, const Domain& domain) {
    if (!is_given) return graph::none_arg(word);
    TensorData data = make_values(n.row(), Values::kStatistical, domain, 1, builder.random());
    return value_arg(n.is_constant ? builder.constant(data) : builder.input(std::move(data)), word);
  };
  std::vector<graph::ArgumentDesc> args = {value_arg(x, "input")};
  if (n.kind == Kind::kLayer) args.push_back(graph::ints_arg(n.row().sizes, "normalized_shape"));
  args.push_back(parameter(n.has_weight, "weight", {0.5, 2}));
  args.push_back(parameter(n.has_bias, "bias", {-1, 1}));
  if (n.kind == Kind::kBatch) {
    args.push_back(parameter(true, "running_mean", {-1, 1}));
    args.push_back(parameter(true, "running_var", {1.0 / 64, n.values == ValueSet::kSmall ? 1.0 / 16 : 2}));
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
  return args;
}

void add_norm(CaseList& out, const Norm& n) {
  out.add({n.name(), n.op(), n.shape.dtype, [n](std::string_view name) {
             CaseBuilder builder(name);
             const uint32_t x = builder.input(make_set(n.shape, n.values, {}, 0, builder.random()));
             const uint32_t first = builder.node(n.op(), norm_args(n, builder, x),
                                                 std::vector<Shape>{n.shape, n.mean(), n.mean()});
             builder.output(first);
             for (uint32_t i = 1; n.has_statistics && i < 3; ++i) builder.output(first + i);
             return builder.finish(norm_model(n));
           }});
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
  Design design;
  const auto shape = design.add(factors.shapes);
  const auto parts = design.add(factors.parts);
  const auto dtype = design.add(dtypes);
  const auto eps = design.add<double>({1e-5, 1e-12, 1e-3, 0.1, 1});
  const auto has_weight = design.add<bool>({true, false}), has_bias = design.add<bool>({true, false}),
             is_constant = design.add<bool>({true, true, false}),
             is_last = design.add<bool>({false, false, true}),
             has_statistics =
                 design.add<bool>(kind == Kind::kBatch ? std::vector<bool>{false}
                                                       : std::vector<bool>{false, false, false, true});
  const auto values = design.add<ValueSet>(
      {ValueSet::kStatistical, ValueSet::kOffset, ValueSet::kWide, ValueSet::kSmall, ValueSet::kNonFinite});
  const auto norm = [&](const Levels& row) {
    Norm n;
    n.kind = kind;
    n.shape = {dtype(row), shape(row), {}};
    n.normalised = n.groups = parts(row);
    n.eps =
        dtype(row) == ETB_DTYPE_FLOAT16 ? std::max(eps(row), 1e-5) : eps(row);  // above float16's smallest
    n.has_weight = has_weight(row);
    n.has_bias = has_bias(row);
    n.is_constant = is_constant(row);
    // Some plugins keep statistics in float32 at least, others in the input's dtype.
    n.has_statistics = has_statistics(row) && !is_half(n.shape.dtype);
    if (is_last(row) && kind != Kind::kLayer && n.shape.sizes.size() == 4)
      n.shape.dim_order = channels_last(4);
    n.values = values(row);
    return n;
  };
  Names names;
  for (const Levels& row : design.rows(seed, [&](const Levels& levels) { return is_possible(norm(levels)); }))
    if (const Norm n = norm(row); names.is_new(n.name())) add_norm(out, n);
}

// Rows of 4,096 and more, many rows, many channels.
void add_large(CaseList& out) {
  struct Sizes {
    Numbers sizes;
    int64_t dim;
  };
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16}) {
    for (const Sizes& s : {Sizes{{3, 4096}, -1}, Sizes{{2, 4999}, 1}, Sizes{{4097, 5}, -1},
                           Sizes{{1031, 3}, 0}, Sizes{{2, 515, 3}, 1}})
      for (const bool is_log : {false, true}) {
        Softmax softmax;
        softmax.is_log = is_log;
        softmax.dtype = dtype;
        softmax.shape = {dtype, s.sizes, {}};
        softmax.dim = s.dim;
        softmax.is_large = true;
        add_softmax(out, softmax);
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
      add_norm(out, n);
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
  add_large(out);
}

}  // namespace etb::conformance
