// SPDX-License-Identifier: Apache-2.0
// The ops of cortex_m against sums in 64 bits, with random sizes, offsets, groups, strides and layouts: equal in every code.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "host/kernels/integer_fixture.hpp"

namespace etb::host::testing {
namespace {

struct ConvolutionCase {
  int64_t groups, group_in, group_out;
  std::array<int64_t, 2> stride, padding, dilation;
  int64_t input_offset;
  Ends ends;
  Codes input, weight, out;  // weight: [outputs, rows, columns, inputs of a group]
  std::vector<int32_t> bias, multipliers, shifts;
  bool has_bias;

  // `is_wide`: sometimes so many channels that loops over blocks of them have several. `is_large`: windows of so many
  // products, within which a kernel looks at its deadline.
  ConvolutionCase(Random& random, bool is_depthwise, bool is_wide = true, bool is_large = false) {
    const bool has_many = is_wide && random.between(0, 3) == 0;
    groups = is_large ? random.between(33, 40) : random.between(1, is_depthwise && has_many ? 40 : 5);
    group_in = is_depthwise ? 1 : random.between(1, 9);
    group_out = is_large ? 1 : random.between(1, is_depthwise ? 2 : has_many ? 70 : 7);
    std::vector<int64_t> in = {random.between(1, 2), groups * group_in, 0, 0}, kernel(2), sizes = in;
    for (size_t dim = 0; dim < 2; ++dim) {
      kernel[dim] = is_large ? random.between(45, 48) : random.between(1, 4);
      stride[dim] = random.between(1, 3);
      padding[dim] = random.between(0, 3);
      dilation[dim] = random.between(1, 3);
      const int64_t reach = (kernel[dim] - 1) * dilation[dim] + 1;
      in[2 + dim] =
          std::max<int64_t>(reach - 2 * padding[dim], 1) + random.between(0, 40 / (dim == 0 ? 8 : 1));
      sizes[2 + dim] = (in[2 + dim] + 2 * padding[dim] - reach) / stride[dim] + 1;
    }
    sizes[1] = groups * group_out;
    input_offset = random.between(-127, 128);
    ends = Ends::random(random);
    input = random.codes(in, is_large || random.between(0, 1) != 0 ? kChannelsLast : kRowMajor);
    weight = random.codes({sizes[1], kernel[0], kernel[1], group_in}, kRowMajor);
    out = random.codes(sizes, random.between(0, 1) != 0 ? kChannelsLast : kRowMajor);
    bias = random.numbers(sizes[1], -20000, 20000);
    has_bias = random.between(0, 3) != 0;
    multipliers = random.numbers(sizes[1], int64_t{1} << 30, INT32_MAX);
    shifts = random.numbers(sizes[1], is_large ? -14 : -12, is_large ? -11 : 1);
  }

  int64_t sum(const Tensor& in, std::span<const int64_t, 4> at) const {
    int64_t total = has_bias ? bias[static_cast<size_t>(at[1])] : 0;
    const int64_t first = at[1] / group_out * group_in;
    size_t index = static_cast<size_t>(at[1] * weight.sizes[1] * weight.sizes[2] * group_in);
    for (int64_t r = 0; r < weight.sizes[1]; ++r) {
      for (int64_t c = 0; c < weight.sizes[2]; ++c) {
        for (int64_t channel = 0; channel < group_in; ++channel, ++index) {
          const int64_t y = at[2] * stride[0] - padding[0] + r * dilation[0];
          const int64_t x = at[3] * stride[1] - padding[1] + c * dilation[1];
          if (y < 0 || y >= in.size(2) || x < 0 || x >= in.size(3)) continue;
          const int64_t offset =
              at[0] * in.stride(0) + (first + channel) * in.stride(1) + y * in.stride(2) + x * in.stride(3);
          total += (input.elements[static_cast<size_t>(offset)] + input_offset) * weight.elements[index];
        }
      }
    }
    return total;
  }

  // Compares all codes; true if equal.
  bool is_right(const Tensor& in, const Tensor& result) const {
    std::array<int64_t, 4> at = {};
    for (at[0] = 0; at[0] < result.size(0); ++at[0])
      for (at[1] = 0; at[1] < result.size(1); ++at[1])
        for (at[2] = 0; at[2] < result.size(2); ++at[2])
          for (at[3] = 0; at[3] < result.size(3); ++at[3]) {
            const auto channel = static_cast<size_t>(at[1]);
            int64_t offset = 0;
            for (int dim = 0; dim < 4; ++dim) offset += at[static_cast<size_t>(dim)] * result.stride(dim);
            const int64_t expected =
                ends.code(rescale_reference(sum(in, at), multipliers[channel], shifts[channel]));
            if (out.elements[static_cast<size_t>(offset)] != expected) return false;
          }
    return true;
  }

