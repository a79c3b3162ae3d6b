// SPDX-License-Identifier: Apache-2.0
// Windows and steps that only a hostile program has: answered at once, refused or computed, never a touch outside.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "host/kernels/portable.hpp"

namespace etb::host {
namespace {

constexpr int64_t kHuge = (int64_t{1} << 30) - 1;

// Arguments of one call, in exactly sized memory that AddressSanitizer watches.
class Call {
 public:
  Call& tensor(std::vector<int64_t> sizes, Dtype dtype = Dtype::FLOAT32) {
    int64_t numel = 1;
    for (const int64_t size : sizes) numel *= size;
    const uint64_t nbytes = static_cast<uint64_t>(numel) * element_nbytes(dtype);
    memory_.push_back(std::make_unique<uint8_t[]>(nbytes));
    storages_.push_back(std::make_unique<TensorStorage>());
    tensors_.push_back(std::make_unique<Tensor>(
        storages_.back()->make(dtype, sizes, memory_.back().get(), nbytes, {}, Dynamism::kBounded)));
    return add(EValue(tensors_.back().get()));
  }
  Call& ints(const std::vector<int64_t>& items) {
    lists_.push_back(std::make_unique<std::vector<EValue*>>());
    for (const int64_t item : items) lists_.back()->push_back(make(EValue(item)));
    return add(EValue::int_list(*lists_.back()));
  }
  Call& add(EValue value) { return args_.push_back(make(value)), *this; }

  // Runs within a second, with any status.
  etb_status run(const char* name, const char* overload) {
    KernelRegistry registry;
    EXPECT_EQ(add_portable_kernels(registry), ETB_OK);
    const Kernel* kernel = registry.find(name, overload);
    std::vector<std::byte> scratch(1 << 20);
    KernelContext context(scratch, registry.vector_table());
    const auto begin = std::chrono::steady_clock::now();
    const etb_status status = call_kernel(context, *kernel, args_.data(), args_.size());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    return status;
  }

 private:
  EValue* make(EValue value) {
    return values_.push_back(std::make_unique<EValue>(value)), values_.back().get();
  }

  std::vector<std::unique_ptr<uint8_t[]>> memory_;
  std::vector<std::unique_ptr<TensorStorage>> storages_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<std::unique_ptr<std::vector<EValue*>>> lists_;
  std::vector<std::unique_ptr<EValue>> values_;
  std::vector<EValue*> args_;
};

Call max_pool(int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  Call call;
  call.tensor({1, 4, 4}).ints({kernel, kernel}).ints({stride, stride}).ints({padding, padding});
  call.ints({dilation, dilation}).add(EValue(ceil_mode)).tensor({1, 8, 8}).tensor({1, 8, 8}, Dtype::INT64);
  return call;
}

TEST(HostileGeometry, PoolsOverMoreThanTheInput) {
  EXPECT_EQ(max_pool(kHuge, kHuge, kHuge / 2, 1, false).run("aten::max_pool2d_with_indices", "out"), ETB_OK);
}

TEST(HostileGeometry, PoolsWhoseWindowMissesTheInput) {
  EXPECT_EQ(max_pool(2, kHuge, 1, kHuge / 2, true).run("aten::max_pool2d_with_indices", "out"), ETB_OK);
}

TEST(HostileGeometry, AveragesOverMoreThanCanBeCounted) {
  Call call;
  call.tensor({1, 2, 2, 2}).ints({kHuge, kHuge, kHuge}).ints({kHuge, kHuge, kHuge});
  call.ints({kHuge / 2, kHuge / 2, kHuge / 2}).add(EValue(false)).add(EValue(true)).add(EValue());
  call.tensor({1, 4, 4, 4});
  EXPECT_EQ(call.run("aten::avg_pool3d", "out"), ETB_OK);
}

Call convolution(int64_t stride, int64_t padding, int64_t dilation, bool transposed) {
  Call call;
  call.tensor({1, 1, 3, 3}).tensor({1, 1, 2, 2}).add(EValue()).ints({stride, stride});
  call.ints({padding, padding}).ints({dilation, dilation}).add(EValue(transposed)).ints({0, 0});
  call.add(EValue(int64_t{1})).tensor({1, 1, 16, 16});
  return call;
}

TEST(HostileGeometry, ConvolutionsWithHugeSteps) {
  for (const bool transposed : {false, true}) {
    for (const int64_t dilation : {int64_t{1}, int64_t{7}, kHuge / 2, kHuge}) {
      for (const int64_t stride : {int64_t{1}, kHuge / 2, kHuge, int64_t{1} << 62}) {
        for (const int64_t padding : {int64_t{0}, kHuge / 2, kHuge}) {
          Call call = convolution(stride, padding, dilation, transposed);
          call.run("aten::convolution", "out");
        }
      }
    }
  }
}

// Otherwise the results would be what was in their memory before.
TEST(HostileGeometry, StatisticsOfAnEmptyBatchAreRefused) {
  Call call;
  call.tensor({0, 3, 5}).add(EValue()).add(EValue()).add(EValue(true)).add(EValue(0.1)).add(EValue(0.001));
  call.tensor({0, 3, 5}).tensor({3}).tensor({3});
  EXPECT_EQ(call.run("aten::_native_batch_norm_legit", "no_stats_out"), ETB_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace etb::host
