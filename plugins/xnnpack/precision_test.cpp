// SPDX-License-Identifier: Apache-2.0
// Tests the "precision" rows of the manifest on this processor: compares each function over floats of all
// magnitudes with double precision. ETB_PRECISION_STRIDE=1 checks all 2^32 floats (minutes). docs/xnnpack.md
// has the reason for each row.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {
namespace {

struct Function {
  const char* op;
  xnn_unary_operator type;
  double (*exact)(double);
  double granted_ulps;  // granted by `etbackend verify` without a row
};
constexpr Function kFunctions[] = {
    {"aten.sqrt.default", xnn_unary_square_root, std::sqrt, 0.5},
    {"aten.rsqrt.default", xnn_unary_reciprocal_square_root, [](double x) { return 1 / std::sqrt(x); }, 2},
    {"aten.tanh.default", xnn_unary_tanh, std::tanh, 5},
    {"aten.sigmoid.default", xnn_unary_sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 6},
    {"aten.log.default", xnn_unary_log, std::log, 3},
    {"aten.exp.default", xnn_unary_exp, std::exp, 3},
};

struct Promise {
  double ulps = 0;
  double ulps_of_one = 0;
  double largest = HUGE_VAL;
};

Promise find_promise(const Function& function) {
  std::ifstream in(std::string(ETB_SOURCE_DIR) + "/plugins/xnnpack/xnnpack.json.in");
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  text.replace(text.find("@ETB_XNNPACK_OWN_THREADS@"), 25, "true");  // the one placeholder outside a string
  Promise out;
  out.ulps = function.granted_ulps;
  const nlohmann::json manifest = nlohmann::json::parse(text);
  for (const auto& row : manifest["precision"]) {
    if (!row.contains("ops") || row.contains("dtypes")) continue;
    const auto ops = row["ops"].get<std::vector<std::string>>();
    if (std::find(ops.begin(), ops.end(), function.op) == ops.end()) continue;
    out.ulps = std::max(out.ulps, row.value("ulps", 0.0));
    out.ulps_of_one = row.value("ulps_of_one", out.ulps_of_one);
    out.largest = row.value("largest", out.largest);
  }
  return out;
}

double ulp_of(double exact) {
  const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::ldexp(1.0, exponent - 23);
}

class Precision : public testing::TestWithParam<Function> {};

TEST_P(Precision, IsWhatTheManifestSays) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const Function& function = GetParam();
  const Promise promise = find_promise(function);
  const char* text = std::getenv("ETB_PRECISION_STRIDE");
  const uint64_t stride =
      text != nullptr ? std::strtoull(text, nullptr, 10) : 1021;  // a prime reaches all mantissas
  constexpr size_t kBatch = 1 << 16;
  std::vector<float> in(kBatch + XNN_EXTRA_BYTES / sizeof(float)), out(in.size());
  double worst = 0, worst_at = 0, first_broken = HUGE_VAL;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32;) {
    size_t count = 0;
    for (; count < kBatch && bits < uint64_t{1} << 32; bits += stride) {
      const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (std::isnormal(x)) in[count++] = x;
    }
    ASSERT_EQ(
        xnn_run_unary_elementwise_nc(function.type, xnn_datatype_fp32, xnn_datatype_fp32, nullptr, nullptr,
                                     nullptr, 0, count, 1, 1, 1, nullptr, in.data(), out.data()),
        xnn_status_success);
    for (size_t i = 0; i < count; ++i) {
      const double exact = function.exact(in[i]);
      if (std::isnan(exact) || static_cast<float>(std::abs(exact)) > 3.402e38f || std::abs(exact) < 0x1p-126)
        continue;
      double error = (std::abs(out[i] - exact) - promise.ulps_of_one * 0x1p-23) / ulp_of(exact);
      if (std::isnan(error)) error = HUGE_VAL;
      if (error > promise.ulps) first_broken = std::min<double>(first_broken, std::abs(in[i]));
      if (std::abs(in[i]) > promise.largest || error <= worst) continue;
      worst = error;
      worst_at = in[i];
    }
  }
  RecordProperty("worst_ulps", std::to_string(worst));
  EXPECT_LE(worst, promise.ulps) << function.op << " at " << worst_at << "; breaks from " << first_broken;
  std::printf("%s: %.2f ulps at %g, promised %g; beyond that from |x| = %g\n", function.op, worst, worst_at,
              promise.ulps, first_broken);
}

INSTANTIATE_TEST_SUITE_P(Xnnpack, Precision, testing::ValuesIn(kFunctions), [](const auto& test) {
  std::string name = test.param.op;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace etb::xnnpack
