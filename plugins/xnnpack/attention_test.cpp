// SPDX-License-Identifier: Apache-2.0
// Tests attention in payloads: masks, fully masked rows and grouped heads, against plain loops.
#include "plugins/xnnpack/testing/compile_fixture.hpp"

namespace etb::xnnpack {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();
constexpr int64_t kRows = 5, kColumns = 7, kDepth = 4;

// Returns softmax(query key^T / 2 + mask) value over [1, heads, rows, depth]. Fully masked rows are 0, as in
// PyTorch.
TestTensor attention(TestTensor query, TestTensor key, TestTensor value, TestTensor mask) {
  TestTensor out = query;
  const int64_t group = query.sizes[1] / key.sizes[1];
  for (int64_t h = 0; h < query.sizes[1]; ++h)
    for (int64_t t = 0; t < kRows; ++t) {
      std::vector<double> weights;
      double total = 0;
      for (int64_t u = 0; u < kColumns; ++u) {
        double score = 0;
        for (int64_t d = 0; d < kDepth; ++d)
          score += double{query.at({0, h, t, d})} * key.at({0, h / group, u, d});
        weights.push_back(std::exp(score / 2 + mask.at({t, u})));
        total += weights.back();
      }
      for (int64_t d = 0; d < kDepth; ++d) {
        double sum = 0;
        for (int64_t u = 0; u < kColumns; ++u)
          sum += weights[static_cast<size_t>(u)] * value.at({0, h / group, u, d});
        out.at({0, h, t, d}) = total == 0 ? 0 : static_cast<float>(sum / total);
      }
    }
  return out;
}

class XnnpackAttention : public XnnpackCompile {
 protected:
  TestTensor query_ = random_tensor({1, 4, kRows, kDepth}), key_ = random_tensor({1, 4, kColumns, kDepth}),
             value_ = random_tensor({1, 4, kColumns, kDepth}), mask_ = random_tensor({kRows, kColumns});

