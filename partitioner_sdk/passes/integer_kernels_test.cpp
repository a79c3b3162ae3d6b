// SPDX-License-Identifier: Apache-2.0
// Quantised layers become integer ops where the pattern is whole, and stay as they are elsewhere.
#include <gmock/gmock.h>

#include "partitioner_sdk/passes/passes.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// int8 x -> dequantize (scale 0.5, zero point 3) -> `lines`, which end in %q.
std::string fused(const std::string& lines, const std::string& result) {
  const std::string text = R"(etg 1
module "m"
constant "w": int8[2, 3, 1, 2] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
constant "d": int8[3, 1, 1, 2] = [1, 2, 3, 4, 5, 6]
constant "m": int8[2, 4] = [1, 2, 3, 4, 5, 6, 7, 8]
constant "s": float32[2] = [0.25, 1]
constant "s3": float32[3] = [0.25, 1, 0.25]
constant "z": int64[2] = [0, 0]
constant "z3": int64[3] = [0, 0, 0]
constant "b": float32[2] = [1, -2.75]
constant "one": int64[2] = [0, 1]

graph @forward {
  buffer %w: int8[2, 3, 1, 2] = "w" as "w"
  buffer %d: int8[3, 1, 1, 2] = "d" as "d"
  buffer %m: int8[2, 4] = "m" as "m"
  buffer %s: float32[2] = "s" as "s"
  buffer %s3: float32[3] = "s3" as "s3"
  buffer %z: int64[2] = "z" as "z"
  buffer %z3: int64[3] = "z3" as "z3"
  buffer %b: float32[2] = "b" as "b"
  buffer %one: int64[2] = "one" as "one"
  user %x: int8[1, 3, 4, 5]
  user %rows: int8[1, 2, 4]
  %wide: float32[1, 3, 4, 5] = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8)
  %real: float32[1, 2, 4] = quantized_decomposed.dequantize_per_tensor.default(%rows, 0.5, 3, -128, 127, int8)
  %kernel: float32[2, 3, 1, 2] = quantized_decomposed.dequantize_per_channel.default(%w, %s, %z, 0, -127, 127, int8)
  %deep: float32[3, 1, 1, 2] = quantized_decomposed.dequantize_per_channel.default(%d, %s3, %z3, 0, -127, 127, int8)
  %matrix: float32[2, 4] = quantized_decomposed.dequantize_per_channel.default(%m, %s, %z, 0, -127, 127, int8)
)" + lines + "  return %q\n}\n";
  std::string after = testing::after_pass(text, use_integer_kernels);
  // The line of the result, and its new constants.
  std::string found;
  for (size_t at = 0; at < after.size();) {
    const size_t end = std::min(after.find('\n', at), after.size());
    const std::string line = after.substr(at, end - at);
    if (line.starts_with("constant \"_lifted") || line.find("cortex_m") != std::string::npos ||
        line.starts_with("  %q:") || after.find('\n') == std::string::npos)
      found += line + "\n";
    at = end + 1;
  }
  EXPECT_THAT(after, HasSubstr(result));
  return found;
}

TEST(IntegerKernels, AConvolutionWithItsBiasAndRelu) {
  EXPECT_EQ(
      fused(
          R"(  %c: float32[1, 2, 4, 2] = aten.convolution.default(%wide, %kernel, %b, [1, 2], [0, 0], [1, 1], false, [0, 0], 1)
  %r: float32[1, 2, 4, 2] = aten.relu.default(%c)
  %q: int8[1, 2, 4, 2] = quantized_decomposed.quantize_per_tensor.default(%r, 0.5, -5, -128, 127, int8)
)",
          "  return %q"),
      R"(constant "_lifted_tensor_constant9": int8[2, 1, 2, 3] = [1, 3, 5, 2, 4, 6, 7, 9, 11, 8, 10, 12]
constant "_lifted_tensor_constant10": int32[2] = [8, -6]
constant "_lifted_tensor_constant11": int32[2] = [1073741824, 1073741824]
constant "_lifted_tensor_constant12": int32[2] = [-1, 1]
constant "_lifted_tensor_constant13": uint8[0] = []
  %q: int8[1, 2, 4, 2] = cortex_m.quantized_conv2d.default(%x, %_lifted_tensor_constant9, %_lifted_tensor_constant10, [1, 2], [0, 0], [1, 1], -3, -5, %_lifted_tensor_constant11, %_lifted_tensor_constant12, -5, 127, %_lifted_tensor_constant13)
)");
}

