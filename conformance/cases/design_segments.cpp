// SPDX-License-Identifier: Apache-2.0
// segment_reduce: sums, means, products and extremes of segments of a dim, by lengths or by offsets.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

struct Segments {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Numbers lengths;    // elements of each segment; the same in each row of the outer dim
  int64_t outer = 0;  // 0: the segments are in the first dim
  int64_t inner = 1;  // 0: no dim after that of the segments
  std::string reduce;
  bool has_offsets = false;
  int initial = 0;  // 0: none, else the number

  int64_t length() const { return std::accumulate(lengths.begin(), lengths.end(), int64_t{0}); }
  Numbers sizes(int64_t of_dim) const {
    Numbers out;
    if (outer != 0) out.push_back(outer);
    out.push_back(of_dim);
    if (inner != 0) out.push_back(inner);
    return out;
  }
};

double reduced(const Segments& s, const std::vector<double>& elements) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  const bool has_initial = s.initial != 0;
  double total = s.reduce == "prod" ? 1 : s.reduce == "max" ? -kInfinity : s.reduce == "min" ? kInfinity : 0;
  if (has_initial) total = s.initial;
  for (const double element : elements) {
    if (s.reduce == "prod")
      total *= element;
    else if (s.reduce == "max")
      total = std::max(total, element);
    else if (s.reduce == "min")
      total = std::min(total, element);
    else
      total += element;
  }
  if (s.reduce != "mean") return total;
  if (elements.empty()) return has_initial ? total : std::numeric_limits<double>::quiet_NaN();
  return total / static_cast<double>(elements.size());
}

Elements reduce_segments(const Segments& s, const std::vector<TensorData>& operands) {
  const Elements x = elements_of(operands[0]);
  const int64_t inner = std::max<int64_t>(s.inner, 1), outer = std::max<int64_t>(s.outer, 1);
  Elements out;
  for (int64_t row = 0; row < outer; ++row) {
    int64_t begin = row * s.length();
    for (const int64_t length : s.lengths) {
      for (int64_t column = 0; column < inner; ++column) {
        std::vector<double> elements;
        for (int64_t k = begin; k < begin + length; ++k)
          elements.push_back(x[static_cast<size_t>(k * inner + column)]);
        out.push_back(reduced(s, elements));
      }
      begin += length;
    }
  }
  return out;
}

OpForm segments_form(const Segments& s) {
  const auto count = static_cast<int64_t>(s.lengths.size());
  Numbers places = {s.has_offsets ? count + 1 : count};
  if (s.outer != 0) places.insert(places.begin(), s.outer);
  OpForm form;
  form.op = "aten.segment_reduce.default";
  form.operands = {{{s.dtype, s.sizes(s.length()), {}}, Values::kStatistical, {-1.5, 1.5}},
                   {{ETB_DTYPE_INT64, places, {}}}};
  form.operands[1].fill = [s, each = places.back()](TensorData& data, Random&) {
    data = filled(data.shape, [&](int64_t i) {
      const int64_t at = i % each;
      const auto end = s.lengths.begin() + at;
      return static_cast<double>(s.has_offsets ? std::accumulate(s.lengths.begin(), end, int64_t{0}) : *end);
    });
  };
  form.args = {value_arg(0, "data"),
               graph::string_arg(s.reduce, "reduce"),
               s.has_offsets ? graph::none_arg("lengths") : value_arg(1, "lengths"),
               graph::none_arg("indices"),
               s.has_offsets ? value_arg(1, "offsets") : graph::none_arg("offsets"),
               graph::int_arg(s.outer != 0 ? 1 : 0, "axis"),
               graph::bool_arg(true, "unsafe"),
               s.initial != 0 ? graph::int_arg(s.initial, "initial") : graph::none_arg("initial")};
  form.results = {{s.dtype, s.sizes(count), {}}};
  const auto longest = static_cast<double>(*std::max_element(s.lengths.begin(), s.lengths.end()));
  const bool is_extreme = s.reduce == "max" || s.reduce == "min";
  form.error_model =
      is_extreme ? exact_model(Rule::kExactValue)
                 : rounded_model(
                       1, 4 + longest,
                       fixed_magnitude(s.reduce == "prod" ? 2 * std::pow(1.5, longest) : 2 + 1.5 * longest));
  form.word = s.reduce + (s.has_offsets ? "_offsets_" : "_lengths_") + number_text(s.lengths);
  compute_reference(form, {[s](const auto& operands) { return reduce_segments(s, operands); }});
  return form;
}

}  // namespace

void add_segment_designs(CaseList& out) {
  DesignOf<Segments> design;
  design.add(&Segments::dtype, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64});
  design.add(&Segments::lengths, {{2, 3, 1}, {0, 4}, {5, 0, 2, 6}, {1}});
  design.add(&Segments::outer, {0, 2, 3});
  design.add(&Segments::inner, {0, 1, 3, 17});
  design.add(&Segments::reduce, {std::string("sum"), std::string("mean"), std::string("prod"),
                                 std::string("max"), std::string("min")});
  design.add(&Segments::has_offsets, {false, true});
  design.add(&Segments::initial, {0, 2});
  for (const Segments& s : design.rows("segments")) add_form(out, s.dtype, segments_form(s));
}

}  // namespace etb::conformance
