// SPDX-License-Identifier: Apache-2.0
// Products on several threads give what one thread gives, bit for bit, and take scratch for each.
#include "host/kernels/matrix.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "host/kernels/portable.hpp"

namespace etb::host {
namespace {

struct Threads {
  int64_t call_count = 0;
  ParallelFor parallel{this, 3, &run};

  static void run(void* self, int64_t count, void (*body)(void*, int64_t), void* argument) {
    static_cast<Threads*>(self)->call_count += count;
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < count; ++i) threads.emplace_back(body, argument, i);
    for (std::thread& thread : threads) thread.join();
  }
};

struct Product {
  const char* name;
  int64_t m, k, n, run, pitch;  // C's columns come in runs of `run` every `pitch`
};

class MatrixThreads : public testing::TestWithParam<Product> {};

std::vector<float> multiply(const Product& product, KernelContext& context) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> a(static_cast<size_t>(product.m * product.k)),
      b(static_cast<size_t>(product.k * product.n)), bias(static_cast<size_t>(product.n));
  for (auto* values : {&a, &b, &bias}) {
    for (float& value : *values) value = uniform(random);
  }
  const int64_t stored = (product.n + product.pitch - 1) / product.pitch * product.run;
  std::vector<float> c(static_cast<size_t>(product.m * stored), -9.0F);
  GemmTask task = {};
  task.m = product.m, task.k = product.k, task.n = product.n;
  task.a = a.data(), task.b = b.data(), task.c = c.data(), task.init = bias.data();
  task.a_dtype = task.b_dtype = task.c_dtype = task.init_dtype = Dtype::FLOAT32;
  task.a_row_stride = product.k, task.a_column_stride = 1;
  task.b_row_stride = product.n, task.b_column_stride = 1;
  task.c_row_stride = stored, task.c_column_stride = 1, task.c_run = product.run,
  task.c_pitch = product.pitch, task.c_line_stride = product.run;
  task.init_column_stride = product.run == product.pitch ? 1 : 0;
  task.alpha = task.beta = 1.0;
  context.begin_kernel("test");
  EXPECT_EQ(run_gemm(context, task, Compute::kFloat), ETB_OK);
  return c;
}

// alpha * 3 x 5 + beta * 7 of int64.
int64_t scaled_product(GemmFactor alpha, GemmFactor beta) {
  KernelRegistry registry;
  EXPECT_EQ(add_portable_kernels(registry), ETB_OK);
  std::vector<std::byte> scratch(1 << 16);
  KernelContext context(scratch, registry.vector_table());
  const int64_t a = 3, b = 5, init = 7;
  int64_t c = 0;
  GemmTask task = {};
  task.m = task.k = task.n = task.c_run = task.c_pitch = 1;
  task.a = &a, task.b = &b, task.c = &c, task.init = &init;
  task.a_dtype = task.b_dtype = task.c_dtype = task.init_dtype = Dtype::INT64;
  task.a_row_stride = task.a_column_stride = task.b_row_stride = task.b_column_stride = 1;
  task.c_row_stride = task.c_column_stride = 1;
  task.alpha = alpha, task.beta = beta;
  context.begin_kernel("test");
  EXPECT_EQ(run_gemm(context, task, Compute::kInt64), ETB_OK);
  return c;
}

TEST(Matrix, FactorsOfIntegersAreIntegers) {
  constexpr int64_t kInexact = (int64_t{1} << 56) + 1;  // no double
  EXPECT_EQ(scaled_product(GemmFactor(kInexact), GemmFactor(int64_t{-2})), kInexact * 15 - 14);
  EXPECT_EQ(scaled_product(1.0, GemmFactor(kInexact)), 15 + kInexact * 7);
  // No int64 is near: the nearest one counts, and products wrap.
  EXPECT_EQ(scaled_product(1e300, 0.0), static_cast<int64_t>(static_cast<uint64_t>(INT64_MAX) * 15));
  EXPECT_EQ(scaled_product(-1e300, 0.0), static_cast<int64_t>(static_cast<uint64_t>(INT64_MIN) * 15));
  EXPECT_EQ(scaled_product(std::numeric_limits<double>::quiet_NaN(), 1.0), 7);
}

// A task that adds A [2, 3] times B [3, 1] to its own result.
TEST(Matrix, OneColumnIsAddedToItself) {
  KernelRegistry registry;
  ASSERT_EQ(add_portable_kernels(registry), ETB_OK);
  std::vector<std::byte> scratch(1 << 16);
  KernelContext context(scratch, registry.vector_table());
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 10, 100};
  float c[] = {1000, 2000};
  GemmTask task = {};
  task.m = 2, task.k = 3, task.n = task.c_run = task.c_pitch = 1;
  task.a = a, task.b = b, task.c = c, task.init = c;
  task.a_dtype = task.b_dtype = task.c_dtype = task.init_dtype = Dtype::FLOAT32;
  task.a_row_stride = 3;
  task.a_column_stride = task.b_row_stride = task.b_column_stride = 1;
  task.c_row_stride = task.c_column_stride = task.init_row_stride = task.init_column_stride = 1;
  context.begin_kernel("test");
  ASSERT_EQ(run_gemm(context, task, Compute::kFloat), ETB_OK);
  EXPECT_EQ(c[0], 1321);
  EXPECT_EQ(c[1], 2654);
}

TEST_P(MatrixThreads, GiveWhatOneGives) {
  KernelRegistry registry;
  ASSERT_EQ(add_portable_kernels(registry), ETB_OK);
  std::vector<std::byte> scratch(4 << 20);
  KernelContext alone(scratch, registry.vector_table());
  const std::vector<float> expected = multiply(GetParam(), alone);
  Threads threads;
  KernelContext together(scratch, registry.vector_table(), nullptr, &threads.parallel);
  EXPECT_EQ(multiply(GetParam(), together), expected);
  EXPECT_GE(threads.call_count, 2);
}

TEST_P(MatrixThreads, WorkAloneAndWishForMoreWithoutScratchForAll) {
  KernelRegistry registry;
  ASSERT_EQ(add_portable_kernels(registry), ETB_OK);
  std::vector<std::byte> scratch(4 << 20), little(256 << 10);
  KernelContext alone(scratch, registry.vector_table());
  const std::vector<float> expected = multiply(GetParam(), alone);
  Threads threads;
  KernelContext context(little, registry.vector_table(), nullptr, &threads.parallel);
  EXPECT_EQ(multiply(GetParam(), context), expected);
  EXPECT_EQ(threads.call_count, 0);
  EXPECT_GT(context.scratch_peak_bytes(), little.size());
}

INSTANTIATE_TEST_SUITE_P(Products, MatrixThreads,
                         testing::Values(Product{"Square", 200, 300, 190, 190, 190},
                                         Product{"OneRow", 1, 700, 1900, 1900, 1900},
                                         Product{"OddColumns", 5, 900, 333, 333, 333},
                                         Product{"Bands", 77, 600, 196, 12, 14}),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace etb::host