TEST(IntegerKernels, ADepthwiseConvolutionBetweenLimits) {
  EXPECT_EQ(
      fused(
          R"(  %c: float32[1, 3, 4, 4] = aten.convolution.default(%wide, %deep, none, [1], [0], [1], false, [0, 0], 3)
  %r: float32[1, 3, 4, 4] = aten.hardtanh.default(%c, 0.0, 6.0)
  %q: int8[1, 3, 4, 4] = quantized_decomposed.quantize_per_tensor.default(%r, 0.5, -100, -128, 127, int8)
)",
          "  return %q"),
      R"(constant "_lifted_tensor_constant9": int8[1, 1, 2, 3] = [1, 3, 5, 2, 4, 6]
constant "_lifted_tensor_constant10": int32[3] = [1073741824, 1073741824, 1073741824]
constant "_lifted_tensor_constant11": int32[3] = [-1, 1, -1]
constant "_lifted_tensor_constant12": uint8[0] = []
  %q: int8[1, 3, 4, 4] = cortex_m.quantized_depthwise_conv2d.default(%x, %_lifted_tensor_constant9, none, [1, 1], [0, 0], [1, 1], 1, -3, -100, %_lifted_tensor_constant10, %_lifted_tensor_constant11, -100, -88, %_lifted_tensor_constant12)
)");
}

// Only the image that no other op reads.
TEST(IntegerKernels, ImagesBetweenLayersHaveTheirChannelsLast) {
  const std::string found = fused(
      R"(  %c: float32[1, 3, 4, 4] = aten.convolution.default(%wide, %deep, none, [1], [0], [1], false, [0, 0], 3)
  %mid: int8[1, 3, 4, 4] = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 3, -128, 127, int8)
  %f: float32[1, 3, 4, 4] = quantized_decomposed.dequantize_per_tensor.default(%mid, 0.5, 3, -128, 127, int8)
  %d2: float32[1, 2, 4, 3] = aten.convolution.default(%f, %kernel, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  %q: int8[1, 2, 4, 3] = quantized_decomposed.quantize_per_tensor.default(%d2, 0.5, -5, -128, 127, int8)
)",
      "  return %q");
  EXPECT_THAT(
      found,
      HasSubstr(
          "%mid: int8[1, 3, 4, 4] order(0, 2, 3, 1) = cortex_m.quantized_depthwise_conv2d.default(%x,"));
  EXPECT_THAT(found, HasSubstr("%q: int8[1, 2, 4, 3] = cortex_m.quantized_conv2d.default(%mid,"));
}

TEST(IntegerKernels, ALinearLayerBetweenViews) {
  EXPECT_EQ(fused(R"(  %flat: float32[2, 4] = aten.view_copy.default(%real, [2, 4])
  %turned: float32[4, 2] = aten.permute_copy.default(%matrix, [1, 0])
  %p: float32[2, 2] = aten.addmm.default(%b, %flat, %turned)
  %v: float32[1, 2, 2] = aten.view_copy.default(%p, [1, 2, 2])
  %q: int8[1, 2, 2] = quantized_decomposed.quantize_per_tensor.default(%v, 0.5, 7, -128, 127, int8)
)",
                  "  return %q"),
            R"(constant "_lifted_tensor_constant9": int8[2, 4] = [1, 2, 3, 4, 5, 6, 7, 8]
constant "_lifted_tensor_constant10": int32[2] = [8, -6]
  %1: int8[2, 2] = cortex_m.quantized_linear.default(%0, %_lifted_tensor_constant9, %_lifted_tensor_constant10, none, -3, 0, 7, [1073741824, 1073741824], [-1, 1], 127, -128)
  %q: int8[1, 2, 2] = aten.view_copy.default(%1, [1, 2, 2])
)");
}

TEST(IntegerKernels, AMeanOfTheSameScale) {
  EXPECT_EQ(fused(R"(  %a: float32[1, 3] = aten.mean.dim(%wide, [-1, -2])
  %q: int8[1, 3] = quantized_decomposed.quantize_per_tensor.default(%a, 0.5, 3, -128, 127, int8)
)",
                  "  return %q"),
            R"(constant "_lifted_tensor_constant9": uint8[0] = []
  %0: int8[1, 3, 1, 1] = cortex_m.quantized_avg_pool2d.default(%x, [4, 5], [1, 1], [0, 0], false, 3, 1073741824, 0, %_lifted_tensor_constant9)
  %q: int8[1, 3] = aten.view_copy.default(%0, [1, 3])
)");
}

