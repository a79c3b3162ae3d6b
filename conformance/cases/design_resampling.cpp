// SPDX-License-Identifier: Apache-2.0
// Images at other sizes, and grid_sampler: factors and sizes, other in each direction, both conventions of corners, all
// interpolations and paddings. Nearest neighbours have cases only where the quotient of sizes is exact: elsewhere the
// rounding of the scale chooses the neighbour.
#include <algorithm>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::bool_arg;
using graph::floats_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::none_arg;
using graph::value_arg;

enum class Method { kNearest, kBilinear, kAntialias };

// The size of a result: numbers, or factors of the image's.
struct Target {
  Numbers result;
  std::vector<double> factors;  // empty: the result's size is the argument
};

struct Resize : Target {
  Method method = Method::kNearest;
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  int64_t batch = 1, channels = 3;
  Numbers size;
  bool has_aligned_corners = false, is_last = false;
  Values values = Values::kStatistical;
};

// The position of a sample has a few roundings of a number as large as the image; slopes are up to twice the largest
// element.
ErrorModel resize_model(const Resize& r) {
  if (r.method == Method::kNearest) return {};
  const auto side = static_cast<double>(std::max({r.size[0], r.size[1], r.result[0], r.result[1]}));
  return rounded_model(4, 8 + 4 * side, twice_the_largest);
}

OpForm resize_form(Resize r) {
  if (!r.factors.empty()) r.result.clear();
  for (size_t i = 0; i < r.factors.size(); ++i)
    r.result.push_back(static_cast<int64_t>(static_cast<double>(r.size[i]) * r.factors[i]));
  const auto shape = [&](const Numbers& size) {
    Shape out{r.dtype, {r.batch, r.channels, size[0], size[1]}, {}};
    if (r.is_last) out.dim_order = channels_last(4);
    return out;
  };
  constexpr const char* kOps[] = {"aten.upsample_nearest2d.vec", "aten.upsample_bilinear2d.vec",
                                  "aten._upsample_bilinear2d_aa.default"};
  const auto size_arg = [&] {
    return r.factors.empty() ? ints_arg(r.result, "output_size") : none_arg("output_size");
  };
  OpForm form;
  form.op = kOps[static_cast<size_t>(r.method)];
  form.operands = {{shape(r.size), r.values}};
  form.args = {value_arg(0, r.method == Method::kAntialias ? "self" : "input"),
               r.method == Method::kAntialias ? ints_arg(r.result, "output_size") : size_arg()};
  if (r.method != Method::kNearest) form.args.push_back(bool_arg(r.has_aligned_corners, "align_corners"));
  if (r.method != Method::kAntialias)
    form.args.push_back(r.factors.empty() ? none_arg("scale_factors")
                                          : floats_arg(r.factors, "scale_factors"));
  form.results = {shape(r.result)};
  form.error_model = resize_model(r);
  return form;
}

void add_row(CaseList& out, const Resize& r, size_t at) {
  add_form(out, r.dtype, resize_form(r));
  const auto maker = [r](const Sizes& sizes) {
    Resize now = r;
    now.batch = sizes[0];
    now.channels = sizes[1];
    now.size = {sizes[2], sizes[3]};
    return resize_form(now);
  };
  // Whole factors keep images of every size. The size of an antialiased result is fixed.
  const bool is_whole =
      r.method != Method::kAntialias && !r.factors.empty() && r.factors[0] >= 1 && r.factors[1] >= 1;
  if (at % 2 == 0)
    add_dynamic_form(out, r.dtype, maker, {r.batch, r.channels, r.size[0], r.size[1]},
                     is_whole ? static_cast<Moving>(at / 2 % 5) : Moving::kFirst,
                     static_cast<Order>(at / 2 % 3));
}

void add_resize_design(CaseList& out, Method method, const std::vector<etb_dtype>& dtypes,
                       const std::string& seed) {
  // Quotients of these sizes and powers of two are exact.
  const std::vector<Target> exact = {{{}, {2, 2}}, {{}, {1, 4}},  {{}, {2, 1}}, {{}, {0.5, 0.5}},
                                     {{4, 8}, {}}, {{8, 16}, {}}, {{16, 4}, {}}};
  std::vector<Target> all = exact;
  all.insert(all.end(), {{{5, 7}, {}}, {{13, 3}, {}}, {{1, 1}, {}}, {{}, {3, 1.5}}, {{17, 33}, {}}});
  Resize base;
  base.method = method;
  DesignOf<Resize> design(base);
  design.add([](Resize& r) -> Target& { return r; }, method == Method::kNearest ? exact : all);
  design.add(&Resize::size, {{4, 6}, {5, 7}, {8, 8}, {2, 9}, {12, 3}});
  design.add(&Resize::dtype, dtypes);
  design.add(&Resize::batch, {1, 2, 3});
  design.add(&Resize::channels, {3, 1, 8, 17});
  design.add(&Resize::has_aligned_corners, {false, true});
  design.add(&Resize::is_last, {false, true});
  design.add(&Resize::values, {Values::kStatistical, Values::kSpread,
                               method == Method::kNearest ? Values::kNan : Values::kOffset});
  size_t at = 0;
  for (const Resize& r : design.rows(seed)) add_row(out, r, at++);
}

