// SPDX-License-Identifier: Apache-2.0
// Tests how rows and pixels are split over threads (tools/xnnpack/tile_rows.c, or this XNNPACK's way):
// results must not depend on the number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "plugins/xnnpack/xnn_handles.hpp"

// Newer releases deprecate xnn_define_concatenate2; every release has it.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace etb::xnnpack {
namespace {

constexpr unsigned kSeed = 20261122;
constexpr size_t kPadding = XNN_EXTRA_BYTES / sizeof(float);

// Height, width and channels of one image, stored in that order.
struct Image {
  size_t height, width, channels;
  std::vector<size_t> sizes() const { return {1, height, width, channels}; }
  size_t at(size_t y, size_t x, size_t channel) const { return (y * width + x) * channels + channel; }
  size_t numel() const { return height * width * channels; }
};

std::vector<float> random_floats(size_t count) {
  static std::mt19937 source(kSeed);
  std::uniform_real_distribution<float> one(-1, 1);
  std::vector<float> made(count + kPadding);
  for (float& value : made) value = one(source);
  return made;
}

// An operator from images 0, 1, ... to the last, and its expected result.
struct Operator {
  std::vector<Image> images;
  std::function<xnn_status(xnn_subgraph_t, const std::vector<uint32_t>& ids)> define;
  std::function<float(size_t y, size_t x, size_t channel)> expected;
};

class Rows : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success); }

  std::vector<float> run(const Operator& op, size_t threads) {
    xnn_subgraph_t graph = nullptr;
    EXPECT_EQ(xnn_create_subgraph(static_cast<uint32_t>(op.images.size()), 0, &graph), xnn_status_success);
    const SubgraphHandle owned(graph);
    std::vector<uint32_t> ids(op.images.size());
    std::vector<xnn_external_value> values;
    std::vector<float> output(op.images.back().numel() + kPadding);
    for (uint32_t i = 0; i < op.images.size(); ++i) {
      const bool is_output = i + 1 == op.images.size();
      const std::vector<size_t> sizes = op.images[i].sizes();
      EXPECT_EQ(xnn_define_tensor_value(
                    graph, xnn_datatype_fp32, sizes.size(), sizes.data(), nullptr, i,
                    is_output ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT : XNN_VALUE_FLAG_EXTERNAL_INPUT, &ids[i]),
                xnn_status_success);
      values.push_back({i, is_output ? output.data() : inputs_[i].data()});
    }
    EXPECT_EQ(op.define(graph, ids), xnn_status_success);
    const ThreadPoolHandle pool(threads == 0 ? nullptr : pthreadpool_create(threads));
    xnn_runtime_t made = nullptr;
    EXPECT_EQ(xnn_create_runtime_v2(graph, pool.get(), 0, &made), xnn_status_success);
    const RuntimeHandle runtime(made);
    EXPECT_EQ(xnn_reshape_runtime(made), xnn_status_success);
    EXPECT_EQ(xnn_setup_runtime_v2(made, values.size(), values.data()), xnn_status_success);
    EXPECT_EQ(xnn_invoke_runtime(made), xnn_status_success);
    output.resize(op.images.back().numel());
    return output;
  }

  void check(const Operator& op) {
    const std::vector<float> alone = run(op, 0);
    const Image& out = op.images.back();
    for (size_t y = 0; y < out.height; ++y)
      for (size_t x = 0; x < out.width; ++x)
        for (size_t c = 0; c < out.channels; ++c)
          ASSERT_NEAR(alone[out.at(y, x, c)], op.expected(y, x, c), 1e-5)
              << "row " << y << ", column " << x << ", channel " << c << ", seed " << kSeed;
    for (const size_t threads : {1, 2, 3, 5}) ASSERT_EQ(run(op, threads), alone) << threads << " threads";
  }

  std::vector<std::vector<float>> inputs_;
};

