// SPDX-License-Identifier: Apache-2.0
// llama::fast_hadamard_transform of the last dim: sizes 2^k, and 28 * 2^k for the hidden layers of Llama 3.
#include <cmath>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/llama/fast_hadamard_transform.hpp"

namespace etb::host {
namespace {

// The Hadamard matrix of order 28 by which official programs multiply: bit j of word i is set where row i has -1 in column j.
// Measured with executorch 1.5.1.
constexpr uint32_t kOrder28[28] = {0xcd69e7e, 0x9ad7c7d, 0x37ab8fb, 0x6d571f7, 0xd8ae3ef, 0xb3587df,
                                   0x66b4f3f, 0xb467f43, 0x6acbe87, 0xd593d8e, 0xab27b9c, 0x564f7b8,
                                   0xac9aff0, 0x5b31fe1, 0x87fb325, 0x0ff66ca, 0x1decd95, 0x39ddb2a,
                                   0x71bf654, 0xe17eca9, 0xc2fd9d2, 0xfcf1299, 0xfbe2532, 0xf7c4ae4,
                                   0xef8d549, 0xdf1ea13, 0xbe3d4a6, 0x7e7a94c};

// x[i], x[i + half] = their sum and difference, for each half from 1 to size / 2.
etb_status transform_powers(KernelContext& context, float* x, int64_t size) {
  for (int64_t half = 1; half < size; half *= 2) {
    for (int64_t begin = 0; begin < size; begin += 2 * half) {
      ETB_CHECK(for_each_piece(context, half, [&](int64_t from, int64_t length) {
        for (int64_t i = begin + from; i < begin + from + length; ++i) {
          const float a = x[i], b = x[i + half];
          x[i] = a + b;
          x[i + half] = a - b;
        }
      }));
    }
  }
  return ETB_OK;
}

// Multiplies [28, size] by the matrix of order 28.
etb_status transform_28(KernelContext& context, float* x, int64_t size) {
  for (int64_t column = 0; column < size; ++column) {
    if (context.should_stop(28 * 28)) return context.stopped();
    float in[28];
    for (int j = 0; j < 28; ++j) in[j] = x[j * size + column];
    for (int i = 0; i < 28; ++i) {
      float sum = 0.0f;
      for (int j = 0; j < 28; ++j) sum += (kOrder28[i] >> j & 1) != 0 ? -in[j] : in[j];
      x[i * size + column] = sum;
    }
  }
  return ETB_OK;
}

constexpr bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

etb_status fast_hadamard_transform_out(KernelContext& context,
                                       ops::llama::fast_hadamard_transform_out<KernelArguments> args) {
  const Tensor& mat = args.mat();
  Tensor& out = args.out();
  if (!is_floating(mat.dtype()) || mat.dtype() == Dtype::FLOAT64 || mat.dtype() != out.dtype()) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s, expected float32, float16 or bfloat16",
                        to_text(mat.dtype()), to_text(out.dtype()));
  }
  const int64_t size = mat.rank() == 0 ? 0 : mat.size(mat.rank() - 1);
  const bool has_28 = size % 28 == 0 && is_power_of_two(size / 28);
  if (!has_28 && !is_power_of_two(size)) {
    return context.fail(ETB_INVALID_ARGUMENT, "rows of %lld elements, expected 2^k or 28 * 2^k",
                        static_cast<long long>(size));
  }
  ETB_CHECK(resize_output(context, out, mat.sizes()));
  if (out.numel() == 0) return ETB_OK;
  const VectorTable& table = vector_table(context);
  float* row = context.allocate_array<float>(size);
  if (row == nullptr) return context.fail_scratch(static_cast<uint64_t>(size) * sizeof(float));
  const int64_t power = has_28 ? size / 28 : size;
  // The matrix of order 28 is not scaled, as in the official kernel.
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(power)));
  const DimSet last = one_dim(mat, mat.rank() - 1);
  RowWalk from(mat, last), to(out, last);
  for (int64_t i = 0; i < from.row_count(); ++i, from.advance(), to.advance()) {
    from.load(context, *table.conversions, Compute::kFloat, row, size);
    for (int64_t begin = 0; begin < size; begin += power)
      ETB_CHECK(transform_powers(context, row + begin, power));
    ETB_CHECK(for_each_piece(context, size, [&](int64_t begin, int64_t length) {
      table.float_rows->affine(row + begin, row + begin, length, scale, 0.0f);
    }));
    if (has_28) ETB_CHECK(transform_28(context, row, power));
    if (context.should_stop(1)) return context.stopped();
    to.store(context, *table.conversions, Compute::kFloat, row, size);
  }
  return ETB_OK;
}

constexpr Kernel kRows[] = {
    kernel_row<ops::llama::fast_hadamard_transform_out, fast_hadamard_transform_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(hadamard, kRows);

}  // namespace etb::host