TEST(IntegerKernels, ASumOfTwoScales) {
  EXPECT_EQ(
      fused(
          R"(  %other: float32[1, 3, 4, 5] = quantized_decomposed.dequantize_per_tensor.default(%x, 0.25, 0, -128, 127, int8)
  %a: float32[1, 3, 4, 5] = aten.add.Tensor(%wide, %other)
  %q: int8[1, 3, 4, 5] = quantized_decomposed.quantize_per_tensor.default(%a, 0.5, 3, -128, 127, int8)
)",
          "  return %q"),
      R"(  %q: int8[1, 3, 4, 5] = cortex_m.quantized_add.default(%x, 3, 1073741824, 0, %x, 0, 1073741824, -1, 3, 1073741824, -18, -128, 127)
)");
}

TEST(IntegerKernels, AMaximumAndItsRelu) {
  EXPECT_EQ(
      fused(
          R"(  %m0: float32[1, 3, 2, 3], %m1: int64[1, 3, 2, 3] = aten.max_pool2d_with_indices.default(%wide, [2, 2], [2], [0, 1])
  %r: float32[1, 3, 2, 3] = aten.relu.default(%m0)
  %q: int8[1, 3, 2, 3] = quantized_decomposed.quantize_per_tensor.default(%r, 0.5, 3, -128, 127, int8)
)",
          "  return %q"),
      R"(  %q: int8[1, 3, 2, 3] = cortex_m.quantized_max_pool2d.default(%x, [2, 2], [2, 2], [0, 1], [1, 1], false, 3, 3, 3, 127)
)");
}

TEST(IntegerKernels, AProductWithChannelsAndItsLimits) {
  EXPECT_EQ(fused(
                R"(  %a: float32[1, 3, 1, 1] = aten.mean.dim(%wide, [2, 3], true)
  %gate: int8[1, 3, 1, 1] = quantized_decomposed.quantize_per_tensor.default(%a, 0.5, 3, -128, 127, int8)
  %g: float32[1, 3, 1, 1] = quantized_decomposed.dequantize_per_tensor.default(%gate, 0.25, -7, -128, 127, int8)
  %p: float32[1, 3, 4, 5] = aten.mul.Tensor(%wide, %g)
  %r: float32[1, 3, 4, 5] = aten.relu.default(%p)
  %q: int8[1, 3, 4, 5] = quantized_decomposed.quantize_per_tensor.default(%r, 0.25, 9, -128, 127, int8)
)",
                "%q: int8[1, 3, 4, 5] = aten.clamp.default(%0, 9, 127)"),
            R"(constant "_lifted_tensor_constant9": uint8[0] = []
  %gate: int8[1, 3, 1, 1] = cortex_m.quantized_avg_pool2d.default(%x, [4, 5], [1, 1], [0, 0], false, 3, 1073741824, 0, %_lifted_tensor_constant9)
  %0: int8[1, 3, 4, 5] = cortex_m.quantized_mul.default(%x, 3, %gate, -7, 9, 1073741824, 0)
  %q: int8[1, 3, 4, 5] = aten.clamp.default(%0, 9, 127)
)");
}

TEST(IntegerKernels, ASoftmaxInto256ths) {
  EXPECT_EQ(fused(R"(  %soft: float32[1, 2, 4] = aten._softmax.default(%real, -1, false)
  %q: int8[1, 2, 4] = quantized_decomposed.quantize_per_tensor.default(%soft, 0.00390625, -128, -128, 127, int8)
)",
                  "  return %q"),
            R"(  %q: int8[1, 2, 4] = cortex_m.softmax.default(%rows, 2, 3, -128, 1073741824, 26, -31)
)");
}

TEST(IntegerKernels, ClampsAndViewsOfOneScale) {
  EXPECT_EQ(fused(R"(  %h: float32[1, 3, 4, 5] = aten.hardtanh.default(%wide, 0.0, 6.0)
  %v: float32[3, 20] = aten.view_copy.default(%h, [3, 20])
  %c: float32[3, 20] = dim_order_ops._clone_dim_order.default(%v, dim_order=[0, 1])
  %q: int8[3, 20] = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 3, -128, 127, int8)
)",
                  "%0: int8[1, 3, 4, 5] = aten.clamp.default(%x, 3, 15)"),
            R"(  %q: int8[3, 20] = aten.view_copy.default(%0, [3, 20])
)");
}

