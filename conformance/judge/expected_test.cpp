// SPDX-License-Identifier: Apache-2.0
#include "conformance/judge/expected.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "api/format/graph_text.hpp"

namespace etb::conformance {
namespace {

TensorData tensor_of(std::vector<int64_t> sizes, std::vector<float> values) {
  TensorData out;
  out.shape.dtype = ETB_DTYPE_FLOAT32;
  out.shape.sizes = std::move(sizes);
  out.bytes.resize(values.size() * sizeof(float));
  std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
  return out;
}

// Returns follows_overflow of each output, or the error as a failure of the test.
std::vector<bool> find_followers(const char* text, const std::vector<TensorData>& inputs,
                                 bool find_overflows) {
  const auto image = graph::parse_graph_text(text);
  if (!image) {
    ADD_FAILURE() << image.error().message;
    return {};
  }
  ExpectOptions options;
  options.find_overflows = find_overflows;
  const auto expected = expect_results(image->span(), {}, inputs, PrecisionContract{}, "test", options);
  if (!expected) {
    ADD_FAILURE() << expected.error().message;
    return {};
  }
  std::vector<bool> out;
  for (const ExpectedTensor& tensor : *expected) out.push_back(tensor.follows_overflow);
  return out;
}

// 1e5 is above the largest float16, 65504.
constexpr const char* kProduct = R"(etg 1
name "forward"

graph @forward {
  user %x: float32[1]
  %a: float16[1] = aten.mul.Tensor(self=%x, other=%x)
  %b: float32[1] = aten.relu.default(self=%a)
  %c: float32[1] = aten.relu.default(self=%x)
  return %a, %b, %c
}
)";

TEST(ExpectResults, FindsOverflowsOnRequest) {
  const TensorData small = tensor_of({1}, {100}), large = tensor_of({1}, {317});
  EXPECT_EQ(find_followers(kProduct, {small}, true), std::vector<bool>({false, false, false}));
  EXPECT_EQ(find_followers(kProduct, {large}, true), std::vector<bool>({false, true, false}));
  EXPECT_EQ(find_followers(kProduct, {large}, false), std::vector<bool>({false, false, false}));
}

// The reciprocal of the deviation is 1e6.
constexpr const char* kNorm = R"(etg 1
name "forward"

graph @forward {
  user %x: float32[1, 2]
  %y: float32[1, 2], %m: float32[1, 1], %r: float16[1, 1] = aten.native_layer_norm.default(input=%x, normalized_shape=[2], weight=none, bias=none, eps=1e-12)
  %of_y: float32[1, 2] = aten.relu.default(self=%y)
  %of_m: float32[1, 1] = aten.relu.default(self=%m)
  %of_r: float32[1, 1] = aten.relu.default(self=%r)
  return %of_y, %of_m, %of_r
}
)";

TEST(ExpectResults, AnOverflowIsOfOneResultAndItsDtype) {
  EXPECT_EQ(find_followers(kNorm, {tensor_of({1, 2}, {1, 1})}, true),
            std::vector<bool>({false, false, true}));
  EXPECT_EQ(find_followers(kNorm, {tensor_of({1, 2}, {1, 2})}, true),
            std::vector<bool>({false, false, false}));
}

}  // namespace
}  // namespace etb::conformance
