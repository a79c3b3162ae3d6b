// SPDX-License-Identifier: Apache-2.0
// Tests nodes with dynamic sizes after a transpose that is only recorded. Each node is claimed by itself, so it must
// compile in a region with the transpose, too.
#include <algorithm>

#include "plugins/xnnpack/testing/compile_fixture.hpp"

namespace etb::xnnpack {
namespace {

// A model some of whose dimensions are symbols. Equal bounds of dynamic dimensions mean the same symbol.
class DynamicModel : public Model {
 public:
  // `dynamic_dims`: a mask.
  uint32_t input(const std::vector<int64_t>& bounds, uint32_t dynamic_dims) {
    return builder().graph(0).add_input(
        graph::tensor("x" + std::to_string(++count_), spec(bounds, dynamic_dims)));
  }
  uint32_t node(const char* op, std::vector<ArgumentDesc> args, const std::vector<int64_t>& bounds,
                uint32_t dynamic_dims) {
    const std::string name = "y" + std::to_string(++count_);
    return builder().graph(0).add_node(
        {.op = op, .args = std::move(args), .outputs = {graph::tensor(name, spec(bounds, dynamic_dims))}});
  }

 private:
  uint32_t spec(const std::vector<int64_t>& bounds, uint32_t dynamic_dims) {
    graph::SpecDesc desc{ETB_DTYPE_FLOAT32, bounds};
    for (uint32_t d = 0; d < bounds.size(); ++d)
      if ((dynamic_dims >> d & 1) != 0) desc.dynamic_dims.push_back({d, 1, symbol(bounds[d])});
    return builder().add_spec(desc);
  }
  uint32_t symbol(int64_t bound) {
    const auto [known, is_new] = symbols_.emplace(bound, 0);
    if (is_new)
      known->second = builder().add_symbol_expr(
          builder().add_symbol({.name = "s" + std::to_string(bound), .min = 1, .max = bound}));
    return known->second;
  }

  std::map<int64_t, uint32_t> symbols_;
  uint32_t count_ = 0;
};

ArgumentDesc dims(const std::vector<int64_t>& list) { return graph::ints_arg(list, "dims"); }

using XnnpackRecordedOrder = XnnpackCompile;

TEST_F(XnnpackRecordedOrder, MaximaOverADimensionBeforeADynamicOne) {
  DynamicModel model;
  const uint32_t x = model.input({3, 4, 7}, 4);
  const uint32_t p = model.node("aten.permute_copy.default", {arg(x, "self"), dims({2, 0, 1})}, {7, 3, 4}, 1);
  const uint32_t y =
      model.node("aten.mul.Scalar", {arg(p, "self"), graph::int_arg(2, "other")}, {7, 3, 4}, 1);
  model.output(model.node("aten.amax.default", {arg(y, "self"), graph::ints_arg({1}, "dim")}, {7, 4}, 1));
  for (const int64_t size : {7, 2, 5}) {
    TestTensor input = random_tensor({3, 4, size});
    TestTensor expected{{size, 4}, std::vector<float>(static_cast<size_t>(size) * 4)};
    for (int64_t c = 0; c < size; ++c)
      for (int64_t b = 0; b < 4; ++b)
        expected.at({c, b}) = 2 * std::max({input.at({0, b, c}), input.at({1, b, c}), input.at({2, b, c})});
    TestTensor found = expected;
    run(model, {input}, found);
    expect_near(found, expected, 0);
  }
}

TEST_F(XnnpackRecordedOrder, ALowerRankOfDynamicSizesBesideAnImage) {
  DynamicModel model;
  const uint32_t x = model.input({1, 2, 9, 8}, 12);
  const uint32_t m = model.input({9, 8}, 3);
  const uint32_t w = model.constant({2, 2, 1, 1}, {1, 2, 3, 4});
  const uint32_t y = model.node("aten.convolution.default",
                                {arg(x, "input"), arg(w, "weight"), graph::none_arg("bias"),
                                 graph::ints_arg({1, 1}, "stride"), graph::ints_arg({0, 0}, "padding"),
                                 graph::ints_arg({1, 1}, "dilation"), graph::bool_arg(false, "transposed"),
                                 graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(1, "groups")},
                                {1, 2, 9, 8}, 12);
  model.output(model.node("aten.add.Tensor", {arg(y, "self"), arg(m, "other")}, {1, 2, 9, 8}, 12));
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{9, 8}, {4, 5}, {6, 1}}) {
    TestTensor image = random_tensor({1, 2, height, width}), map = random_tensor({height, width});
    TestTensor expected = random_tensor({1, 2, height, width});
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t h = 0; h < height; ++h)
        for (int64_t v = 0; v < width; ++v)
          expected.at({0, c, h, v}) = static_cast<float>(2 * c + 1) * image.at({0, 0, h, v}) +
                                      static_cast<float>(2 * c + 2) * image.at({0, 1, h, v}) + map.at({h, v});
    TestTensor found = expected;
    run(model, {image, map}, found);
    expect_near(found, expected);
  }
}

TEST_F(XnnpackRecordedOrder, MeansOverTheDynamicDimensionsOfAnImage) {
  DynamicModel model;
  const uint32_t x = model.input({2, 3, 7, 6}, 12);
  const uint32_t y =
      model.node("aten.mul.Scalar", {arg(x, "self"), graph::int_arg(2, "other")}, {2, 3, 7, 6}, 12);
  const uint32_t p =
      model.node("aten.permute_copy.default", {arg(y, "self"), dims({0, 2, 3, 1})}, {2, 7, 6, 3}, 6);
  model.output(model.node("aten.mean.dim", {arg(p, "self"), graph::ints_arg({1, 2}, "dim")}, {2, 3}, 0));
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{7, 6}, {3, 4}, {1, 5}}) {
    TestTensor image = random_tensor({2, 3, height, width});
    TestTensor expected{{2, 3}, std::vector<float>(6)};
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t c = 0; c < 3; ++c)
        for (int64_t h = 0; h < height; ++h)
          for (int64_t v = 0; v < width; ++v)
            expected.at({n, c}) += 2 * image.at({n, c, h, v}) / static_cast<float>(height * width);
    TestTensor found = expected;
    run(model, {image}, found);
    expect_near(found, expected);
  }
}

}  // namespace
}  // namespace etb::xnnpack
