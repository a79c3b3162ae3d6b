// SPDX-License-Identifier: Apache-2.0
// The ops of cortex_m without weights: sums, products and maxima are equal to those in 64 bits in every code, with random sizes,
// factors and layouts; probabilities are within one step.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "host/kernels/integer_fixture.hpp"

namespace etb::host::testing {
namespace {

Codes draw(Random& random, const std::vector<int64_t>& sizes) {
  return random.codes(sizes, random.between(0, 1) != 0 ? kChannelsLast : kRowMajor);
}

// Code `index` in row-major order of the sizes of `whole`, which a tensor of size 1 repeats.
int64_t at(const Tensor& tensor, const Codes& codes, int64_t index, const Tensor& whole) {
  int64_t offset = 0;
  for (int dim = 3; dim >= 0; index /= whole.size(dim--))
    offset += tensor.size(dim) == 1 ? 0 : index % whole.size(dim) * tensor.stride(dim);
  return codes.elements[static_cast<size_t>(offset)];
}

// Sums of codes in every combination of layouts.
TEST(IntegerKernels, SumsAreExactInEveryLayout) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::vector<int64_t> sizes = {random.between(1, 2), random.between(1, 9), random.between(1, 5),
                                        random.between(1, 9)};
    Codes x = draw(random, sizes), y = draw(random, sizes), out = draw(random, sizes);
    const Ends ends = Ends::random(random);
    const std::vector<int32_t> zeros = random.numbers(2, -128, 127),
                               multipliers = random.numbers(3, 1 << 30, INT32_MAX),
                               shifts = random.numbers(2, -3, 0);
    const int32_t shift = static_cast<int32_t>(random.between(-21, -19));
    Call call;
    const Tensor& left = call.add(x);
    for (const int64_t number : {zeros[0], multipliers[0], shifts[0]}) call.add(number);
    const Tensor& right = call.add(y);
    for (const int64_t number : {zeros[1], multipliers[1], shifts[1]}) call.add(number);
    for (const int64_t number : {ends.offset, int64_t{multipliers[2]}, int64_t{shift}, ends.low, ends.high})
      call.add(number);
    const Tensor& result = call.add(out);
    ASSERT_EQ(call.run("quantized_add"), ETB_OK);
    for (int64_t i = 0; i < result.numel(); ++i) {
      const int64_t sum =
          rescale_reference((at(left, x, i, result) - zeros[0]) * (1 << 20), multipliers[0], shifts[0]) +
          rescale_reference((at(right, y, i, result) - zeros[1]) * (1 << 20), multipliers[1], shifts[1]);
      ASSERT_EQ(at(result, out, i, result), ends.code(rescale_reference(sum, multipliers[2], shift))) << i;
    }
  }
}

// Operands of equal sizes, or with some dims of size 1.
TEST(IntegerKernels, ProductsAreExactInEveryLayout) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<int64_t> sizes = {random.between(1, 2), random.between(1, 9), random.between(1, 5),
                                  random.between(1, 9)},
                         left_sizes = sizes, right_sizes = sizes;
    for (size_t dim = 0; dim < 4 && seed % 2 == 1; ++dim) {
      const int64_t which = random.between(0, 3);
      if (which == 0) left_sizes[dim] = 1;
      if (which == 1) right_sizes[dim] = 1;
    }
    Codes x = draw(random, left_sizes), y = draw(random, right_sizes), out = draw(random, sizes);
    const int64_t x_zero = random.between(-128, 127), y_zero = random.between(-128, 127),
                  out_zero = random.between(-128, 127), multiplier = random.between(1 << 30, INT32_MAX),
                  shift = random.between(-12, 1);
    Call call;
    const Tensor& left = call.add(x);
    call.add(x_zero);
    const Tensor& right = call.add(y);
    for (const int64_t number : {y_zero, out_zero, multiplier, shift}) call.add(number);
    const Tensor& result = call.add(out);
    ASSERT_EQ(call.run("quantized_mul"), ETB_OK);
    for (int64_t i = 0; i < result.numel(); ++i) {
      const int64_t product = (at(left, x, i, result) - x_zero) * (at(right, y, i, result) - y_zero);
      const int64_t expected = rescale_reference(product, multiplier, static_cast<int>(shift)) + out_zero;
      ASSERT_EQ(at(result, out, i, result), std::clamp<int64_t>(expected, -128, 127)) << i;
    }
  }
}

struct Maximum {
  std::vector<int64_t> sizes = {1, 2, 5, 5};
  std::vector<int64_t> kernel = {2, 2}, stride = {2, 2}, padding = {0, 0}, dilation = {1, 1};
  bool ceil_mode = false;
  int64_t in_zero = 3, out_zero = 3, low = -128, high = 127;

  explicit Maximum(Random& random) : ceil_mode(random.between(0, 1) != 0) {
    for (size_t dim = 0; dim < 2; ++dim) {
      kernel[dim] = random.between(1, 4);
      stride[dim] = random.between(1, 3);
      padding[dim] = random.between(0, kernel[dim] / 2);
      dilation[dim] = random.between(1, 3);
      sizes[2 + dim] = (kernel[dim] - 1) * dilation[dim] + random.between(1, 9);
    }
    sizes[0] = random.between(1, 2), sizes[1] = random.between(1, 9);
    low = random.between(-128, 0), high = random.between(low, 127);
    in_zero = out_zero = random.between(-128, 127);
  }
  Maximum() = default;

