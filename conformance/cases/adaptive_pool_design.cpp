// SPDX-License-Identifier: Apache-2.0
// Adaptive pools: outputs that divide the image and outputs that do not, also larger ones, other in each direction.
#include <algorithm>
#include <cmath>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/design.hpp"
#include "conformance/cases/sum_designs.hpp"
#include "conformance/cases/value_sets.hpp"

namespace etb::conformance {
namespace {

struct AdaptivePool {
  bool is_max = false, has_indices = false, is_last = false;
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Numbers leading, size, result_size;
  ValueSet values = ValueSet::kStatistical;

  std::string op() const {
    const std::string rank = std::to_string(size.size());
    return is_max ? "aten.adaptive_max_pool" + rank + "d.default"
                  : "aten._adaptive_avg_pool" + rank + "d.default";
  }
  Shape shape(const Numbers& spatial) const {
    Shape out{dtype, leading, {}};
    out.sizes.insert(out.sizes.end(), spatial.begin(), spatial.end());
    if (is_last && leading.size() == 2) out.dim_order = channels_last(out.sizes.size());
    return out;
  }
  std::string name() const {
    return op_word(op()) + "." + short_name(dtype) + "." + shape_text(shape(size)) + ".to" +
           number_text(result_size) + (has_indices ? ".indices." : ".") + to_text(values);
  }
};

ErrorModel model_of(const AdaptivePool& p) {
  if (p.is_max) return {};
  double area = 1;
  for (size_t i = 0; i < p.size.size(); ++i)
    area *= static_cast<double>(p.size[i] / p.result_size[i] + 2);  // a window may have one more at both ends
  ErrorModel out;
  out.rule = Rule::kRounded;  // as for other means: pool_design.cpp
  out.ulps = 1.5;
  out.steps = std::min(4 * std::sqrt(area), area);
  out.has_input_magnitude = true;
  return out;
}

void add_pool(CaseList& out, const AdaptivePool& p) {
  out.add({p.name(), p.op(), p.dtype, [p](std::string_view name) {
             CaseBuilder builder(name);
             const uint32_t x = builder.input(make_set(p.shape(p.size), p.values, {}, 0, builder.random()));
             const Shape result = p.shape(p.result_size);
             std::vector<Shape> results = {result};
             if (p.is_max) results.push_back(result);
             if (p.is_max) results.back().dtype = ETB_DTYPE_INT64;
             const uint32_t y = builder.node(
                 p.op(), {graph::value_arg(x, "self"), graph::ints_arg(p.result_size, "output_size")},
                 results);
             builder.output(y);
             if (p.has_indices) builder.output(y + 1);
             return builder.finish(model_of(p));
           }});
}

void add_design(CaseList& out, Names& names, bool is_max, const std::vector<Numbers>& sizes,
                const std::vector<Numbers>& results, const std::string& seed) {
  Design design;
  const auto size = design.add(sizes), result_size = design.add(results),
             leading = design.add<Numbers>({{1, 3}, {2, 1}, {3, 8}, {1, 17}, {4}});
  const auto dtype = design.add<etb_dtype>(
      {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64});
  const auto is_last = design.add<bool>({false, true});
  const auto has_indices = design.add<bool>({false, is_max});
  const auto values = design.add<ValueSet>(
      {ValueSet::kStatistical, is_max ? ValueSet::kExact : ValueSet::kPositive, ValueSet::kWide});
  for (const Levels& row : design.rows(seed)) {
    AdaptivePool p;
    p.is_max = is_max;
    p.dtype = dtype(row);
    p.leading = leading(row);
    p.size = size(row);
    p.result_size = result_size(row);
    p.is_last = is_last(row);
    p.has_indices = has_indices(row);
    p.values = values(row);
    if (names.is_new(p.name())) add_pool(out, p);
  }
}

}  // namespace

void add_adaptive_pool_designs(CaseList& out) {
  Names names;
  for (const bool is_max : {false, true}) {
    const std::string seed = is_max ? "adaptive maxima" : "adaptive means";
    const std::vector<Numbers> dividing = {{6, 8}, {12, 4}, {6, 12}},
                               parts = {{1, 1}, {3, 2}, {2, 4}, {6, 4}, {1, 2}};
    add_design(out, names, is_max, dividing, parts, seed + " that divide");
    add_design(out, names, is_max, {{6, 8}, {7, 5}, {12, 9}, {1, 9}, {13, 17}},
               {{1, 1}, {2, 4}, {3, 2}, {5, 7}, {1, 3}, {9, 3}}, seed);
    add_design(out, names, is_max, {{4, 6, 5}, {3, 7, 8}}, {{1, 1, 1}, {2, 3, 5}, {3, 2, 4}, {1, 7, 2}},
               seed + " of three");
  }
}

}  // namespace etb::conformance
