// SPDX-License-Identifier: Apache-2.0
// Distances of executorch 1.5.1 (MSEComparator, L1Comparator, SNRComparator) on the same arrays are the oracle.
#include "tools/diff/metrics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace etb::diff {
namespace {

template <class T>
TensorData tensor(etb_dtype dtype, std::vector<int64_t> sizes, std::vector<T> elements) {
  TensorData out{{dtype, std::move(sizes), {}}, std::vector<std::byte>(elements.size() * sizeof(T))};
  std::memcpy(out.bytes.data(), elements.data(), out.bytes.size());
  return out;
}

TEST(Metrics, AreThoseOfTheOfficialComparators) {
  const auto a = tensor<float>(ETB_DTYPE_FLOAT32, {2, 3}, {1.5, -2, 0.25, 0, 3, -0.5});
  const auto b = tensor<float>(ETB_DTYPE_FLOAT32, {2, 3}, {1.25, -2, 0.5, 0.125, 2.5, -0.5});
  const auto found = measure(a, b);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->mse, 0.06510416666666667, 1e-12);
  EXPECT_NEAR(found->l1, 1.125, 1e-12);
  EXPECT_NEAR(found->snr, 16.00319329751661, 1e-6);
  EXPECT_NEAR(found->cosine, 0.9926919528524962, 1e-12);  // torch.nn.functional.cosine_similarity in float64
  EXPECT_EQ(found->max_abs, 0.5);
  EXPECT_EQ(found->max_index, 4u);
  EXPECT_EQ(found->max_rel, HUGE_VAL);  // element 3 is 0 on one side
}

TEST(Metrics, CompareIntegersAsNumbers) {
  const auto a = tensor<int8_t>(ETB_DTYPE_INT8, {3}, {3, -7, 120});
  const auto b = tensor<int8_t>(ETB_DTYPE_INT8, {3}, {3, -5, -120});
  const auto found = measure(a, b);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->mse, 19201.333333333332, 1e-9);
  EXPECT_EQ(found->l1, 242);
  EXPECT_NEAR(found->snr, -6.003444213041318, 1e-5);
}

TEST(Metrics, EqualTensorsDifferByNothingEvenWithNanAndInfinities) {
  const auto a = tensor<float>(ETB_DTYPE_FLOAT32, {3}, {NAN, HUGE_VALF, 2});
  const auto found = measure(a, a);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->mse, 0);
  EXPECT_EQ(found->snr, HUGE_VAL);
  EXPECT_EQ(found->cosine, 1);
  const auto other = tensor<float>(ETB_DTYPE_FLOAT32, {3}, {1, HUGE_VALF, 2});
  EXPECT_EQ(measure(a, other)->max_abs, HUGE_VAL);
}

TEST(Metrics, OfOtherSizesOrNoElements) {
  const auto a = tensor<float>(ETB_DTYPE_FLOAT32, {2}, {1, 2});
  EXPECT_FALSE(measure(a, tensor<float>(ETB_DTYPE_FLOAT32, {1, 2}, {1, 2})));
  const auto none = tensor<float>(ETB_DTYPE_FLOAT32, {0}, {});
  EXPECT_EQ(measure(none, none)->l1, 0);
}

}  // namespace
}  // namespace etb::diff
