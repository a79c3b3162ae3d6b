// SPDX-License-Identifier: Apache-2.0
// Tests how products are split into tiles (tools/xnnpack/tile_gemm.c, or this XNNPACK's way): results must
// not depend on the number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {
namespace {

constexpr unsigned kSeed = 20261121;

std::vector<float> random_floats(size_t count) {
  static std::mt19937 source(kSeed);
  std::uniform_real_distribution<float> one(-1, 1);
  std::vector<float> made(count + XNN_EXTRA_BYTES / sizeof(float));
  for (float& value : made) value = one(source);
  return made;
}

// A layer without padding over one image; linear if the filter is one pixel.
struct Layer {
  size_t height, width, in, out, kernel;
  bool is_quantised;  // int8 weights, and an input quantised at run time

  size_t out_height() const { return height - kernel + 1; }
  size_t out_width() const { return width - kernel + 1; }
  size_t weight_count() const { return out * kernel * kernel * in; }
};

class Tiles : public testing::TestWithParam<Layer> {
 protected:
  void SetUp() override {
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    const Layer& layer = GetParam();
    input_ = random_floats(layer.height * layer.width * layer.in);
    weight_ = random_floats(layer.weight_count());
    bias_ = random_floats(layer.out);
    scale_.assign(layer.out, 1.0f / 127);
    for (const float value : weight_) weight8_.push_back(static_cast<int8_t>(std::lround(value * 127)));
  }

  uint32_t define_filter(xnn_subgraph_t graph) const {
    const Layer& layer = GetParam();
    const std::vector<size_t> sizes = {layer.out, layer.kernel, layer.kernel, layer.in};
    uint32_t id = XNN_INVALID_VALUE_ID;
    const xnn_status status = layer.is_quantised
                                  ? xnn_define_channelwise_quantized_tensor_value(
                                        graph, xnn_datatype_qcint8, scale_.data(), 4, 0, sizes.data(),
                                        weight8_.data(), XNN_INVALID_VALUE_ID, 0, &id)
                                  : xnn_define_tensor_value(graph, xnn_datatype_fp32, 4, sizes.data(),
                                                            weight_.data(), XNN_INVALID_VALUE_ID, 0, &id);
    EXPECT_EQ(status, xnn_status_success);
    return id;
  }

  SubgraphHandle define() const {
    const Layer& layer = GetParam();
    const float infinity = std::numeric_limits<float>::infinity();
    xnn_subgraph_t graph = nullptr;
    EXPECT_EQ(xnn_create_subgraph(2, 0, &graph), xnn_status_success);
    SubgraphHandle owned(graph);
    const std::vector<size_t> in = {1, layer.height, layer.width, layer.in}, out_channels = {layer.out};
    const std::vector<size_t> out = {1, layer.out_height(), layer.out_width(), layer.out};
    uint32_t x = 0, y = 0, b = 0;
    EXPECT_EQ(xnn_define_tensor_value(graph, xnn_datatype_fp32, 4, in.data(), nullptr, 0,
                                      XNN_VALUE_FLAG_EXTERNAL_INPUT, &x),
              xnn_status_success);
    EXPECT_EQ(xnn_define_tensor_value(graph, xnn_datatype_fp32, 4, out.data(), nullptr, 1,
                                      XNN_VALUE_FLAG_EXTERNAL_OUTPUT, &y),
              xnn_status_success);
    EXPECT_EQ(xnn_define_tensor_value(graph, xnn_datatype_fp32, 1, out_channels.data(), bias_.data(),
                                      XNN_INVALID_VALUE_ID, 0, &b),
              xnn_status_success);
    if (layer.is_quantised) {
      uint32_t quantised = 0;
      EXPECT_EQ(xnn_define_dynamically_quantized_tensor_value(graph, xnn_datatype_qdint8, 4, 3, in.data(),
                                                              XNN_INVALID_VALUE_ID, 0, &quantised),
                xnn_status_success);
      EXPECT_EQ(xnn_define_unary(graph, xnn_unary_convert, nullptr, x, quantised, 0), xnn_status_success);
      x = quantised;
    }
    const auto size = static_cast<uint32_t>(layer.kernel);
    EXPECT_EQ(xnn_define_convolution_2d(graph, 0, 0, 0, 0, size, size, 1, 1, 1, 1, 1, layer.in, layer.out,
                                        -infinity, infinity, x, define_filter(graph), b, y, 0),
              xnn_status_success);
    return owned;
  }

