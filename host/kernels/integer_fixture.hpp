// SPDX-License-Identifier: Apache-2.0
// Random int8 tensors and calls of cortex_m for the tests of these kernels.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "host/kernels/portable.hpp"

namespace etb::host::testing {

inline constexpr std::array<uint8_t, 4> kRowMajor = {0, 1, 2, 3}, kChannelsLast = {0, 2, 3, 1};

struct Codes {
  std::vector<int64_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<int8_t> elements;

  int64_t numel() const {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    return count;
  }
};

// Arguments of one call.
class Call {
 public:
  explicit Call(uint64_t scratch_bytes = 1 << 16) : scratch_(scratch_bytes) {}

  const Tensor& add(Codes& codes) {
    return add(Dtype::INT8, codes.sizes, codes.elements.data(), codes.elements.size(), codes.dim_order);
  }
  void add(std::vector<int32_t>& elements) {
    add(Dtype::INT32, std::vector{static_cast<int64_t>(elements.size())}, elements.data(),
        elements.size() * 4, {});
  }
  void add(EValue value) { args_.push_back(make(value)); }
  void add(int64_t value) { add(EValue(value)); }
  void add_list(std::span<const int64_t> items) {
    lists_.push_back(std::make_unique<std::vector<EValue*>>());
    for (const int64_t item : items) lists_.back()->push_back(make(EValue(item)));
    add(EValue::int_list(*lists_.back()));
  }
  etb_status run(const std::string& name) {
    KernelRegistry registry;
    EXPECT_EQ(add_portable_kernels(registry), ETB_OK);
    KernelContext context(scratch_, registry.vector_table());
    return call_kernel(context, *registry.find("cortex_m::" + name, "out"), args_.data(), args_.size());
  }

 private:
  const Tensor& add(Dtype dtype, std::span<const int64_t> sizes, void* data, uint64_t nbytes,
                    std::span<const uint8_t> dim_order) {
    storages_.push_back(std::make_unique<TensorStorage>());
    tensors_.push_back(
        std::make_unique<Tensor>(storages_.back()->make(dtype, sizes, data, nbytes, dim_order)));
    add(EValue(tensors_.back().get()));
    return *tensors_.back();
  }
  EValue* make(EValue value) {
    return values_.push_back(std::make_unique<EValue>(value)), values_.back().get();
  }

  std::vector<std::byte> scratch_;
  std::vector<std::unique_ptr<TensorStorage>> storages_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<std::unique_ptr<std::vector<EValue*>>> lists_;
  std::vector<std::unique_ptr<EValue>> values_;
  std::vector<EValue*> args_;
};

// The meaning: value * multiplier / 2^31 to an integer, halves upwards; then the negative shift, halves away from 0. Sums of this
// test are so small that nothing overflows.
inline int64_t rescale_reference(int64_t value, int64_t multiplier, int shift) {
  const int64_t high = (value * (int64_t{1} << std::max(shift, 0)) * multiplier + (int64_t{1} << 30)) >> 31;
  return shift >= 0 ? high : static_cast<int64_t>(std::round(std::ldexp(static_cast<double>(high), shift)));
}

class Random {
 public:
  explicit Random(uint32_t seed) : generator_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator_);
  }
  Codes codes(std::vector<int64_t> sizes, std::span<const uint8_t> dim_order) {
    Codes codes = {std::move(sizes), {dim_order.begin(), dim_order.end()}, {}};
    codes.elements.resize(static_cast<size_t>(codes.numel()));
    for (int8_t& element : codes.elements) element = static_cast<int8_t>(between(-128, 127));
    return codes;
  }
  std::vector<int32_t> numbers(int64_t count, int64_t low, int64_t high) {
    std::vector<int32_t> numbers(static_cast<size_t>(count));
    for (int32_t& number : numbers) number = static_cast<int32_t>(between(low, high));
    return numbers;
  }

 private:
  std::mt19937 generator_;
};

struct Ends {
  int64_t offset, low, high;
  static Ends random(Random& random) {
    const int64_t low = random.between(-128, 0);
    return {random.between(-128, 127), random.between(0, 1) != 0 ? low : -128, random.between(low, 127)};
  }
  int64_t code(int64_t rescaled) const { return std::clamp(rescaled + offset, low, high); }
};

}  // namespace etb::host::testing