  // Depthwise weights: [1, rows, columns, outputs].
  Codes depthwise_weight() const {
    Codes turned = {
        {1, weight.sizes[1], weight.sizes[2], weight.sizes[0]}, weight.dim_order, weight.elements};
    const int64_t taps = weight.sizes[1] * weight.sizes[2];
    for (int64_t o = 0; o < weight.sizes[0]; ++o)
      for (int64_t tap = 0; tap < taps; ++tap)
        turned.elements[static_cast<size_t>(tap * weight.sizes[0] + o)] =
            weight.elements[static_cast<size_t>(o * taps + tap)];
    return turned;
  }

  void run(bool is_depthwise, uint64_t scratch_bytes) {
    Call call(scratch_bytes);
    Codes turned = depthwise_weight(), scratch = {{0}, {0}, {}};
    const Tensor& in = call.add(input);
    call.add(is_depthwise ? turned : weight);
    if (has_bias)
      call.add(bias);
    else
      call.add(EValue());
    for (const auto& list : {stride, padding, dilation}) call.add_list(list);
    if (is_depthwise) call.add(group_out);
    call.add(input_offset);
    call.add(ends.offset);
    call.add(multipliers);
    call.add(shifts);
    call.add(ends.low);
    call.add(ends.high);
    call.add(scratch);
    const Tensor& result = call.add(out);
    ASSERT_EQ(call.run(is_depthwise ? "quantized_depthwise_conv2d" : "quantized_conv2d"), ETB_OK);
    EXPECT_TRUE(is_right(in, result));
  }
};

TEST(IntegerKernels, ConvolutionsAreExact) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ConvolutionCase(random, false).run(false, 1 << 16);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(IntegerKernels, ConvolutionsWithLittleScratchAreExact) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ConvolutionCase(random, false, false).run(false, 512);  // one row of the largest kernel
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(IntegerKernels, DepthwiseConvolutionsAreExact) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ConvolutionCase(random, true).run(true, 1 << 16);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(IntegerKernels, DepthwiseConvolutionsWithLargeWindowsAreExact) {
  for (uint32_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ConvolutionCase(random, true, false, true).run(true, 1 << 16);
    if (::testing::Test::HasFailure()) return;
  }
}

struct LinearCase {
  Codes input, weight, out;
  int64_t input_offset, filter_offset;
  Ends ends;
  std::vector<int32_t> bias, multipliers, shifts, kernel_sum;
  bool has_kernel_sum;

  explicit LinearCase(Random& random) {
    const bool is_large = random.between(0, 3) == 0;
    const int64_t rows = random.between(1, 5), k = random.between(1, is_large ? 2500 : 70),
                  n = random.between(1, is_large ? 70 : 9);
    input = random.codes({rows, k}, std::array<uint8_t, 2>{0, 1});
    weight = random.codes({n, k}, std::array<uint8_t, 2>{0, 1});
    out = random.codes({rows, n}, std::array<uint8_t, 2>{0, 1});
    input_offset = random.between(-127, 128);
    filter_offset = random.between(0, 1) != 0 ? random.between(-127, 128) : 0;
    ends = Ends::random(random);
    bias = random.numbers(n, -20000, 20000);
    const int64_t rescales = random.between(0, 1) != 0 ? n : 1;
    multipliers = random.numbers(rescales, int64_t{1} << 30, INT32_MAX);
    shifts = random.numbers(rescales, -12, 1);
    has_kernel_sum = random.between(0, 1) != 0;
    for (int64_t j = 0; j < n; ++j) {
      int64_t sum = bias[static_cast<size_t>(j)];
      for (int64_t l = 0; l < k; ++l)
        sum += (weight.elements[static_cast<size_t>(j * k + l)] + filter_offset) * input_offset;
      kernel_sum.push_back(static_cast<int32_t>(sum));
    }
  }

  void run() {
    Call call;
    call.add(input);
    call.add(weight);
    if (has_kernel_sum)
      call.add(EValue());
    else
      call.add(bias);
    if (has_kernel_sum)
      call.add(kernel_sum);
    else
      call.add(EValue());
    for (const int64_t offset : {input_offset, filter_offset, ends.offset}) call.add(offset);
    call.add_list(std::vector<int64_t>(multipliers.begin(), multipliers.end()));
    call.add_list(std::vector<int64_t>(shifts.begin(), shifts.end()));
    call.add(ends.high);
    call.add(ends.low);
    call.add(out);
    ASSERT_EQ(call.run("quantized_linear"), ETB_OK);
    const int64_t k = input.sizes[1], n = weight.sizes[0];
    for (int64_t i = 0; i < input.sizes[0]; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        int64_t sum = bias[static_cast<size_t>(j)];
        for (int64_t l = 0; l < k; ++l) {
          sum += (input.elements[static_cast<size_t>(i * k + l)] + input_offset) *
                 (weight.elements[static_cast<size_t>(j * k + l)] + filter_offset);
        }
        const auto channel = static_cast<size_t>(multipliers.size() == 1 ? 0 : j);
        EXPECT_EQ(out.elements[static_cast<size_t>(i * n + j)],
                  ends.code(rescale_reference(sum, multipliers[channel], shifts[channel])));
      }
    }
  }
};

TEST(IntegerKernels, LinearLayersAreExact) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    LinearCase(random).run();
    if (::testing::Test::HasFailure()) return;
  }
}

