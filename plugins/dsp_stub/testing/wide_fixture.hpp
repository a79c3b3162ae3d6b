// SPDX-License-Identifier: Apache-2.0
// For tests: patterns with int16 codes, beside real numbers.
#pragma once

#include <cmath>
#include <optional>

#include "plugins/dsp_stub/testing/dsp_models.hpp"

namespace etb::dsp_stub {

inline constexpr etb_dtype k8 = ETB_DTYPE_INT8, k16 = ETB_DTYPE_INT16;

inline double lowest_of(etb_dtype dtype) { return dtype == k16 ? INT16_MIN : INT8_MIN; }
inline double highest_of(etb_dtype dtype) { return dtype == k16 ? INT16_MAX : INT8_MAX; }

// Codes of one tensor: type, scale and zero point, which is 0 for int16.
struct Quant {
  etb_dtype dtype;
  double scale;
  int64_t zero;
  Quant(etb_dtype type, double narrow_scale, int64_t narrow_zero)
      : dtype(type),
        scale(type == k16 ? narrow_scale / 256 : narrow_scale),
        zero(type == k16 ? 0 : narrow_zero) {}
};

inline std::vector<double> to_codes(const std::vector<int8_t>& bytes, etb_dtype dtype) {
  std::vector<double> out;
  for (size_t i = 0; i < bytes.size(); i += dtype == k16 ? 2 : 1)
    out.push_back(dtype == k16 ? static_cast<int16_t>(static_cast<uint8_t>(bytes[i]) | bytes[i + 1] * 256)
                               : bytes[i]);
  return out;
}

class DspWide : public DspStub {
 protected:
  // Inputs and constants come before nodes.
  uint32_t real(uint32_t codes, const Sizes& sizes, const Quant& quant) {
    return model_->dequantize(codes, sizes, quant.scale, quant.zero, quant.dtype);
  }
  uint32_t weight(uint32_t codes, const Sizes& sizes, double scale, etb_dtype dtype = k8) {
    return model_->dequantize(codes, sizes, scale, 0, dtype);
  }
  // Adds random weights as a constant; int16 ones are 256 times as large. Returns their codes, too.
  std::pair<uint32_t, std::vector<double>> weights(const Sizes& sizes, uint32_t seed, etb_dtype dtype) {
    size_t count = 1;
    for (const int64_t size : sizes) count *= static_cast<size_t>(size);
    const std::vector<int8_t> narrow = codes_of(count, seed), low = codes_of(count, seed + 1);
    std::vector<int16_t> wide;
    for (size_t i = 0; i < count; ++i) wide.push_back(static_cast<int16_t>(narrow[i] * 256 + low[i]));
    if (dtype == k16) return {model_->constant(k16, sizes, wide), {wide.begin(), wide.end()}};
    return {model_->constant(k8, sizes, narrow), {narrow.begin(), narrow.end()}};
  }
  // Weights [outputs, inputs] with a scale and a zero point for each output.
  uint32_t channel_weight(uint32_t codes, const Sizes& sizes, uint32_t scales, uint32_t zeros,
                          etb_dtype dtype) {
    return model_->node(
        "quantized_decomposed.dequantize_per_channel.default",
        {arg(codes, "input"), arg(scales, "scales"), arg(zeros, "zero_points"), graph::int_arg(0, "axis"),
         graph::int_arg(static_cast<int64_t>(lowest_of(dtype)), "quant_min"),
         graph::int_arg(static_cast<int64_t>(highest_of(dtype)), "quant_max"),
         graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, dtype, "dtype")},
        sizes);
  }
  void output(uint32_t real, const Sizes& sizes, const Quant& quant) {
    model_->output(model_->quantize(real, sizes, quant.scale, quant.zero, quant.dtype));
  }
  // Adds a softmax of a new input.
  void softmax(const Sizes& sizes, int64_t dim, const Quant& from, const Quant& to) {
    const uint32_t x = real(model_->input(sizes, from.dtype), sizes, from);
    const uint32_t y = model_->node(
        "aten._softmax.default",
        {arg(x, "self"), graph::int_arg(dim, "dim"), graph::bool_arg(false, "half_to_float")}, sizes);
    output(y, sizes, to);
  }
  // Returns the real numbers of the inputs that `run` draws.
  static std::vector<std::vector<double>> reals(const std::vector<std::pair<size_t, Quant>>& inputs) {
    std::mt19937 random(kSeed);
    std::vector<std::vector<double>> out;
    for (const auto& [count, quant] : inputs) {
      std::vector<int8_t> bytes(count * (quant.dtype == k16 ? 2 : 1));
      for (int8_t& byte : bytes) byte = static_cast<int8_t>(random());
      out.push_back(to_codes(bytes, quant.dtype));
      for (double& number : out.back()) number = (number - static_cast<double>(quant.zero)) * quant.scale;
    }
    return out;
  }
  // All nodes are claimed, the payload has version 3, and its codes are the real results, rounded once. `relative` is the error
  // of a multiplier, `steps` an absolute one. At least the part `least_inside` of the results is in the range of codes.
  void expect_results(const std::vector<double>& results, const Quant& quant, double relative = 1e-6,
                      double steps = 1e-3, double least_inside = 0.5) {
    const ImageBytes image = model_->image();
    for (const auto& [node, answer] : claims(image)) ASSERT_EQ(answer, "") << "node " << node;
    std::vector<std::byte> payload;
    ASSERT_EQ(compile(image, payload), ETB_OK) << error_.text;
    ASSERT_EQ(static_cast<int>(payload[4]), 3);
    const std::vector<double> found = to_codes(run(payload, kSeed), quant.dtype);
    ASSERT_EQ(found.size(), results.size());
    size_t inside = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      const double code = results[i] / quant.scale + static_cast<double>(quant.zero);
      const double wanted = std::clamp(code, lowest_of(quant.dtype), highest_of(quant.dtype));
      inside += wanted == code;
      ASSERT_NEAR(found[i], wanted,
                  0.5 + steps + std::fabs(code - static_cast<double>(quant.zero)) * relative)
          << i << ", seed " << kSeed;
    }
    EXPECT_GE(static_cast<double>(inside), least_inside * static_cast<double>(found.size()));
    ASSERT_FALSE(events_.empty());
    EXPECT_EQ(estimate(image).latency_ns, static_cast<double>(events_.back().end) * 1e9 / DSP_CLOCK_HZ);
  }
  // Compiles for each size of memory: claimed, with the same codes, and with the cycles that the estimate has.
  void expect_same_in(const std::vector<int64_t>& sizes_kib, const ImageBytes& image) {
    std::vector<int8_t> expected;
    std::vector<std::byte> before;
    for (const int64_t tcm_kib : sizes_kib) {
      options_ = {number("tcm_kib", tcm_kib)};
      for (const auto& [node, answer] : claims(image))
        ASSERT_EQ(answer, "") << "node " << node << " in " << tcm_kib;
      std::vector<std::byte> payload;
      ASSERT_EQ(compile(image, payload), ETB_OK) << error_.text;
      EXPECT_NE(payload, before) << tcm_kib;
      before = payload;
      const std::vector<int8_t> found = run(payload);
      if (expected.empty()) expected = found;
      EXPECT_EQ(found, expected) << tcm_kib;
      ASSERT_FALSE(events_.empty());
      EXPECT_EQ(estimate(image).latency_ns, static_cast<double>(events_.back().end) * 1e9 / DSP_CLOCK_HZ);
    }
    EXPECT_NE(std::count(expected.begin(), expected.end(), 0), static_cast<std::ptrdiff_t>(expected.size()));
  }
  // Expects a reason of a node that contains `text`.
  void expect_rejected(const std::string& text) {
    std::vector<std::string> reasons;
    for (const auto& [node, answer] : claims(model_->image())) reasons.push_back(answer);
    EXPECT_THAT(reasons, testing::Each(testing::Not(testing::IsEmpty())));
    EXPECT_THAT(reasons, testing::Contains(testing::HasSubstr(text)));
    model_.emplace();
  }

  static constexpr uint32_t kSeed = 23;
  std::optional<CodesModel> model_{std::in_place};
};

}  // namespace etb::dsp_stub