TEST(IntegerKernels, OtherPatternsStay) {
  const auto stays = [](const std::string& lines) {
    EXPECT_EQ(fused(lines, "unchanged"), "unchanged\n") << lines;
  };
  // A mean of another scale.
  stays(R"(  %a: float32[1, 3] = aten.mean.dim(%wide, [2, 3])
  %q: int8[1, 3] = quantized_decomposed.quantize_per_tensor.default(%a, 0.25, 3, -128, 127, int8)
)");
  // Codes of uint8.
  stays(
      R"(  %c: float32[1, 2, 4, 4] = aten.convolution.default(%wide, %kernel, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  %q: uint8[1, 2, 4, 4] = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 5, 0, 255, uint8)
)");
  // Another node reads the float result.
  stays(
      R"(  %c: float32[1, 2, 4, 4] = aten.convolution.default(%wide, %kernel, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  %r: float32[1, 2, 4, 4] = aten.sigmoid.default(%c)
  %q: int8[1, 2, 4, 4] = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 5, -128, 127, int8)
)");
  // Weights with zero points.
  stays(
      R"(  %k: float32[2, 3, 1, 2] = quantized_decomposed.dequantize_per_channel.default(%w, %s, %one, 0, -127, 127, int8)
  %c: float32[1, 2, 4, 4] = aten.convolution.default(%wide, %k, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  %q: int8[1, 2, 4, 4] = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 5, -128, 127, int8)
)");
  // A factor beyond the shifts of kernels.
  stays(
      R"(  %c: float32[1, 2, 4, 4] = aten.convolution.default(%wide, %kernel, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  %q: int8[1, 2, 4, 4] = quantized_decomposed.quantize_per_tensor.default(%c, 1e12, 5, -128, 127, int8)
)");
  // A maximum of another scale, one whose indices are read, and a dilated one.
  stays(
      R"(  %m0: float32[1, 3, 2, 2], %m1: int64[1, 3, 2, 2] = aten.max_pool2d_with_indices.default(%wide, [2, 2])
  %q: int8[1, 3, 2, 2] = quantized_decomposed.quantize_per_tensor.default(%m0, 0.25, 3, -128, 127, int8)
)");
  stays(
      R"(  %m0: float32[1, 3, 2, 2], %m1: int64[1, 3, 2, 2] = aten.max_pool2d_with_indices.default(%wide, [2, 2])
  %i: float32[1, 3, 2, 2] = dim_order_ops._to_dim_order_copy.default(%m1, dtype=float32, dim_order=[0, 1, 2, 3])
  %sig: float32[1, 3, 2, 2] = aten.sigmoid.default(%i)
  %q: int8[1, 3, 2, 2] = quantized_decomposed.quantize_per_tensor.default(%m0, 0.5, 3, -128, 127, int8)
)");
  stays(
      R"(  %m0: float32[1, 3, 3, 3], %m1: int64[1, 3, 3, 3] = aten.max_pool2d_with_indices.default(%wide, [2, 2], [1, 1], [0, 0], [1, 2])
  %q: int8[1, 3, 3, 3] = quantized_decomposed.quantize_per_tensor.default(%m0, 0.5, 3, -128, 127, int8)
)");
  // Products of two ranks.
  stays(R"(  %v: float32[2, 4] = aten.view_copy.default(%real, [2, 4])
  %c: int8[2, 4] = quantized_decomposed.quantize_per_tensor.default(%v, 0.25, 3, -128, 127, int8)
  %e: float32[2, 4] = quantized_decomposed.dequantize_per_tensor.default(%c, 0.25, 3, -128, 127, int8)
  %p: float32[1, 2, 4] = aten.mul.Tensor(%real, %e)
  %q: int8[1, 2, 4] = quantized_decomposed.quantize_per_tensor.default(%p, 0.5, 3, -128, 127, int8)
)");
  // A softmax over other rows, and one into other codes.
  stays(R"(  %soft: float32[1, 2, 4] = aten._softmax.default(%real, 1, false)
  %q: int8[1, 2, 4] = quantized_decomposed.quantize_per_tensor.default(%soft, 0.00390625, -128, -128, 127, int8)
)");
  stays(R"(  %soft: float32[1, 2, 4] = aten._softmax.default(%real, -1, false)
  %q: int8[1, 2, 4] = quantized_decomposed.quantize_per_tensor.default(%soft, 0.004, -128, -128, 127, int8)
)");
  // A transposed convolution.
  stays(
      R"(  %c: float32[1, 3, 4, 6] = aten.convolution.default(%wide, %deep, none, [1, 1], [0, 0], [1, 1], true, [0, 0], 3)
  %q: int8[1, 3, 4, 6] = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 5, -128, 127, int8)
)");
}

}  // namespace
}  // namespace etb::passes
