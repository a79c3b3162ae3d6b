// SPDX-License-Identifier: Apache-2.0
#include "etb/cpp/tensor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace etb {
namespace {

using testing::ElementsAre;

struct Sample {
  std::vector<int64_t> sizes;
  std::vector<float> data;
  std::vector<int64_t> strides, upper;
  std::vector<uint8_t> dim_order;

  etb_tensor raw() {
    etb_tensor tensor{};
    tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
    tensor.dtype = ETB_DTYPE_FLOAT32;
    tensor.rank = static_cast<uint32_t>(sizes.size());
    tensor.sizes = sizes.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    tensor.upper_sizes = upper.empty() ? nullptr : upper.data();
    tensor.dim_order = dim_order.empty() ? nullptr : dim_order.data();
    tensor.data = data.data();
    tensor.capacity_bytes = data.size() * sizeof(float);
    return tensor;
  }
};

TEST(Tensor, KnowsItsSizes) {
  Sample sample{{2, 0, 3}, {}, {}, {}, {}};
  const etb_tensor raw = sample.raw();
  const Tensor tensor(raw);
  EXPECT_EQ(tensor.numel(), 0);
  EXPECT_EQ(tensor.rank(), 3u);
  EXPECT_TRUE(tensor.has_sizes(std::vector<int64_t>{2, 0, 3}));
  EXPECT_FALSE(tensor.has_sizes(std::vector<int64_t>{2, 0}));
  EXPECT_EQ(sizes_text(tensor.sizes()), "[2, 0, 3]");
  EXPECT_TRUE(tensor.data<float>()) << "no elements need no memory";
}

TEST(Tensor, RankZeroHasOneElement) {
  Sample sample{{}, {4}, {}, {}, {}};
  const etb_tensor raw = sample.raw();
  EXPECT_EQ(Tensor(raw).numel(), 1);
  EXPECT_THAT(Tensor(raw).data<float>().value(), ElementsAre(4));
}

// proves: ABI-TENSOR-01
TEST(Tensor, OnlyContiguousElementsAreGiven) {
  Sample sample{{2, 3}, std::vector<float>(6), {}, {}, {}};
  const auto is_given = [&] {
    const etb_tensor raw = sample.raw();
    return Tensor(raw).data<float>().has_value();
  };
  EXPECT_TRUE(is_given());
  sample.strides = {3, 1};
  EXPECT_TRUE(is_given());
  sample.strides = {1, 2};
  EXPECT_FALSE(is_given()) << "transposed";
  sample.strides = {0, 1};
  EXPECT_FALSE(is_given()) << "broadcast";
  sample.strides.clear();
  sample.dim_order = {1, 0};
  EXPECT_FALSE(is_given()) << "packed in another order";
  sample.dim_order = {0, 1};
  EXPECT_TRUE(is_given());
  sample.sizes = {2, 1};
  sample.strides = {1, 77};
  EXPECT_TRUE(is_given()) << "the stride of a dimension of size 1 does not matter";
}

TEST(Tensor, WrongTypeOrTooLittleMemoryIsAnError) {
  Sample sample{{2}, {1, 2}, {}, {}, {}};
  etb_tensor raw = sample.raw();
  EXPECT_EQ(Tensor(raw).data<int32_t>().error().message, "dtype float32, expected int32");
  raw.capacity_bytes = 7;
  EXPECT_EQ(Tensor(raw).data<float>().error().message, "capacity of 7 bytes, expected 8");
  raw = sample.raw();
  raw.data = nullptr;
  EXPECT_FALSE(Tensor(raw).data<float>());
}

// proves: ABI-TENSOR-02
TEST(OutputTensor, GrowsUpToItsBoundAndNoFurther) {
  Sample sample{{0, 4}, std::vector<float>(8), {}, {2, 4}, {}};
  etb_tensor raw = sample.raw();
  OutputTensor output(raw);
  EXPECT_TRUE(output.resize(std::vector<int64_t>{2, 3}));
  EXPECT_THAT(sample.sizes, ElementsAre(2, 3));
  EXPECT_EQ(output.data<float>()->size(), 6u);
  const Status status = output.resize(std::vector<int64_t>{3, 1});
  EXPECT_EQ(status.error().message, "sizes [3, 1], expected at most [2, 4]");
  EXPECT_FALSE(output.resize(std::vector<int64_t>{-1, 1}));
  EXPECT_FALSE(output.resize(std::vector<int64_t>{2}));
  EXPECT_THAT(sample.sizes, ElementsAre(2, 3));
}

TEST(OutputTensor, StaticSizesStayAsTheyAre) {
  Sample sample{{2}, {0, 0}, {}, {}, {}};
  etb_tensor raw = sample.raw();
  EXPECT_TRUE(OutputTensor(raw).resize(std::vector<int64_t>{2}));
  EXPECT_FALSE(OutputTensor(raw).resize(std::vector<int64_t>{1}));
}

TEST(Dtype, KnowsEveryRow) {
  EXPECT_EQ(dtype_bits(ETB_DTYPE_FLOAT16), 16u);
  EXPECT_STREQ(dtype_text(ETB_DTYPE_BFLOAT16), "bfloat16");
  EXPECT_EQ(dtype_bits(99), 0u);
  EXPECT_STREQ(dtype_text(99), "unknown dtype");
}

}  // namespace
}  // namespace etb
