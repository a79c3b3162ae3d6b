// SPDX-License-Identifier: Apache-2.0
// Tests fusions that save nodes: clamps after layers, chains of views, transposes between products, equal
// transposes. compile_test.cpp covers batch norm, biases and transposed weights.
#include <set>

#include "plugins/xnnpack/testing/compile_fixture.hpp"

namespace etb::xnnpack {
namespace {

class XnnpackFusion : public XnnpackCompile {
 protected:
  uint32_t view(Model& model, const char* op, uint32_t from, ArgumentDesc how,
                const std::vector<int64_t>& sizes) {
    return model.node(op, {arg(from, "self"), std::move(how)}, sizes);
  }
  static uint32_t clamp(Model& model, uint32_t from, const std::vector<int64_t>& sizes) {
    return model.node(
        "aten.hardtanh.default",
        {arg(from, "self"), graph::float_arg(-0.25, "min_val"), graph::float_arg(0.5, "max_val")}, sizes);
  }
};

TEST_F(XnnpackFusion, AClampIsPartOfTheLayerBeforeIt) {
  const TestTensor weight = random_tensor({5, 5});
  Model model;
  const uint32_t x = model.input({3, 5}), w = model.constant(weight.sizes, weight.data);
  const uint32_t y = model.node("aten.linear.default", {arg(x, "input"), arg(w, "weight")}, {3, 5});
  const uint32_t z = clamp(model, y, {3, 5});
  model.output(
      clamp(model, model.node("aten.add.Tensor", {arg(z, "self"), arg(x, "other")}, {3, 5}), {3, 5}));
  EXPECT_THAT(operators(model), ElementsAre(XnnOperator::kFullyConnected, XnnOperator::kAdd));
  TestTensor input = random_tensor({3, 5}), expected{{3, 5}, std::vector<float>(15)};
  for (size_t i = 0; i < 3; ++i)
    for (size_t o = 0; o < 5; ++o) {
      float sum = 0;
      for (size_t k = 0; k < 5; ++k) sum += input.data[i * 5 + k] * weight.data[o * 5 + k];
      expected.data[i * 5 + o] =
          std::clamp(std::clamp(sum, -0.25f, 0.5f) + input.data[i * 5 + o], -0.25f, 0.5f);
    }
  TestTensor found = expected;
  run(model, {input}, found);
  expect_near(found, expected);
}

TEST_F(XnnpackFusion, ASqueezeBehindAnUnsqueezeIsNothing) {
  Model model;
  const uint32_t x = model.input({3, 5});
  const uint32_t y = model.node("aten.abs.default", {arg(x, "self")}, {3, 5});
  const uint32_t wide = view(model, "aten.unsqueeze_copy.default", y, graph::int_arg(0, "dim"), {1, 3, 5});
  const uint32_t back = view(model, "aten.squeeze_copy.dims", wide, graph::ints_arg({0}, "dim"), {3, 5});
  model.output(model.node("aten.floor.default", {arg(back, "self")}, {3, 5}));
  EXPECT_THAT(operators(model), ElementsAre(XnnOperator::kAbs, XnnOperator::kFloor));
}

TEST_F(XnnpackFusion, ViewsOfViewsAreOneNodeThatNamesThemAll) {
  Model model;
  const uint32_t x = model.input({3, 4});
  const uint32_t a = view(model, "aten.view_copy.default", x, graph::ints_arg({12}, "size"), {12});
  const uint32_t b = view(model, "aten.view_copy.default", a, graph::ints_arg({2, 6}, "size"), {2, 6});
  const uint32_t c = view(model, "aten.unsqueeze_copy.default", b, graph::int_arg(0, "dim"), {1, 2, 6});
  model.output(model.node("aten.abs.default", {arg(c, "self")}, {1, 2, 6}));
  EXPECT_THAT(operators(model), ElementsAre(XnnOperator::kStaticReshape, XnnOperator::kAbs));
  Compiled made;
  ASSERT_EQ(compile(model.image(), made), ETB_OK) << error_.text;
  bool has_all = false;
  for (const auto& [name, handles] : made.sources) has_all = has_all || handles.size() == 3;
  EXPECT_TRUE(has_all) << "the event of the view leads to " << made.sources.size()
                       << " nodes, expected one to all three";
  TestTensor input = random_tensor({3, 4}), expected{{1, 2, 6}, input.data};
  for (float& value : expected.data) value = std::abs(value);
  TestTensor found = expected;
  run(model, {input}, found);
  expect_near(found, expected);
}

// A permutation of an input is part of the node that reads it, so the events of that node lead to both.
TEST_F(XnnpackFusion, APermutationOfAnInputIsJoinedToItsReader) {
  Model model;
  const uint32_t a = model.input({2, 3, 4}), b = model.input({2, 5, 4});
  const uint32_t t = model.node("aten.permute_copy.default",
                                {arg(b, "self"), graph::ints_arg({0, 2, 1}, "dims")}, {2, 4, 5});
  model.output(model.node("aten.bmm.default", {arg(a, "self"), arg(t, "mat2")}, {2, 3, 5}));
  Compiled made;
  ASSERT_EQ(compile(model.image(), made), ETB_OK) << error_.text;
  std::set<uint32_t> joined;
  for (const auto& [name, handles] : made.sources) joined.insert(handles.begin(), handles.end());
  EXPECT_EQ(joined.size(), 2u);
}

TEST_F(XnnpackFusion, AViewThatSomebodyElseReadsStays) {
  Model model;
  const uint32_t x = model.input({3, 4});
  const uint32_t a = view(model, "aten.view_copy.default", x, graph::ints_arg({12}, "size"), {12});
  const uint32_t b = view(model, "aten.view_copy.default", a, graph::ints_arg({2, 6}, "size"), {2, 6});
  model.output(model.node("aten.abs.default", {arg(a, "self")}, {12}));
  model.output(model.node("aten.abs.default", {arg(b, "self")}, {2, 6}));
  EXPECT_THAT(operators(model), ElementsAre(XnnOperator::kStaticReshape, XnnOperator::kStaticReshape,
                                            XnnOperator::kAbs, XnnOperator::kAbs));
}

TEST_F(XnnpackFusion, TransposesBetweenElementwiseOpsCancelOut) {
  Model model;
  const uint32_t x = model.input({3, 4});
  const auto turned = [&](uint32_t from, const std::vector<int64_t>& sizes) {
    return view(model, "aten.permute_copy.default", from, graph::ints_arg({1, 0}, "dims"), sizes);
  };
  const uint32_t y = model.node("aten.abs.default", {arg(turned(x, {4, 3}), "self")}, {4, 3});
  model.output(model.node("aten.floor.default", {arg(turned(y, {3, 4}), "self")}, {3, 4}));
  EXPECT_THAT(operators(model), ElementsAre(XnnOperator::kAbs, XnnOperator::kFloor));
}

TEST_F(XnnpackFusion, EveryStepOfADimensionIsAPartOfAView) {
  struct Case {
    int64_t extent, start;
  };
  for (const auto& [extent, start] : {Case{7, 1}, Case{6, 0}, Case{6, 1}}) {
    Model model;
    const uint32_t x = model.input({2, extent, 3});
    model.output(model.node("aten.slice_copy.Tensor",
                            {arg(x, "self"), graph::int_arg(1, "dim"), graph::int_arg(start, "start"),
                             graph::int_arg(extent, "end"), graph::int_arg(2, "step")},
                            {2, 3, 3}));
    TestTensor input = random_tensor({2, extent, 3}), expected{{2, 3, 3}, std::vector<float>(18)};
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t c = 0; c < 3; ++c) expected.at({b, i, c}) = input.at({b, start + 2 * i, c});
    TestTensor found = expected;
    run(model, {input}, found);
    expect_near(found, expected, 0);
  }
}

TEST_F(XnnpackFusion, ARollIsTwoPartsSwapped) {
  Model model;
  const uint32_t x = model.input({3, 4});
  model.output(model.node(
      "aten.roll.default",
      {arg(x, "self"), graph::ints_arg({-1, 2, 4}, "shifts"), graph::ints_arg({0, -1, 1}, "dims")}, {3, 4}));
  TestTensor input = random_tensor({3, 4}), expected = input;
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 4; ++j) expected.at({(i + 2) % 3, (j + 2) % 4}) = input.at({i, j});
  TestTensor found = expected;
  run(model, {input}, found);
  expect_near(found, expected, 0);
}

}  // namespace
}  // namespace etb::xnnpack