  int64_t count(size_t dim) const {
    const int64_t rest = sizes[2 + dim] + 2 * padding[dim] - (kernel[dim] - 1) * dilation[dim] - 1;
    int64_t count = rest / stride[dim] + 1;
    if (ceil_mode && rest % stride[dim] != 0 && count * stride[dim] < sizes[2 + dim] + padding[dim]) ++count;
    return count;
  }

  etb_status run(Call& call, Codes& input, Codes& out, const Tensor** out_in,
                 const Tensor** out_result) const {
    *out_in = &call.add(input);
    for (const auto& list : {kernel, stride, padding, dilation}) call.add_list(list);
    call.add(EValue(ceil_mode));
    for (const int64_t number : {in_zero, out_zero, low, high}) call.add(number);
    *out_result = &call.add(out);
    return call.run("quantized_max_pool2d");
  }
};

TEST(IntegerKernels, MaximaAreExactInEveryLayout) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Maximum pool(random);
    Call call;
    Codes input = draw(random, pool.sizes),
          out = draw(random, {pool.sizes[0], pool.sizes[1], pool.count(0), pool.count(1)});
    const Tensor *in = nullptr, *result = nullptr;
    ASSERT_EQ(pool.run(call, input, out, &in, &result), ETB_OK);
    for (int64_t i = 0; i < result->numel(); ++i) {
      const int64_t x = i % result->size(3), y = i / result->size(3) % result->size(2),
                    plane = i / (result->size(3) * result->size(2));
      int64_t largest = pool.low;
      for (int64_t r = 0; r < pool.kernel[0]; ++r)
        for (int64_t c = 0; c < pool.kernel[1]; ++c) {
          const int64_t row = y * pool.stride[0] - pool.padding[0] + r * pool.dilation[0],
                        column = x * pool.stride[1] - pool.padding[1] + c * pool.dilation[1];
          if (row < 0 || row >= in->size(2) || column < 0 || column >= in->size(3)) continue;
          const int64_t index = (plane * in->size(2) + row) * in->size(3) + column;
          largest = std::max(largest, at(*in, input, index, *in));
        }
      ASSERT_EQ(at(*result, out, i, *result), std::min(largest, pool.high)) << i;
    }
  }
}

TEST(IntegerKernels, MaximaThatDoNotFitAreRefused) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const auto run = [](const Maximum& pool) {
    Codes input = {pool.sizes, {0, 1, 2, 3}, std::vector<int8_t>(50)},
          out = {{1, 2, 2, 2}, {0, 1, 2, 3}, std::vector<int8_t>(8)};
    const Tensor *in = nullptr, *result = nullptr;
    Call call;
    return pool.run(call, input, out, &in, &result);
  };
  const auto with = [](auto member, auto value) {
    Maximum pool;
    pool.*member = value;
    return pool;
  };
  using List = std::vector<int64_t>;
  EXPECT_EQ(run(Maximum()), ETB_OK);
  for (const Maximum& pool : {with(&Maximum::kernel, List{0, 2}), with(&Maximum::kernel, List{6, 2}),
                              with(&Maximum::kernel, List{kHuge, 2}), with(&Maximum::stride, List{0, 1}),
                              with(&Maximum::stride, List{1, kHuge}), with(&Maximum::padding, List{-1, 0}),
                              with(&Maximum::padding, List{2, 0}), with(&Maximum::dilation, List{0, 1}),
                              with(&Maximum::dilation, List{1, kHuge}), with(&Maximum::low, int64_t{-129}),
                              with(&Maximum::high, int64_t{-129})})
    EXPECT_EQ(run(pool), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(run(with(&Maximum::out_zero, int64_t{4})), ETB_NOT_SUPPORTED);
}

struct Softmax {
  double scale = 0.1;
  int64_t dim = 3, out_zero = -128, multiplier = 0, shift = 0, least = 0;

  explicit Softmax(double real) : scale(real) {
    int exponent = 0;
    multiplier = std::llround(std::frexp(std::ldexp(scale, 26), &exponent) * 2147483648.0);
    if (multiplier == int64_t{1} << 31) multiplier /= 2, ++exponent;
    shift = exponent;
    least = -(int64_t{31} << 26 >> shift);
  }
  etb_status run(Call& call, Codes& input, Codes& out) const {
    call.add(input);
    for (const int64_t number : {dim, int64_t{5}, out_zero, multiplier, shift, least}) call.add(number);
    call.add(out);
    return call.run("softmax");
  }
};

// Codes of the row of element `index` along a dim, in row-major tensors.
std::vector<int8_t> row_of(const Codes& codes, int64_t index, size_t dim) {
  int64_t step = 1;
  for (size_t i = dim + 1; i < codes.sizes.size(); ++i) step *= codes.sizes[i];
  const int64_t size = codes.sizes[dim], first = index - index / step % size * step;
  std::vector<int8_t> row;
  for (int64_t i = 0; i < size; ++i) row.push_back(codes.elements[static_cast<size_t>(first + i * step)]);
  return row;
}