  uint32_t add_to(Model& model, uint32_t q, uint32_t k, uint32_t v, ArgumentDesc mask,
                  bool shares_heads = false) {
    return model.node("aten.scaled_dot_product_attention.default",
                      {arg(q, "query"), arg(k, "key"), arg(v, "value"), std::move(mask),
                       graph::float_arg(0, "dropout_p"), graph::bool_arg(false, "is_causal"),
                       graph::none_arg("scale"), graph::bool_arg(shares_heads, "enable_gqa")},
                      query_.sizes);
  }
  void hide(int64_t row, int64_t from, int64_t to) {
    for (int64_t u = from; u < to; ++u) mask_.at({row, u}) = kHidden;
  }
};

TEST_F(XnnpackAttention, ARowThatAMaskHidesIsZero) {
  hide(1, 0, kColumns);
  hide(2, 3, kColumns);
  for (int64_t u = 0; u < kColumns; ++u)
    mask_.at({3, u}) = -std::numeric_limits<float>::max();  // hidden, but not by -inf
  TestTensor expected = attention(query_, key_, value_, mask_);
  for (int64_t h = 0; h < 4; ++h)
    for (int64_t d = 0; d < kDepth; ++d) {
      double mean = 0;  // all scores are equal in this row
      for (int64_t u = 0; u < kColumns; ++u) mean += value_.at({0, h, u, d}) / double{kColumns};
      expected.at({0, h, 3, d}) = static_cast<float>(mean);
    }
  for (const bool is_constant : {false, true}) {
    Model model;
    const uint32_t q = model.input(query_.sizes), k = model.input(key_.sizes), v = model.input(value_.sizes);
    const uint32_t m = is_constant ? model.constant(mask_.sizes, mask_.data) : model.input(mask_.sizes);
    model.output(add_to(model, q, k, v, arg(m, "attn_mask")));
    std::vector<TestTensor> inputs = {query_, key_, value_};
    if (!is_constant) inputs.push_back(mask_);
    TestTensor found = expected;
    run(model, inputs, found);
    expect_near(found, expected);
  }
}

TEST_F(XnnpackAttention, AMaskOfAQueryWithoutBatchHidesRows) {
  hide(1, 0, kColumns);
  const TestTensor expected = attention(query_, key_, value_, mask_);
  Model model;
  const auto without_batch = [](TestTensor tensor) {
    tensor.sizes.erase(tensor.sizes.begin());
    return tensor;
  };
  const TestTensor query = without_batch(query_), key = without_batch(key_), value = without_batch(value_);
  const uint32_t q = model.input(query.sizes), k = model.input(key.sizes), v = model.input(value.sizes),
                 m = model.input(mask_.sizes);
  model.output(model.node("aten.scaled_dot_product_attention.default",
                          {arg(q, "query"), arg(k, "key"), arg(v, "value"), arg(m, "attn_mask")},
                          query.sizes));
  TestTensor found = without_batch(expected);
  run(model, {query, key, value, mask_}, found);
  expect_near(found, without_batch(expected));
}

TEST_F(XnnpackAttention, AConstantMaskThatHidesNoRowIsOnlyAdded) {
  hide(2, 3, kColumns);
  Model model;
  const uint32_t q = model.input(query_.sizes), k = model.input(key_.sizes), v = model.input(value_.sizes);
  const uint32_t m = model.constant(mask_.sizes, mask_.data);
  model.output(add_to(model, q, k, v, arg(m, "attn_mask")));
  EXPECT_THAT(operators(model),
              ElementsAre(XnnOperator::kMultiply, XnnOperator::kBatchMatrixMultiply, XnnOperator::kAdd,
                          XnnOperator::kSoftmax, XnnOperator::kBatchMatrixMultiply));
  TestTensor expected = attention(query_, key_, value_, mask_), found = expected;
  run(model, {query_, key_, value_}, found);
  expect_near(found, expected);
}

TEST_F(XnnpackAttention, LayersThatReadOneMaskShareWhatIsMadeOfIt) {
  const auto count = [&](int layers) {
    Model model;
    uint32_t q = model.input(query_.sizes);
    const uint32_t k = model.input(key_.sizes), v = model.input(value_.sizes), m = model.input(mask_.sizes);
    for (int i = 0; i < layers; ++i) q = add_to(model, q, k, v, arg(m, "attn_mask"));
    model.output(q);
    return operators(model).size();
  };
  // Scale, two products, sum with the mask, softmax, and the product with the unmasked rows.
  EXPECT_EQ(count(3) - count(2), 6u);
}

TEST_F(XnnpackAttention, HeadsMayShareKeysAndValues) {
  key_ = random_tensor({1, 2, kColumns, kDepth});
  value_ = random_tensor({1, 2, kColumns, kDepth});
  hide(0, 2, 4);
  Model model;
  const uint32_t q = model.input(query_.sizes), k = model.input(key_.sizes), v = model.input(value_.sizes),
                 m = model.input(mask_.sizes);
  model.output(add_to(model, q, k, v, arg(m, "attn_mask"), true));
  TestTensor expected = attention(query_, key_, value_, mask_), found = expected;
  run(model, {query_, key_, value_, mask_}, found);
  expect_near(found, expected);
}

TEST_F(XnnpackAttention, FactorsThatDoNotFitAreRefused) {
  for (const bool shares_heads : {false, true}) {
    Model model;
    const uint32_t q = model.input(query_.sizes),
                   k = model.input({1, shares_heads ? 3 : 2, kColumns, kDepth});
    model.output(add_to(model, q, k, k, graph::none_arg("attn_mask"), shares_heads));
    for (const auto& [node, answer] : claims(model.image()))
      EXPECT_THAT(answer, HasSubstr("attribute: dimension 1 of query, key and value is 4"));
  }
  Model model;
  const uint32_t q = model.input(query_.sizes), k = model.input({1, 4, kColumns, kDepth + 1});
  model.output(add_to(model, q, k, k, graph::none_arg("attn_mask")));
  for (const auto& [node, answer] : claims(model.image()))
    EXPECT_THAT(answer, HasSubstr("attribute: query, key and value of sizes that do not fit"));
}

}  // namespace
}  // namespace etb::xnnpack