// One product of 1 and 1 whose sum is the bias: the code is the bias, rescaled.
int rescaled_code(int32_t value, int32_t multiplier, int32_t shift) {
  Call call;
  Codes one = {{1, 1}, {0, 1}, {0}}, out = one;
  std::vector<int32_t> bias = {value};
  call.add(one);
  call.add(one);
  call.add(bias);
  call.add(EValue());
  for (int i = 0; i < 3; ++i) call.add(0);
  call.add_list(std::array<int64_t, 1>{multiplier});
  call.add_list(std::array<int64_t, 1>{shift});
  call.add(127);
  call.add(-128);
  call.add(out);
  EXPECT_EQ(call.run("quantized_linear"), ETB_OK);
  return out.elements[0];
}

TEST(IntegerKernels, HalvesAreRoundedAwayFromZero) {
  constexpr int32_t kHalf = 1 << 30;           // 0.5
  EXPECT_EQ(rescaled_code(10, kHalf, -1), 3);  // 2.5
  EXPECT_EQ(rescaled_code(-10, kHalf, -1), -3);
  EXPECT_EQ(rescaled_code(3, kHalf, 0), 2);  // 1.5, the first rounding: upwards
  EXPECT_EQ(rescaled_code(-3, kHalf, 0), -1);
  EXPECT_EQ(rescaled_code(INT32_MAX, INT32_MAX, 30), 127);
  EXPECT_EQ(rescaled_code(INT32_MIN, INT32_MAX, 30), -128);
  EXPECT_EQ(rescaled_code(INT32_MIN, INT32_MAX, -31), -1);
  EXPECT_EQ(rescaled_code(INT32_MAX, INT32_MAX, -31), 1);
}

// A linear layer of 2 inputs and 2 outputs.
struct SmallLayer {
  int64_t input_offset = 0, filter_offset = 0, output_offset = 0, low = -128, high = 127;
  std::vector<int64_t> multipliers = {1 << 30}, shifts = {0};
  std::vector<int32_t> bias = {0, 0};

  etb_status run() {
    Call call;
    Codes square = {{2, 2}, {0, 1}, {1, 2, 3, 4}}, out = square;
    call.add(square);
    call.add(square);
    call.add(bias);
    call.add(EValue());
    for (const int64_t offset : {input_offset, filter_offset, output_offset}) call.add(offset);
    call.add_list(multipliers);
    call.add_list(shifts);
    call.add(high);
    call.add(low);
    call.add(out);
    return call.run("quantized_linear");
  }
};

TEST(IntegerKernels, NumbersOutOfRangeAreRefused) {
  EXPECT_EQ(SmallLayer{}.run(), ETB_OK);
  for (const SmallLayer& layer : {SmallLayer{.input_offset = 129},
                                  SmallLayer{.input_offset = INT64_MIN},
                                  SmallLayer{.filter_offset = -128},
                                  SmallLayer{.output_offset = 128},
                                  SmallLayer{.low = 5, .high = 4},
                                  SmallLayer{.high = 128},
                                  SmallLayer{.multipliers = {-1}},
                                  SmallLayer{.multipliers = {int64_t{1} << 31}},
                                  SmallLayer{.shifts = {31}},
                                  SmallLayer{.shifts = {-32}},
                                  SmallLayer{.input_offset = int64_t{1} << 32},
                                  SmallLayer{.filter_offset = -(int64_t{1} << 32)},
                                  SmallLayer{.output_offset = INT64_MAX},
                                  SmallLayer{.low = int64_t{1} << 40},
                                  SmallLayer{.high = INT64_MIN},
                                  SmallLayer{.multipliers = {int64_t{1} << 32}},
                                  SmallLayer{.shifts = {int64_t{1} << 32}},
                                  SmallLayer{.shifts = {INT32_MIN}},
                                  SmallLayer{.shifts = {INT32_MAX}},
                                  SmallLayer{.shifts = {INT64_MIN}},
                                  SmallLayer{.shifts = {0, 0}},
                                  SmallLayer{.multipliers = {}, .shifts = {}},
                                  SmallLayer{.bias = {1, 2, 3}}}) {
    EXPECT_EQ(SmallLayer(layer).run(), ETB_INVALID_ARGUMENT);
  }
}