// ---- grid_sampler

enum Interpolation : int64_t { kBilinear, kNearest, kBicubic };

struct Grid {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Sizes input, result;  // result: sizes of the positions
  int64_t interpolation = kBilinear, padding = 0;
  bool has_aligned_corners = false;
  bool is_far = false;  // positions several images away
};

OpForm grid_form(const Grid& g) {
  const size_t axes = g.result.size();
  Sizes grid = {g.input[0]}, result = {g.input[0], g.input[1]};
  grid.insert(grid.end(), g.result.begin(), g.result.end());
  grid.push_back(static_cast<int64_t>(axes));
  result.insert(result.end(), g.result.begin(), g.result.end());
  OpForm form;
  form.op = axes == 2 ? "aten.grid_sampler_2d.default" : "aten.grid_sampler_3d.default";
  // Positions from -1 to 1 are in the image.
  form.operands = {{{g.dtype, g.input, {}}}, {{g.dtype, grid, {}}, Values::kStatistical, {-1.4, 1.4}}};
  form.args = {value_arg(0, "input"), value_arg(1, "grid"), int_arg(g.interpolation, "interpolation_mode"),
               int_arg(g.padding, "padding_mode"), bool_arg(g.has_aligned_corners, "align_corners")};
  form.results = {{g.dtype, result, {}}};
  const auto side = static_cast<double>(*std::max_element(g.input.begin() + 2, g.input.end()));
  const double taps = g.interpolation == kBicubic ? 4 : 1;
  if (g.interpolation != kNearest)
    form.error_model = rounded_model(8, taps * (g.is_far ? 6 : 1) * (16 + 8 * side), twice_the_largest);
  if (g.is_far) {
    form.operands[1].domain = {-6, 6};
    form.word = "far";
  }
  return form;
}

void add_grids(CaseList& out, size_t axes) {
  const std::vector<Sizes> images = {{1, 3, 5, 7}, {2, 1, 4, 4}, {3, 8, 2, 9}, {1, 17, 6, 1}},
                           volumes = {{1, 2, 3, 4, 5}, {2, 3, 4, 2, 3}},
                           positions_of_images = {{4, 5}, {1, 1}, {7, 3}, {9, 16}},
                           positions_of_volumes = {{2, 3, 4}, {1, 5, 2}};
  DesignOf<Grid> design;
  design.add(&Grid::input, axes == 2 ? images : volumes);
  design.add(&Grid::result, axes == 2 ? positions_of_images : positions_of_volumes);
  design.add(&Grid::dtype, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64});
  design.add(&Grid::interpolation,
             axes == 2 ? Numbers{kBilinear, kNearest, kBicubic} : Numbers{kBilinear, kNearest});
  design.add(&Grid::padding, {0, 1, 2});
  design.add(&Grid::has_aligned_corners, {false, true});
  size_t at = 0;
  for (const Grid& g : design.rows("grids of " + std::to_string(axes))) {
    add_form(out, g.dtype, grid_form(g));
    const auto maker = [g](const Sizes& sizes) {
      Grid now = g;
      now.input = sizes;
      return grid_form(now);
    };
    if (g.interpolation != kNearest) {
      Grid far = g;
      far.is_far = true;
      add_form(out, g.dtype, grid_form(far));
    }
    if (++at % 3 == 0)
      add_dynamic_form(out, g.dtype, maker, g.input, static_cast<Moving>(at / 3 % 5),
                       static_cast<Order>(at % 3));
  }
}

}  // namespace

void add_resampling_designs(CaseList& out) {
  const std::vector<etb_dtype> floats = {ETB_DTYPE_FLOAT32},
                               others = {ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64};
  constexpr std::pair<Method, const char*> kMethods[] = {
      {Method::kNearest, "nearest"}, {Method::kBilinear, "bilinear"}, {Method::kAntialias, "antialias"}};
  for (const auto& [method, word] : kMethods) {
    add_resize_design(out, method, floats, word);
    add_resize_design(out, method, others, std::string(word) + ", other types");
  }
  for (const etb_dtype dtype : kFloats) {
    Resize twice;
    twice.dtype = dtype;
    twice.factors = {2, 2};
    add_all_dynamic_forms(
        out, dtype,
        [twice](const Sizes& sizes) {
          Resize now = twice;
          now.batch = sizes[0];
          now.channels = sizes[1];
          now.size = {sizes[2], sizes[3]};
          return resize_form(now);
        },
        {2, 3, 4, 5}, false);
  }
  for (const size_t axes : {size_t{2}, size_t{3}}) add_grids(out, axes);
}

}  // namespace etb::conformance
