// SPDX-License-Identifier: Apache-2.0
// The float mathematics of the hot loops against libm in double, over the whole range, for every variant that this CPU runs.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "host/kernels/cpu_features.hpp"
#include "host/kernels/special_functions.hpp"

namespace etb::host {
namespace {

struct Row {
  UnaryOp op;
  double (*reference)(double);
  double allowed_ulps;
};

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double erfinv(double x) { return special::erfinv(x); }
double lgamma(double x) { return special::lgamma(x); }

double ulp_of(double value) {
  const auto rounded = static_cast<float>(std::fabs(value));
  return std::nextafter(rounded, INFINITY) - rounded;
}

TEST(VectorMath, StaysWithinItsUlps) {
  const Row rows[] = {
      {UnaryOp::exp, std::exp, 1.5},    {UnaryOp::log, std::log, 1.5}, {UnaryOp::tanh, std::tanh, 2.5},
      {UnaryOp::sigmoid, sigmoid, 3.0}, {UnaryOp::erf, std::erf, 2.0}, {UnaryOp::erfinv, erfinv, 3.5},
      {UnaryOp::lgamma, lgamma, 1.5},
  };
  const CpuFeatures features = detect_cpu_features();
  const CpuFeatures variants[] = {{}, {features.has_avx2, false}, features};
  for (const CpuFeatures& variant : variants) {
    const VectorTable& table = select_vector_table(variant);
    for (const Row& row : rows) {
      double worst = 0.0, worst_at = 0.0;
      std::vector<float> in, out;
      for (uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 4099) {
        in.push_back(__builtin_bit_cast(float, static_cast<uint32_t>(bits)));
      }
      out.resize(in.size());
      const void* inputs[] = {in.data()};
      const float params[4] = {};
      table.elements->unary[static_cast<int>(row.op)][0](out.data(), inputs, static_cast<int64_t>(in.size()),
                                                         params);
      for (size_t i = 0; i < in.size(); ++i) {
        const double expected = row.reference(in[i]);
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(out[i])) << in[i];
          continue;
        }
        if (static_cast<double>(out[i]) == static_cast<double>(static_cast<float>(expected))) continue;
        const double error = std::fabs(out[i] - expected) / ulp_of(expected);
        if (!(error <= worst)) worst = error, worst_at = in[i];
      }
      EXPECT_LE(worst, row.allowed_ulps)
          << table.name << " op " << static_cast<int>(row.op) << " at " << worst_at;
    }
  }
}

TEST(VectorMath, TheNeighbourOfTheLastNegativeNumberIsMinusZero) {
  const float below[] = {-0x1p-24f, 0x1p-24f}, towards[] = {1.0f, -1.0f}, half_bits[4] = {13.0f};
  float out[2] = {};
  const void* inputs[] = {below, towards};
  const VectorTable& table = select_vector_table(CpuFeatures{});
  table.elements->binary[static_cast<int>(BinaryOp::nextafter)][0](out, inputs, 2, half_bits);
  EXPECT_TRUE(out[0] == 0 && std::signbit(out[0]));
  EXPECT_TRUE(out[1] == 0 && !std::signbit(out[1]));
}

}  // namespace
}  // namespace etb::host
