// SPDX-License-Identifier: Apache-2.0
// int16 codes from compiler to device, against dequantize -> op -> quantize in double precision.
#include <functional>

#include "plugins/dsp_stub/testing/wide_fixture.hpp"

namespace etb::dsp_stub {
namespace {

TEST_F(DspWide, ArithmeticOfAllWidths) {
  const std::map<std::string, std::function<double(double, double)>> ops = {
      {"aten.add.Tensor", [](double a, double b) { return a + b; }},
      {"aten.sub.Tensor", [](double a, double b) { return a - b; }},
      {"aten.mul.Tensor", [](double a, double b) { return a * b; }},
      {"aten.maximum.default", [](double a, double b) { return std::max(a, b); }},
      {"aten.minimum.default", [](double a, double b) { return std::min(a, b); }}};
  for (const auto& [op, compute] : ops)
    for (int mix = 1; mix < 8; ++mix) {
      SCOPED_TRACE(op + " " + std::to_string(mix));
      const Quant a(mix & 1 ? k16 : k8, 0.013, 5), b(mix & 2 ? k16 : k8, 0.021, -3),
          out(mix & 4 ? k16 : k8, 0.03, 2);
      model_.emplace();
      const uint32_t x = model_->input({3, 700}, a.dtype), y = model_->input({1, 700}, b.dtype);
      const uint32_t left = real(x, {3, 700}, a), right = real(y, {1, 700}, b);
      output(model_->node(op, {arg(left, "self"), arg(right, "other")}, {3, 700}), {3, 700}, out);
      const auto numbers = reals({{2100, a}, {700, b}});
      std::vector<double> wanted;
      for (size_t i = 0; i < 2100; ++i) wanted.push_back(compute(numbers[0][i], numbers[1][i % 700]));
      expect_results(wanted, out);
    }
}

TEST_F(DspWide, RequantisesBetweenWidths) {
  for (const auto& [from, to] : {std::pair(k8, k16), std::pair(k16, k8), std::pair(k16, k16)}) {
    const Quant in(from, 0.013, 5), out(to, 0.017, -9);
    model_.emplace();
    output(real(model_->input({999}, in.dtype), {999}, in), {999}, out);
    expect_results(reals({{999, in}})[0], out);
  }
}

TEST_F(DspWide, ClampsLimitCodes) {
  const Quant in(k16, 0.05, 0), out(k16, 0.06, 0);
  const uint32_t y = model_->node("aten.hardtanh.default",
                                  {arg(real(model_->input({999}, k16), {999}, in), "self"),
                                   graph::float_arg(-1.5, "min_val"), graph::float_arg(4, "max_val")},
                                  {999});
  output(y, {999}, out);
  std::vector<double> wanted = reals({{999, in}})[0];
  for (double& number : wanted) number = std::clamp(number, -1.5, 4.0);
  expect_results(wanted, out);
}

// A clamp before an op keeps the scale.
TEST_F(DspWide, ReluBeforeAnAddition) {
  const Quant a(k16, 0.013, 0), b(k16, 0.021, 0), out(k16, 0.03, 0);
  const uint32_t x = model_->input({900}, k16), y = model_->input({900}, k16);
  const uint32_t left = real(x, {900}, a), right = real(y, {900}, b);
  const uint32_t limited = model_->node("aten.relu.default", {arg(left, "self")}, {900});
  output(model_->node("aten.add.Tensor", {arg(limited, "self"), arg(right, "other")}, {900}), {900}, out);
  const auto numbers = reals({{900, a}, {900, b}});
  std::vector<double> wanted;
  for (size_t i = 0; i < 900; ++i) wanted.push_back(std::max(numbers[0][i], 0.0) + numbers[1][i]);
  expect_results(wanted, out);
}

// Rows in every dimension, of one element, of a few and of many. Exponentials have 32 bits, so their sum is nearly exact.
TEST_F(DspWide, SoftmaxOfAllWidths) {
  for (int mix = 1; mix < 4; ++mix)
    for (const auto& [sizes, dim] :
         {std::pair(Sizes{3, 5, 41}, 2), std::pair(Sizes{3, 50, 4}, 1), std::pair(Sizes{70, 6}, 0),
          std::pair(Sizes{4100}, 0), std::pair(Sizes{9, 1}, 1)})
      for (const double result : {1.0 / 128, 0x1p-10}) {
        SCOPED_TRACE(std::to_string(mix) + " " + std::to_string(sizes.size()) + " " + std::to_string(dim));
        const Quant in(mix & 1 ? k16 : k8, 0.031, 7), out(mix & 2 ? k16 : k8, result, -128);
        model_.emplace();
        softmax(sizes, dim, in, out);
        size_t count = 1, inner = 1;
        for (size_t d = 0; d < sizes.size(); ++d) {
          count *= static_cast<size_t>(sizes[d]);
          if (d > static_cast<size_t>(dim)) inner *= static_cast<size_t>(sizes[d]);
        }
        const auto extent = static_cast<size_t>(sizes[static_cast<size_t>(dim)]);
        const std::vector<double> x = reals({{count, in}})[0];
        std::vector<double> wanted(count);
        for (size_t i = 0; i < count; ++i) {
          const size_t first = i / (inner * extent) * inner * extent + i % inner;
          double sum = 0;
          for (size_t k = 0; k < extent; ++k) sum += std::exp(x[first + k * inner] - x[i]);
          wanted[i] = 1 / sum;
        }
        expect_results(wanted, out, 1e-6, 0.01, extent == 1 ? 0 : 0.5);
      }
}

struct ConvForm {
  int64_t in_c, out_c, groups, stride, padding, dilation;
  bool is_transposed;
};

// Sums every product of a convolution, in real numbers.
std::vector<double> convolved(const ConvForm& f, const Sizes& in, const Sizes& out,
                              const std::vector<double>& x, const std::vector<double>& w,
                              const std::vector<float>& bias, double scale) {
  std::vector<double> sums(static_cast<size_t>(out[1] * out[2] * out[3]));
  const int64_t group_in = f.in_c / f.groups, group_out = f.out_c / f.groups;
  for (int64_t o = 0; o < f.out_c; ++o)
    for (int64_t y = 0; y < out[2]; ++y)
      for (int64_t z = 0; z < out[3]; ++z) {
        double& sum = sums[static_cast<size_t>((o * out[2] + y) * out[3] + z)];
        sum = bias[static_cast<size_t>(o)];
        for (int64_t i = 0; i < group_in; ++i)
          for (int64_t ky = 0; ky < 3; ++ky)
            for (int64_t kx = 0; kx < 3; ++kx) {
              int64_t iy = y * f.stride - f.padding + ky * f.dilation,
                      ix = z * f.stride - f.padding + kx * f.dilation;
              if (f.is_transposed) {
                iy = y + f.padding - ky * f.dilation, ix = z + f.padding - kx * f.dilation;
                if (iy % f.stride != 0 || ix % f.stride != 0) continue;
                iy /= f.stride, ix /= f.stride;
              }
              if (iy < 0 || ix < 0 || iy >= in[2] || ix >= in[3]) continue;
              const int64_t channel = o / group_out * group_in + i;
              const int64_t at =
                  f.is_transposed ? (channel * group_out + o % group_out) * 9 : (o * group_in + i) * 9;
              sum += x[static_cast<size_t>((channel * in[2] + iy) * in[3] + ix)] *
                     w[static_cast<size_t>(at + ky * 3 + kx)] * scale;
            }
      }
  return sums;
}

// Multipliers of sums of int16 products have 15 bits: half a unit in the last is 2^-15 of a result.
TEST_F(DspWide, ConvolutionsOfAllWidths) {
  for (const ConvForm& f : {ConvForm{5, 7, 1, 1, 1, 1, false},
                            {6, 6, 6, 2, 1, 1, false},
                            {4, 6, 2, 1, 2, 2, false},
                            {3, 5, 1, 2, 1, 1, true}})
    for (int mix = 1; mix < 8; ++mix) {
      SCOPED_TRACE(std::to_string(f.in_c) + " " + std::to_string(mix));
      const etb_dtype of_weights = mix & 4 ? k16 : k8;
      const double w_scale = mix & 4 ? 0x1p-16 : 0x1p-8;
      const Quant in(mix & 1 ? k16 : k8, 0.02, 4), out(mix & 2 ? k16 : k8, 0.15, -6);
      const int64_t size = 9, reach = 2 * f.dilation;
      const int64_t result = f.is_transposed ? (size - 1) * f.stride - 2 * f.padding + reach + 1
                                             : (size + 2 * f.padding - reach - 1) / f.stride + 1;
      const Sizes in_sizes = {1, f.in_c, size, size}, out_sizes = {1, f.out_c, result, result};
      const Sizes w_sizes =
          f.is_transposed ? Sizes{f.in_c, f.out_c / f.groups, 3, 3} : Sizes{f.out_c, f.in_c / f.groups, 3, 3};
      model_.emplace();
      std::vector<float> bias;
      for (int64_t i = 0; i < f.out_c; ++i) bias.push_back(0.75f * static_cast<float>(i - 2));
      const uint32_t x = model_->input(in_sizes, in.dtype);
      const auto [codes, w] = weights(w_sizes, 31, of_weights);
      const uint32_t b = model_->constant(ETB_DTYPE_FLOAT32, {f.out_c}, bias);
      output(model_->node("aten.convolution.default",
                          {arg(real(x, in_sizes, in), "input"),
                           arg(weight(codes, w_sizes, w_scale, of_weights), "weight"), arg(b, "bias"),
                           graph::ints_arg({f.stride, f.stride}, "stride"),
                           graph::ints_arg({f.padding, f.padding}, "padding"),
                           graph::ints_arg({f.dilation, f.dilation}, "dilation"),
                           graph::bool_arg(f.is_transposed, "transposed"),
                           graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(f.groups, "groups")},
                          out_sizes),
             out_sizes, out);
      const auto numbers = reals({{static_cast<size_t>(f.in_c * size * size), in}});
      // The bias is rounded to a unit of the sums.
      const double unit = in.scale * w_scale / out.scale / 2;
      expect_results(convolved(f, in_sizes, out_sizes, numbers[0], w, bias, w_scale), out,
                     (mix & 5) != 0 ? 0x1p-15 : 1e-6, unit + 1e-3);
    }
}

TEST_F(DspWide, LinearLayersWithLongSums) {
  for (const auto& [of_weights, to] : {std::pair(k8, k8), std::pair(k8, k16), std::pair(k16, k16)}) {
    const double w_scale = of_weights == k16 ? 0x1p-16 : 0x1p-8;
    constexpr int64_t kIn = 4000, kOut = 6, kRows = 5;
    const Quant in(k16, 0.02, 0), out(to, 0.6, 3);
    model_.emplace();
    const uint32_t x = model_->input({kRows, kIn}, k16);
    const auto [codes, w] = weights({kOut, kIn}, 33, of_weights);
    output(model_->node(
               "aten.linear.default",
               {arg(real(x, {kRows, kIn}, in), "input"),
                arg(weight(codes, {kOut, kIn}, w_scale, of_weights), "weight"), graph::none_arg("bias")},
               {kRows, kOut}),
           {kRows, kOut}, out);
    const auto numbers = reals({{kRows * kIn, in}});
    std::vector<double> wanted;
    for (size_t row = 0; row < kRows; ++row)
      for (size_t o = 0; o < kOut; ++o) {
        double sum = 0;
        for (size_t i = 0; i < kIn; ++i) sum += numbers[0][row * kIn + i] * w[o * kIn + i] * w_scale;
        wanted.push_back(sum);
      }
    expect_results(wanted, out, 0x1p-15);
  }
}

// int16 weights with a scale and a zero point for each output, between codes of all widths.
TEST_F(DspWide, Int16WeightsOfEachChannel) {
  for (int mix = 0; mix < 4; ++mix) {
    const Quant in(mix & 1 ? k16 : k8, 0.02, 4), out(mix & 2 ? k16 : k8, 0.1, -6);
    model_.emplace();
    const std::vector<float> scales = {0x1p-16f, 0x1.8p-17f, 0x1p-18f};
    const std::vector<int64_t> zeros = {0, -900, 31000};
    const uint32_t x = model_->input({40, 30}, in.dtype);
    const auto [codes, w] = weights({3, 30}, 37, k16);
    const uint32_t s = model_->constant(ETB_DTYPE_FLOAT32, {3}, scales),
                   z = model_->constant(ETB_DTYPE_INT64, {3}, zeros);
    output(model_->node("aten.linear.default",
                        {arg(real(x, {40, 30}, in), "input"),
                         arg(channel_weight(codes, {3, 30}, s, z, k16), "weight"), graph::none_arg("bias")},
                        {40, 3}),
           {40, 3}, out);
    const std::vector<double> numbers = reals({{1200, in}})[0];
    std::vector<double> wanted(120);
    for (size_t i = 0; i < wanted.size(); ++i)
      for (size_t k = 0; k < 30; ++k)
        wanted[i] +=
            numbers[i / 3 * 30 + k] * (w[i % 3 * 30 + k] - static_cast<double>(zeros[i % 3])) * scales[i % 3];
    expect_results(wanted, out, 0x1p-15);
  }
}

// A bias of a channel with a tiny scale needs more than 48 bits.
TEST_F(DspWide, ALargeBiasDoesNotSaturate) {
  const Quant in(k16, 0x1p-5, 0), out(k16, 0.05, 0);
  const std::vector<float> bias = {3.0f, -1.25f};
  const uint32_t x = model_->input({2, 4}, k16), codes = model_->constant(k8, {2, 4}, codes_of(8, 9));
  const uint32_t b = model_->constant(ETB_DTYPE_FLOAT32, {2}, bias);
  output(model_->node("aten.linear.default",
                      {arg(real(x, {2, 4}, in), "input"), arg(weight(codes, {2, 4}, 0x1p-50), "weight"),
                       arg(b, "bias")},
                      {2, 2}),
         {2, 2}, out);
  expect_results({3.0, -1.25, 3.0, -1.25}, out, 0x1p-15);
}

}  // namespace
}  // namespace etb::dsp_stub