  std::vector<float> run(size_t threads) {
    const Layer& layer = GetParam();
    const SubgraphHandle graph = define();
    const ThreadPoolHandle pool(threads == 0 ? nullptr : pthreadpool_create(threads));
    xnn_runtime_t made = nullptr;
    EXPECT_EQ(xnn_create_runtime_v2(graph.get(), pool.get(), 0, &made), xnn_status_success);
    const RuntimeHandle runtime(made);
    std::vector<float> output(layer.out_height() * layer.out_width() * layer.out +
                              XNN_EXTRA_BYTES / sizeof(float));
    const xnn_external_value values[] = {{0, input_.data()}, {1, output.data()}};
    EXPECT_EQ(xnn_reshape_runtime(made), xnn_status_success);
    EXPECT_EQ(xnn_setup_runtime_v2(made, 2, values), xnn_status_success);
    EXPECT_EQ(xnn_invoke_runtime(made), xnn_status_success);
    output.resize(output.size() - XNN_EXTRA_BYTES / sizeof(float));
    return output;
  }

  float expected(size_t y, size_t x, size_t channel) const {
    const Layer& layer = GetParam();
    double sum = bias_[channel];
    for (size_t i = 0; i < layer.kernel; ++i)
      for (size_t j = 0; j < layer.kernel; ++j)
        for (size_t c = 0; c < layer.in; ++c)
          sum += double{input_[((y + i) * layer.width + x + j) * layer.in + c]} *
                 weight_[((channel * layer.kernel + i) * layer.kernel + j) * layer.in + c];
    return static_cast<float>(sum);
  }

  std::vector<float> input_, weight_, bias_, scale_;
  std::vector<int8_t> weight8_;
};

TEST_P(Tiles, GiveTheSameNumbersForAnyNumberOfThreads) {
  const Layer& layer = GetParam();
  const std::vector<float> alone = run(0);
  const double terms = static_cast<double>(layer.kernel * layer.kernel * layer.in);
  const double tolerance = layer.is_quantised ? 0.02 * std::sqrt(terms) : 1e-5 * terms;
  for (size_t i = 0; i < alone.size(); ++i) {
    const size_t pixel = i / layer.out;
    ASSERT_NEAR(alone[i], expected(pixel / layer.out_width(), pixel % layer.out_width(), i % layer.out),
                tolerance)
        << "element " << i << ", seed " << kSeed;
  }
  for (const size_t threads : {1, 2, 3, 5}) ASSERT_EQ(run(threads), alone) << threads << " threads";
}

// Weights of a few kilobytes, larger than any second-level cache, and one panel larger than half of a usual
// one. Few rows and many; rows and columns that no kernel divides; an input larger than the weights.
INSTANTIATE_TEST_SUITE_P(All, Tiles,
                         testing::Values(Layer{1, 1, 96, 1000, 1, false}, Layer{5, 5, 40, 33, 1, false},
                                         Layer{4, 6, 512, 2101, 1, false}, Layer{70, 71, 16, 24, 1, false},
                                         Layer{60, 41, 320, 700, 1, false}, Layer{9, 9, 64, 300, 3, false},
                                         Layer{5, 5, 1100, 70, 3, false}, Layer{30, 30, 20, 40, 3, false},
                                         Layer{4, 6, 512, 4303, 1, true}, Layer{70, 71, 16, 24, 1, true},
                                         Layer{9, 9, 128, 1100, 3, true}));

}  // namespace
}  // namespace etb::xnnpack