// The real probability in 256ths.
double probability(const std::vector<int8_t>& row, int8_t code, double scale) {
  double sum = 0;
  for (const int8_t other : row) sum += std::exp(scale * (other - code));
  return 256 / sum;
}

// 19 bits of a sum and 26 of its terms leave errors far below a step, so codes differ only next to ties.
TEST(IntegerKernels, ProbabilitiesAreWithinAStep) {
  int64_t elements = 0, other = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Softmax softmax(std::exp2(static_cast<double>(random.between(-90, 10)) / 10));
    softmax.dim = random.between(-4, 3);
    const std::vector<int64_t> sizes = {random.between(1, 2), random.between(1, 9), random.between(1, 5),
                                        random.between(1, 200)};
    Codes input = random.codes(sizes, kRowMajor), out = random.codes(sizes, kRowMajor);
    Call call;
    ASSERT_EQ(softmax.run(call, input, out), ETB_OK);
    const auto dim = static_cast<size_t>(softmax.dim & 3);
    for (int64_t i = 0; i < input.numel(); ++i, ++elements) {
      const auto index = static_cast<size_t>(i);
      const double real = probability(row_of(input, i, dim), input.elements[index], softmax.scale);
      const double code = std::min(out.elements[index] + 128.0, 255.0);
      ASSERT_NEAR(code, std::min(real, 255.0), 0.51) << i;
      other += code != std::min(std::round(real), 255.0) ? 1 : 0;
    }
  }
  EXPECT_LT(other * 1000, elements);
}

TEST(IntegerKernels, ARowOfManyElementsHasSmallProbabilities) {
  for (const int64_t count : {3, 4000, 5000, 100000}) {
    Codes input = {{count}, {0}, std::vector<int8_t>(static_cast<size_t>(count), -128)}, out = input;
    input.elements[1] = 127;  // exp(25.5) times as likely as each other
    Softmax softmax(0.1);
    softmax.dim = 0;
    Call call;
    ASSERT_EQ(softmax.run(call, input, out), ETB_OK);
    EXPECT_EQ(out.elements[1], 127);
    EXPECT_EQ(out.elements[2], -128);
    std::fill(input.elements.begin(), input.elements.end(), 7);
    Call equal;
    ASSERT_EQ(softmax.run(equal, input, out), ETB_OK);
    EXPECT_EQ(out.elements[0], count == 3 ? 85 - 128 : -128);
  }
}

// A file may ask for anything.
TEST(IntegerKernels, SoftmaxNumbersOutOfRangeAreRefused) {
  const auto run = [](auto member, int64_t value) {
    Softmax softmax(0.1);
    softmax.dim = 0;
    softmax.*member = value;
    Codes input = {{4}, {0}, {-128, 0, 5, 127}}, out = input;
    Call call;
    return softmax.run(call, input, out);
  };
  EXPECT_EQ(run(&Softmax::least, INT64_MIN), ETB_OK);
  EXPECT_EQ(run(&Softmax::least, INT64_MAX), ETB_OK);  // no element counts
  EXPECT_EQ(run(&Softmax::shift, 30), ETB_OK);
  EXPECT_EQ(run(&Softmax::multiplier, 0), ETB_OK);
  EXPECT_EQ(run(&Softmax::shift, -1), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(run(&Softmax::shift, 31), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(run(&Softmax::multiplier, -1), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(run(&Softmax::out_zero, -127), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(run(&Softmax::dim, 1), ETB_INVALID_ARGUMENT);
}

TEST(IntegerKernels, ProductsOutOfRangeAreRefused) {
  const auto run = [](std::vector<int64_t> sizes, int64_t zero, int64_t multiplier, int64_t shift) {
    Codes x = {{2, 3}, {0, 1}, std::vector<int8_t>(6, 127)}, out = x, y = {std::move(sizes), {}, {}};
    y.elements.resize(static_cast<size_t>(y.numel()));
    for (size_t dim = 0; dim < y.sizes.size(); ++dim) y.dim_order.push_back(static_cast<uint8_t>(dim));
    Call call;
    call.add(x);
    call.add(zero);
    call.add(y);
    for (const int64_t number : {int64_t{0}, int64_t{0}, multiplier, shift}) call.add(number);
    call.add(out);
    return call.run("quantized_mul");
  };
  EXPECT_EQ(run({1, 3}, 0, 1 << 30, 0), ETB_OK);
  EXPECT_EQ(run({2, 3}, -128, INT32_MAX, 30), ETB_OK);
  EXPECT_EQ(run({3}, 0, 1 << 30, 0), ETB_NOT_SUPPORTED);
  EXPECT_EQ(run({2, 2}, 0, 1 << 30, 0), ETB_NOT_SUPPORTED);
  EXPECT_EQ(run({2, 3}, 128, 1 << 30, 0), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(run({2, 3}, 0, -1, 0), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(run({2, 3}, 0, 1 << 30, 31), ETB_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace etb::host::testing
