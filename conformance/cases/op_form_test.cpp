// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/op_form.hpp"

#include <gtest/gtest.h>

#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

// [n, m] and a constant of 2 rows become [2 n + 3, m * m].
OpForm form_of(const Sizes& sizes) {
  return {
      "aten.made_up.default",
      {{{ETB_DTYPE_FLOAT32, sizes, {}}}, {{ETB_DTYPE_FLOAT32, {2, 5}, {}}, Values::kStatistical, {}, true}},
      {value_arg(0, "self"), value_arg(1, "other")},
      {{ETB_DTYPE_FLOAT32, {2 * sizes[0] + 3, sizes[1] * sizes[1]}, {}}}};
}

TEST(OpForm, ADynamicCaseHasFormulasWhereSizesAreLinear) {
  CaseList list;
  ASSERT_TRUE(add_dynamic_form(list, ETB_DTYPE_FLOAT32, form_of, {4, 5}, Moving::kAll, Order::kShrinking));
  const std::vector<Case> cases = list.take();
  const Result<BuiltCase> built = cases[0].build(cases[0].name);
  ASSERT_TRUE(built) << built.error().message;
  const auto view = graph::View::open(built->image.span());
  ASSERT_TRUE(view);
  const graph::Node node = view->method().node(0);
  const etb_graph_spec spec = node.results()[0].spec();
  EXPECT_EQ(spec.dynamic_dims, 3u);
  EXPECT_EQ(spec.sizes[0], 2 * 12 + 3);
  EXPECT_EQ(spec.min_sizes[0], 5);
  EXPECT_NE(spec.exprs[0], graph::kNone);
  EXPECT_EQ(spec.exprs[1], graph::kNone) << "a square has no formula of one symbol";
  ASSERT_EQ(built->runs.size(), 5u);
  EXPECT_EQ(built->runs[0][0].shape.sizes, (Sizes{12, 9}));
  EXPECT_EQ(built->runs[4][0].shape.sizes, (Sizes{1, 1}));
  EXPECT_EQ(built->runs[0].size(), 1u) << "constants are no inputs of a run";
}

TEST(OpForm, ConstantsAndArgumentsDoNotChange) {
  CaseList list;
  const Maker with_weight = [](const Sizes& sizes) {
    OpForm form = form_of(sizes);
    form.operands[1].shape.sizes[0] = sizes[1];
    return form;
  };
  EXPECT_FALSE(add_dynamic_form(list, ETB_DTYPE_FLOAT32, with_weight, {4, 5}, Moving::kLast, Order::kMixed));
  EXPECT_TRUE(add_dynamic_form(list, ETB_DTYPE_FLOAT32, with_weight, {4, 5}, Moving::kFirst, Order::kMixed));
  const Maker with_size = [](const Sizes& sizes) {
    OpForm form = form_of(sizes);
    form.args.push_back(graph::int_arg(sizes[0], "size"));
    return form;
  };
  EXPECT_FALSE(add_dynamic_form(list, ETB_DTYPE_FLOAT32, with_size, {4, 5}, Moving::kFirst, Order::kMixed));
}

TEST(OpForm, NamesHaveSizesArgumentsAndData) {
  OpForm form = form_of({4, 5});
  form.args.push_back(graph::int_arg(-2, "dim"));
  form.args.push_back(graph::float_arg(0.5, "alpha"));
  form.operands[1].values = Values::kNan;
  EXPECT_EQ(form_name(form, ETB_DTYPE_FLOAT32), "edge.made_up.f32.4x5__2x5_w.dim_m2.alpha_f0p5.stat_nan");
  form.operands.pop_back();
  form.args[1].value = 0;
  EXPECT_EQ(form_name(form, ETB_DTYPE_FLOAT32), "op.made_up.f32.4x5.dim_m2.alpha_f0p5.twice.stat");
}

// The reference reads nothing but the formula's numbers, in float64.
TEST(OpForm, FormulasAreConstantsOfTheReference) {
  OpForm form = form_of({4, 5});
  form.results = {{ETB_DTYPE_FLOAT32, {2}, {}}, {ETB_DTYPE_INT8, {1}, {}}};
  const Formula third = [](const auto& operands) {
    return Elements{elements_of(operands[0])[7] / 3, static_cast<double>(operands.size())};
  };
  compute_reference(form, {third, [](const auto&) { return Elements{-7}; }});
  CaseList list;
  add_form(list, ETB_DTYPE_FLOAT32, form);
  const std::vector<Case> cases = list.take();
  const Result<BuiltCase> built = cases[0].build(cases[0].name);
  ASSERT_TRUE(built) << built.error().message;
  const auto view = graph::View::open(built->reference_image.span());
  ASSERT_TRUE(view);
  EXPECT_EQ(view->method().output(0).spec().dtype, static_cast<uint32_t>(ETB_DTYPE_FLOAT64));
  EXPECT_EQ(view->method().output(1).spec().dtype, static_cast<uint32_t>(ETB_DTYPE_INT8));
  const etb_graph_constant reals = view->constant(view->method().input(2).constant),
                           codes = view->constant(view->method().input(3).constant);
  EXPECT_EQ(load_element(ETB_DTYPE_FLOAT64, reals.data, 0), elements_of(built->runs[0][0])[7] / 3);
  EXPECT_EQ(load_element(ETB_DTYPE_FLOAT64, reals.data, 1), 2);
  EXPECT_EQ(load_element(ETB_DTYPE_INT8, codes.data, 0), -7);
}

TEST(OpForm, ManyRunsAreMoreThanAHundred) {
  CaseList list;
  ASSERT_TRUE(add_dynamic_form(list, ETB_DTYPE_FLOAT32, form_of, {4, 5}, Moving::kOuter, Order::kManyRuns));
  const std::vector<Case> cases = list.take();
  const Result<BuiltCase> built = cases[0].build(cases[0].name);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_GT(built->runs.size(), 128u);
}

TEST(OpForm, MeansAreLargeAndNansAreThere) {
  Random random("values");
  const Shape shape{ETB_DTYPE_FLOAT32, {64}, {}};
  const TensorData mean = make_data({shape, Values::kOffset}, 0, random),
                   nans = make_data({shape, Values::kNan}, 0, random);
  size_t count = 0;
  for (int64_t i = 0; i < 64; ++i) {
    EXPECT_NEAR(load_element(ETB_DTYPE_FLOAT32, mean.bytes.data(), i), 1000, 1);
    count += load_element(ETB_DTYPE_FLOAT32, nans.bytes.data(), i) !=
                     load_element(ETB_DTYPE_FLOAT32, nans.bytes.data(), i)
                 ? 1
                 : 0;
  }
  EXPECT_EQ(count, 9u);
}

}  // namespace
}  // namespace etb::conformance
