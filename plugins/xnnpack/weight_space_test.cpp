// SPDX-License-Identifier: Apache-2.0
// Tests depthwise filters in the weights cache (tools/xnnpack/weight_space.cc, or this XNNPACK's way).
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cmath>
#include <limits>
#include <vector>

#include "plugins/xnnpack/packed_weights.hpp"
#include "plugins/xnnpack/xnn_handles.hpp"

extern "C" __attribute__((weak)) void etb_pack_f32_dwconv_hwg_w();

namespace etb::xnnpack {
namespace {

constexpr size_t kChannels = 37, kSide = 5;  // not a multiple of any kernel's tile
constexpr size_t kPageNbytes = size_t{1} << 16;

// A 3x3 convolution per channel, with a filter whose memory can be removed.
class DepthwiseWeights : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    memory_ = ::mmap(nullptr, kPageNbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    for (size_t i = 0; i < 9 * kChannels; ++i) {
      if (is_quantised())
        static_cast<int8_t*>(memory_)[i] = static_cast<int8_t>(i % 11);
      else
        static_cast<float*>(memory_)[i] = static_cast<float>(i % 11);
    }
    name();
  }
  void TearDown() override { ::munmap(memory_, kPageNbytes); }

  static bool is_quantised() { return GetParam(); }

  void name() {
    weights_.forget_names();
    weights_.name(memory_, "filter");
  }

  uint32_t define(xnn_subgraph_t graph, const std::vector<size_t>& sizes, uint32_t external_id,
                  uint32_t flags) const {
    uint32_t id = XNN_INVALID_VALUE_ID;
    const xnn_status status =
        is_quantised() ? xnn_define_quantized_tensor_value(graph, xnn_datatype_qint8, 0, 1, sizes.size(),
                                                           sizes.data(), nullptr, external_id, flags, &id)
                       : xnn_define_tensor_value(graph, xnn_datatype_fp32, sizes.size(), sizes.data(),
                                                 nullptr, external_id, flags, &id);
    EXPECT_EQ(status, xnn_status_success);
    return id;
  }

  RuntimeHandle make() {
    xnn_subgraph_t raw = nullptr;
    EXPECT_EQ(xnn_create_subgraph(2, 0, &raw), xnn_status_success);
    const SubgraphHandle graph(raw);
    const uint32_t x = define(raw, {1, kSide, kSide, kChannels}, 0, XNN_VALUE_FLAG_EXTERNAL_INPUT);
    const uint32_t y = define(raw, {1, kSide - 2, kSide - 2, kChannels}, 1, XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
    const std::vector<size_t> sizes = {1, 3, 3, kChannels};
    uint32_t filter = 0;
    EXPECT_EQ(is_quantised() ? xnn_define_channelwise_quantized_tensor_value(
                                   raw, xnn_datatype_qcint8, scales_.data(), 4, 3, sizes.data(), memory_,
                                   XNN_INVALID_VALUE_ID, 0, &filter)
                             : xnn_define_tensor_value(raw, xnn_datatype_fp32, 4, sizes.data(), memory_,
                                                       XNN_INVALID_VALUE_ID, 0, &filter),
              xnn_status_success);
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(xnn_define_depthwise_convolution_2d(raw, 0, 0, 0, 0, 3, 3, 1, 1, 1, 1, 1, kChannels, -infinity,
                                                  infinity, x, filter, XNN_INVALID_VALUE_ID, y, 0),
              xnn_status_success);
    xnn_runtime_t made = nullptr;
    EXPECT_EQ(xnn_create_runtime_v3(raw, weights_.provider(), nullptr, 0, &made), xnn_status_success);
    return RuntimeHandle(made);
  }

  // Checks the result for an input of ones: sums of nine weights.
  template <class T>
  void expect_sums(xnn_runtime_t runtime) const {
    std::vector<T> input(kSide * kSide * kChannels + XNN_EXTRA_BYTES, T{1}),
        output((kSide - 2) * (kSide - 2) * kChannels + XNN_EXTRA_BYTES);
    const xnn_external_value values[] = {{0, input.data()}, {1, output.data()}};
    ASSERT_EQ(xnn_reshape_runtime(runtime), xnn_status_success);
    ASSERT_EQ(xnn_setup_runtime_v2(runtime, 2, values), xnn_status_success);
    ASSERT_EQ(xnn_invoke_runtime(runtime), xnn_status_success);
    for (size_t channel = 0; channel < kChannels; ++channel) {
      size_t sum = 0;
      for (size_t i = 0; i < 9; ++i) sum += (i * kChannels + channel) % 11;
      EXPECT_EQ(output[channel], static_cast<T>(sum)) << "channel " << channel;
    }
  }
  void expect_sums(xnn_runtime_t runtime) const {
    is_quantised() ? expect_sums<int8_t>(runtime) : expect_sums<float>(runtime);
  }

  void* memory_ = nullptr;
  std::vector<float> scales_ = std::vector<float>(kChannels, 1);
  PackedStore store_;
  PackedWeights weights_{store_, true};
};

TEST_P(DepthwiseWeights, AreNotReadWhenTheyAreKnown) {
  if (etb_pack_f32_dwconv_hwg_w == nullptr) GTEST_SKIP() << "this XNNPACK packs before it asks";
  const RuntimeHandle first = make();
  expect_sums(first.get());
  EXPECT_GT(weights_.nbytes(), 0u) << "packed beside the cache";
  const uint64_t nbytes = weights_.nbytes();
  name();
  ASSERT_EQ(::mprotect(memory_, kPageNbytes, PROT_NONE), 0);
  const RuntimeHandle second = make();
  expect_sums(second.get());
  EXPECT_EQ(weights_.nbytes(), nbytes);
}

INSTANTIATE_TEST_SUITE_P(All, DepthwiseWeights, testing::Bool(),
                         [](const auto& given) { return given.param ? "Int8" : "Float32"; });

}  // namespace
}  // namespace etb::xnnpack
