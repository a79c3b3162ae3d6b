// SPDX-License-Identifier: Apache-2.0
// Adaptive pools: outputs that divide the image and outputs that do not, also larger ones, other in each direction.
#include <cmath>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

struct AdaptivePool {
  bool is_max = false, has_indices = false, is_last = false;
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Numbers leading, size, result_size;
  Values values = Values::kStatistical;

  // Means over one direction have a name without the leading underscore.
  std::string op() const {
    const std::string rank = std::to_string(size.size());
    if (is_max) return "aten.adaptive_max_pool" + rank + "d.default";
    return (size.size() == 1 ? "aten.adaptive_avg_pool" : "aten._adaptive_avg_pool") + rank + "d.default";
  }
  Shape shape(const Numbers& spatial) const {
    Shape out{dtype, leading, {}};
    out.sizes.insert(out.sizes.end(), spatial.begin(), spatial.end());
    if (is_last && leading.size() == 2) out.dim_order = channels_last(out.sizes.size());
    return out;
  }
};

ErrorModel model_of(const AdaptivePool& p) {
  if (p.is_max) return {};
  double area = 1;
  for (size_t i = 0; i < p.size.size(); ++i)
    area *= static_cast<double>(p.size[i] / p.result_size[i] + 2);  // a window may have one more at both ends
  return mean_model(area);
}

// There is no kernel of one direction. The reference is a pool of images with one row.
void add_reference(const AdaptivePool& p, ReferenceForm& out) {
  AdaptivePool image = p;
  image.size.insert(image.size.begin(), 1);
  image.result_size.insert(image.result_size.begin(), 1);
  const Shape result = image.shape(image.result_size);
  std::vector<Shape> results = {result};
  if (p.is_max) results.push_back({ETB_DTYPE_INT64, result.sizes, result.dim_order});
  FormNodes nodes(out.nodes, 1);
  const uint32_t x =
      nodes.add("aten.unsqueeze_copy.default", {graph::value_arg(0, "self"), graph::int_arg(-2, "dim")},
                image.shape(image.size));
  const uint32_t y = nodes.add(
      image.op(), {graph::value_arg(x, "self"), graph::ints_arg(image.result_size, "output_size")}, results);
  nodes.add("aten.squeeze_copy.dims", {graph::value_arg(y, "self"), graph::ints_arg({-2}, "dim")},
            p.shape(p.result_size));
}

OpForm pool_form(const AdaptivePool& p) {
  OpForm form;
  form.op = p.op();
  form.operands = {{p.shape(p.size), p.values}};
  form.args = {graph::value_arg(0, "self"), graph::ints_arg(p.result_size, "output_size")};
  const Shape result = p.shape(p.result_size);
  form.results = {result};
  if (p.is_max) form.results.push_back({ETB_DTYPE_INT64, result.sizes, result.dim_order});
  if (!p.has_indices) form.outputs = {0};
  if (p.has_indices) form.word = "indices";
  form.error_model = model_of(p);
  if (p.size.size() == 1) add_reference(p, form.reference);
  return form;
}

Maker maker_of(const AdaptivePool& base) {
  return [base](const Sizes& sizes) {
    AdaptivePool p = base;
    const auto rank = static_cast<std::ptrdiff_t>(base.size.size());
    p.leading.assign(sizes.begin(), sizes.end() - rank);
    p.size.assign(sizes.end() - rank, sizes.end());
    return pool_form(p);
  };
}

// The image moves, too: an adaptive window fits into every image.
void add_row(CaseList& out, const AdaptivePool& p, size_t at) {
  add_form(out, p.dtype, pool_form(p));
  if (at % 3 == 0)
    add_dynamic_form(out, p.dtype, maker_of(p), p.shape(p.size).sizes, static_cast<Moving>(at / 3 % 5),
                     static_cast<Order>(at % 3));
}

void add_design(CaseList& out, bool is_max, const std::vector<Numbers>& sizes,
                const std::vector<Numbers>& results, const std::string& seed) {
  AdaptivePool base;
  base.is_max = is_max;
  DesignOf<AdaptivePool> design(base);
  design.add(&AdaptivePool::size, sizes);
  design.add(&AdaptivePool::result_size, results);
  design.add(&AdaptivePool::leading, {{1, 3}, {2, 1}, {3, 8}, {1, 17}, {4}});
  design.add(&AdaptivePool::dtype, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16,
                                    ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64});
  design.add(&AdaptivePool::is_last, {false, true});
  design.add(&AdaptivePool::has_indices, {false, is_max});
  design.add(&AdaptivePool::values,
             {Values::kStatistical, is_max ? Values::kExact : Values::kPositive, Values::kSpread});
  size_t at = 0;
  for (AdaptivePool p : design.rows(seed)) {
    p.has_indices = p.has_indices && p.size.size() > 1;
    add_row(out, p, at++);
  }
}

// Maxima of images of which all elements, or nearly all, are -infinity.
void add_lowest(CaseList& out, etb_dtype dtype) {
  for (const Numbers& size : {Numbers{9}, {7, 5}, {3, 7, 8}})
    for (const bool has_indices : {false, size.size() > 1}) {
      AdaptivePool p;
      p.is_max = true;
      p.has_indices = has_indices;
      p.dtype = dtype;
      p.leading = {2, 3};
      p.size = size;
      p.result_size.assign(size.size(), 2);
      OpForm form = pool_form(p);
      form.operands[0].fill = [dtype](TensorData& data, Random&) {
        const int64_t half = data.shape.numel() / 2;
        data = filled(data.shape, [&](int64_t i) {
          return i > half && i % 17 == 3 ? -float_format(dtype).largest : -HUGE_VAL;
        });
      };
      form.word = has_indices ? "lowest_indices" : "lowest";
      form.group = "edge";
      add_form(out, dtype, std::move(form));
    }
}

// A mean of the whole image, as at the end of a CNN: every dimension moves.
void add_dynamic(CaseList& out, etb_dtype dtype) {
  AdaptivePool p;
  p.dtype = dtype;
  p.size = p.result_size = {1, 1};
  add_all_dynamic_forms(out, dtype, maker_of(p), {2, 3, 5, 6}, false);
}

}  // namespace

void add_adaptive_pool_designs(CaseList& out) {
  for (const bool is_max : {false, true}) {
    const std::string seed = is_max ? "adaptive maxima" : "adaptive means";
    const std::vector<Numbers> dividing = {{6, 8}, {12, 4}, {6, 12}},
                               parts = {{1, 1}, {3, 2}, {2, 4}, {6, 4}, {1, 2}};
    add_design(out, is_max, dividing, parts, seed + " that divide");
    add_design(out, is_max, {{6, 8}, {7, 5}, {12, 9}, {1, 9}, {13, 17}},
               {{1, 1}, {2, 4}, {3, 2}, {5, 7}, {1, 3}, {9, 3}}, seed);
    add_design(out, is_max, {{4, 6, 5}, {3, 7, 8}}, {{1, 1, 1}, {2, 3, 5}, {3, 2, 4}, {1, 7, 2}},
               seed + " of three");
    add_design(out, is_max, {{9}, {16}, {7}, {1}, {33}}, {{1}, {2}, {3}, {5}, {16}}, seed + " of one");
  }
  for (const etb_dtype dtype : kFloats) {
    add_dynamic(out, dtype);
    add_lowest(out, dtype);
  }
}

}  // namespace etb::conformance