// Few channels and many: one number of a list is out of range, at each place.
TEST(IntegerKernels, EachRescaleOfALinearLayerIsChecked) {
  for (const int64_t channels : {1, 5, 16, 17, 40})
    for (int64_t bad = -1; bad < channels; ++bad)
      for (const auto& [multiplier, shift] : {std::pair<int64_t, int64_t>{-1, 0},
                                              {int64_t{1} << 32, 0},
                                              {1, 31},
                                              {1, -32},
                                              {1, int64_t{1} << 32}}) {
        const auto count = static_cast<size_t>(channels);
        std::vector<int64_t> multipliers(count, 1 << 30), shifts(count, -3);
        if (bad >= 0)
          multipliers[static_cast<size_t>(bad)] = multiplier, shifts[static_cast<size_t>(bad)] = shift;
        Call call;
        Codes row = {{1, 1}, {0, 1}, {7}}, weights = {{channels, 1}, {0, 1}, std::vector<int8_t>(count, 9)},
              out = {{1, channels}, {0, 1}, std::vector<int8_t>(count)};
        std::vector<int32_t> bias(count);
        call.add(row);
        call.add(weights);
        call.add(bias);
        call.add(EValue());
        for (int i = 0; i < 3; ++i) call.add(0);
        call.add_list(multipliers);
        call.add_list(shifts);
        call.add(127);
        call.add(-128);
        call.add(out);
        EXPECT_EQ(call.run("quantized_linear"), bad < 0 ? ETB_OK : ETB_INVALID_ARGUMENT)
            << channels << " " << bad;
      }
}

// A convolution of [1, 2, 3, 3] with 2 outputs.
struct SmallConvolution {
  std::vector<int64_t> weight = {2, 1, 1, 2}, stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  std::vector<int32_t> multipliers = {1, 1}, shifts = {0, 0};
  int64_t depth_multiplier = 0;  // 0: not depthwise
  uint64_t scratch_bytes = 1 << 12;

  etb_status run() {
    Call call(scratch_bytes);
    Codes input = {{1, 2, 3, 3}, {0, 1, 2, 3}, std::vector<int8_t>(18)}, out = input,
          scratch = {{0}, {0}, {}};
    Codes kernel = {weight, {0, 1, 2, 3}, {}};
    kernel.elements.resize(static_cast<size_t>(kernel.numel()));
    call.add(input);
    call.add(kernel);
    call.add(EValue());
    for (const auto& list : {stride, padding, dilation}) call.add_list(list);
    if (depth_multiplier != 0) call.add(depth_multiplier);
    call.add(0);
    call.add(0);
    call.add(multipliers);
    call.add(shifts);
    call.add(-128);
    call.add(127);
    call.add(scratch);
    call.add(out);
    return call.run(depth_multiplier != 0 ? "quantized_depthwise_conv2d" : "quantized_conv2d");
  }
};

TEST(IntegerKernels, ConvolutionsThatDoNotFitAreRefused) {
  EXPECT_EQ(SmallConvolution{}.run(), ETB_OK);
  EXPECT_EQ((SmallConvolution{.weight = {1, 1, 1, 2}, .depth_multiplier = 1}.run()), ETB_OK);
  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const SmallConvolution& call :
       {SmallConvolution{.weight = {2, 1, 1, 3}}, SmallConvolution{.weight = {2, 1, 1, 0}},
        SmallConvolution{.weight = {2, 0, 1, 2}}, SmallConvolution{.weight = {2, 4, 1, 2}},
        SmallConvolution{.weight = {3, 1, 1, 1}}, SmallConvolution{.stride = {0, 1}},
        SmallConvolution{.stride = {1, kHuge}}, SmallConvolution{.padding = {-1, 0}},
        SmallConvolution{.padding = {kHuge, kHuge}}, SmallConvolution{.dilation = {1, 0}},
        SmallConvolution{.multipliers = {1}}, SmallConvolution{.multipliers = {1, -1}},
        SmallConvolution{.shifts = {0, 31}}, SmallConvolution{.weight = {1, 1, 1, 2}, .depth_multiplier = 2},
        SmallConvolution{.weight = {2, 1, 1, 2}, .depth_multiplier = 1}}) {
    EXPECT_EQ(SmallConvolution(call).run(), ETB_INVALID_ARGUMENT);
  }
  EXPECT_EQ((SmallConvolution{.scratch_bytes = 0}.run()), ETB_OUT_OF_RESOURCES);
  EXPECT_EQ((SmallConvolution{.weight = {1, 1, 1, 2}, .depth_multiplier = 1, .scratch_bytes = 0}.run()),
            ETB_OUT_OF_RESOURCES);
}

}  // namespace
}  // namespace etb::host::testing