TEST_F(Rows, ConcatenatesAlongChannels) {
  for (const Image shape : {Image{1, 3, 5}, Image{7, 9, 3}, Image{61, 67, 2}}) {
    const Image other{shape.height, shape.width, 4}, both{shape.height, shape.width, shape.channels + 4};
    inputs_ = {random_floats(shape.numel()), random_floats(other.numel())};
    check({{shape, other, both},
           [](xnn_subgraph_t graph, const std::vector<uint32_t>& ids) {
             return xnn_define_concatenate2(graph, 3, ids[0], ids[1], ids[2], 0);
           },
           [&](size_t y, size_t x, size_t c) {
             return c < shape.channels ? inputs_[0][shape.at(y, x, c)]
                                       : inputs_[1][other.at(y, x, c - shape.channels)];
           }});
  }
}

TEST_F(Rows, AbsoluteValuesOfMoreThanABlock) {
  const Image shape{133, 129, 7};
  inputs_ = {random_floats(shape.numel())};
  check({{shape, shape},
         [](xnn_subgraph_t graph, const std::vector<uint32_t>& ids) {
           return xnn_define_unary(graph, xnn_unary_abs, nullptr, ids[0], ids[1], 0);
         },
         [&](size_t y, size_t x, size_t c) { return std::abs(inputs_[0][shape.at(y, x, c)]); }});
}

TEST_F(Rows, BilinearByTwo) {
  const Image in{31, 37, 5}, out{62, 74, 5};
  inputs_ = {random_floats(in.numel())};
  check({{in, out},
         [&](xnn_subgraph_t graph, const std::vector<uint32_t>& ids) {
           return xnn_define_static_resize_bilinear_2d(graph, out.height, out.width, ids[0], ids[1], 0);
         },
         [&](size_t y, size_t x, size_t c) {
           const auto place = [](size_t i, size_t size) {
             return std::clamp(static_cast<float>(i) * 0.5f - 0.25f, 0.0f, static_cast<float>(size - 1));
           };
           const float v = place(y, in.height), h = place(x, in.width);
           const auto top = static_cast<size_t>(v), left = static_cast<size_t>(h);
           const size_t bottom = std::min(top + 1, in.height - 1), right = std::min(left + 1, in.width - 1);
           const float down = v - static_cast<float>(top), over = h - static_cast<float>(left);
           const auto value = [&](size_t row, size_t column) { return inputs_[0][in.at(row, column, c)]; };
           return (value(top, left) * (1 - over) + value(top, right) * over) * (1 - down) +
                  (value(bottom, left) * (1 - over) + value(bottom, right) * over) * down;
         }});
}

// Kernels as large as the stride are products; larger ones overlap.
TEST_F(Rows, TransposedConvolutionsByTwo) {
  for (const size_t kernel : {size_t{2}, size_t{3}}) {
    const Image in{13, 23, 6}, out{12 * 2 + kernel, 22 * 2 + kernel, 9};
    const std::vector<size_t> filter_sizes = {out.channels, kernel, kernel, in.channels};
    const std::vector<float> filter = random_floats(out.channels * kernel * kernel * in.channels);
    inputs_ = {random_floats(in.numel())};
    check({{in, out},
           [&](xnn_subgraph_t graph, const std::vector<uint32_t>& ids) {
             const float infinity = std::numeric_limits<float>::infinity();
             const auto size = static_cast<uint32_t>(kernel);
             uint32_t w = 0;
             EXPECT_EQ(xnn_define_tensor_value(graph, xnn_datatype_fp32, 4, filter_sizes.data(),
                                               filter.data(), XNN_INVALID_VALUE_ID, 0, &w),
                       xnn_status_success);
             return xnn_define_deconvolution_2d(graph, 0, 0, 0, 0, 0, 0, size, size, 2, 2, 1, 1, 1,
                                                in.channels, out.channels, -infinity, infinity, ids[0], w,
                                                XNN_INVALID_VALUE_ID, ids[1], 0);
           },
           [&](size_t y, size_t x, size_t c) {
             double sum = 0;
             for (size_t i = y % 2; i < kernel && i <= y; i += 2)
               for (size_t j = x % 2; j < kernel && j <= x; j += 2) {
                 const size_t row = (y - i) / 2, column = (x - j) / 2;
                 if (row >= in.height || column >= in.width) continue;
                 for (size_t k = 0; k < in.channels; ++k)
                   sum += double{inputs_[0][in.at(row, column, k)]} *
                          filter[((c * kernel + i) * kernel + j) * in.channels + k];
               }
             return static_cast<float>(sum);
           }});
  }
}

}  // namespace
}  // namespace etb::xnnpack
