// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/run/host_numbers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace etb::gpu {
namespace {

using testing::ElementsAre;

template <class T>
std::vector<float> read(const std::vector<T>& from, etb_dtype dtype, ReadNumbers* facts = nullptr) {
  std::vector<float> to(from.size());
  const ReadNumbers found = read_numbers(reinterpret_cast<const std::byte*>(from.data()), dtype, to);
  if (facts != nullptr) *facts = found;
  return to;
}

template <class T>
std::vector<T> write(const std::vector<float>& from, etb_dtype dtype) {
  std::vector<T> to(from.size());
  write_numbers(from, dtype, reinterpret_cast<std::byte*>(to.data()));
  return to;
}

TEST(HostNumbers, EveryHalfComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const std::vector<uint16_t> half = {static_cast<uint16_t>(bits)};
    const std::vector<float> number = read(half, ETB_DTYPE_FLOAT16);
    const uint16_t again = write<uint16_t>(number, ETB_DTYPE_FLOAT16)[0];
    if (std::isnan(number[0])) {
      EXPECT_GT(again & 0x7fff, 0x7c00) << bits;
    } else {
      ASSERT_EQ(again, bits);
    }
  }
}

TEST(HostNumbers, HalvesAreRoundedToTheNearest) {
  EXPECT_THAT(write<uint16_t>({65519.0f, 65520.0f, 1.00048828125f, 1.0014648f, 0x1p-25f, 0x1.8p-25f, -1e30f},
                              ETB_DTYPE_FLOAT16),
              ElementsAre(0x7bff, 0x7c00, 0x3c00, 0x3c02, 0, 1, 0xfc00));
}

TEST(HostNumbers, IntegersThatNoFloatIsAreSeen) {
  ReadNumbers facts;
  EXPECT_THAT(read<int32_t>({-5, 1 << 24}, ETB_DTYPE_INT32, &facts), ElementsAre(-5.0f, 16777216.0f));
  EXPECT_TRUE(facts.is_exact);
  EXPECT_EQ(facts.largest, 16777216.0);
  read<int32_t>({(1 << 24) + 1}, ETB_DTYPE_INT32, &facts);
  EXPECT_FALSE(facts.is_exact);
  read<int64_t>({std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}, ETB_DTYPE_INT64,
                &facts);
  EXPECT_FALSE(facts.is_exact);
}

TEST(HostNumbers, NumbersBeyondATypeBecomeTheNearest) {
  EXPECT_THAT(write<int8_t>({-1e9f, 1e9f, NAN, -3.0f}, ETB_DTYPE_INT8), ElementsAre(-128, 127, 0, -3));
  EXPECT_THAT(write<uint8_t>({-1.0f, 300.0f, 7.0f}, ETB_DTYPE_UINT8), ElementsAre(0, 255, 7));
  EXPECT_THAT(write<int32_t>({INFINITY, -INFINITY}, ETB_DTYPE_INT32), ElementsAre(INT32_MAX, INT32_MIN));
  EXPECT_THAT(write<uint8_t>({0.0f, 1.0f, NAN}, ETB_DTYPE_BOOL), ElementsAre(0, 1, 1));
  EXPECT_THAT(read<uint8_t>({0, 1, 200}, ETB_DTYPE_BOOL), ElementsAre(0.0f, 1.0f, 1.0f));
}

// A tensor [2, 3] whose first dimension is the inner one in memory.
struct Transposed {
  std::vector<float> data = {1, 4, 2, 5, 3, 6};
  int64_t sizes[2] = {2, 3};
  uint8_t dim_order[2] = {1, 0};
  etb_tensor raw{};
  Transposed() {
    raw.struct_size = ETB_INIT_SIZE(etb_tensor);
    raw.dtype = ETB_DTYPE_FLOAT32;
    raw.rank = 2;
    raw.sizes = sizes;
    raw.dim_order = dim_order;
    raw.data = data.data();
    raw.capacity_bytes = data.size() * sizeof(float);
  }
};

TEST(HostNumbers, ElementsAreReadInTheOrderOfTheDimensions) {
  Transposed tensor;
  std::vector<float> numbers(6);
  ASSERT_TRUE(check_strides(Tensor(tensor.raw)));
  read_tensor(Tensor(tensor.raw), 0, numbers);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4, 5, 6));
  for (float& number : numbers) number *= 10;
  write_tensor(numbers, 0, OutputTensor(tensor.raw));
  EXPECT_THAT(tensor.data, ElementsAre(10, 40, 20, 50, 30, 60));
}

TEST(HostNumbers, PiecesOfATensorAreReadAndWritten) {
  Transposed tensor;
  std::vector<float> numbers(6);
  for (const size_t first : {0, 2, 4})
    read_tensor(Tensor(tensor.raw), first, std::span(numbers).subspan(first, 2));
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4, 5, 6));
  for (float& number : numbers) number *= 10;
  for (const size_t first : {0, 5})
    write_tensor(std::span(numbers).subspan(first, 1), first, OutputTensor(tensor.raw));
  EXPECT_THAT(tensor.data, ElementsAre(10, 4, 2, 5, 3, 60));
}

TEST(HostNumbers, BitsOfInt32AreExact) {
  std::vector<int64_t> wide = {INT32_MAX, INT32_MIN, 16777217, -1};
  int64_t size = 4;
  etb_tensor raw{};
  raw.struct_size = ETB_INIT_SIZE(etb_tensor);
  raw.dtype = ETB_DTYPE_INT64;
  raw.rank = 1;
  raw.sizes = &size;
  raw.data = wide.data();
  raw.capacity_bytes = wide.size() * sizeof(int64_t);
  std::vector<float> bits(4);
  EXPECT_TRUE(read_int32_bits(Tensor(raw), 0, bits));
  const std::vector<int64_t> before = wide;
  wide.assign(4, 0);
  write_int32_bits(bits, 0, OutputTensor(raw));
  EXPECT_EQ(wide, before);
  std::vector<int32_t> narrow(4);
  etb_tensor of_narrow = raw;
  of_narrow.dtype = ETB_DTYPE_INT32;
  of_narrow.data = narrow.data();
  of_narrow.capacity_bytes = narrow.size() * sizeof(int32_t);
  write_int32_bits(bits, 0, OutputTensor(of_narrow));
  EXPECT_THAT(narrow, ElementsAre(INT32_MAX, INT32_MIN, 16777217, -1));
  wide[2] = int64_t{INT32_MAX} + 1;
  EXPECT_FALSE(read_int32_bits(Tensor(raw), 0, bits));
}

TEST(HostNumbers, StridesBeyondTheCapacityAreRejected) {
  Transposed tensor;
  int64_t strides[2] = {1, 2};
  tensor.raw.strides = strides;
  EXPECT_TRUE(check_strides(Tensor(tensor.raw)));
  for (const int64_t bad : {int64_t{3}, int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    strides[1] = bad;
    EXPECT_FALSE(check_strides(Tensor(tensor.raw))) << bad;
  }
}

}  // namespace
}  // namespace etb::gpu
