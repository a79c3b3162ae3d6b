// SPDX-License-Identifier: Apache-2.0
// Loops of attention over one tile of keys.
#include "host/kernels/vector/math.hpp"
#include "host/kernels/vector/table.hpp"

namespace etb::host::ETB_VARIANT {
namespace {

typedef float Vector __attribute__((vector_size(ETB_VECTOR_NBYTES), aligned(4), may_alias));
typedef float Quarter __attribute__((vector_size(16), aligned(4), may_alias));
constexpr int kLanes = ETB_VECTOR_NBYTES / 4;

// The sum of the lanes, by halves, so that the additions do not wait for one another.
ETB_INLINE float sum_of(const Vector& vector) {
  const auto* quarters = reinterpret_cast<const Quarter*>(&vector);
  Quarter sum = quarters[0];
  for (int i = 1; i < kLanes / 4; ++i) sum += quarters[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// One query by `keys` keys.
template <int keys>
ETB_INLINE void dot_rows(float* out, const float* query, const float* key, int64_t key_stride, int64_t dim) {
  Vector sums[keys] = {};
  int64_t l = 0;
  for (; l + kLanes <= dim; l += kLanes) {
    const Vector factor = *reinterpret_cast<const Vector*>(query + l);
#pragma GCC unroll 8
    for (int j = 0; j < keys; ++j)
      sums[j] += factor * *reinterpret_cast<const Vector*>(key + j * key_stride + l);
  }
  for (int j = 0; j < keys; ++j) {
    float sum = sum_of(sums[j]);
    for (int64_t rest = l; rest < dim; ++rest) sum += query[rest] * key[j * key_stride + rest];
    out[j] = sum;
  }
}

void dots(float* out, const float* query, const float* keys, int64_t key_stride, int64_t count, int64_t dim) {
  int64_t j = 0;
  for (; j + 8 <= count; j += 8) dot_rows<8>(out + j, query, keys + j * key_stride, key_stride, dim);
  for (; j < count; ++j) dot_rows<1>(out + j, query, keys + j * key_stride, key_stride, dim);
}

// Columns of a tile stay in the first-level cache while 16 rows are read along them.
void transpose(float* out, int64_t out_stride, const float* rows, int64_t row_stride, int64_t count,
               int64_t dim) {
  constexpr int64_t kRows = 16;
  for (int64_t j = 0; j < count; j += kRows) {
    const int64_t end = j + kRows < count ? j + kRows : count;
    for (int64_t l = 0; l < dim; ++l) {
      for (int64_t at = j; at < end; ++at) out[l * out_stride + at] = rows[at * row_stride + l];
    }
  }
}

double exponentials(float* x, int64_t count, float largest) {
  constexpr int64_t kBlock = 1024;
  double total = 0.0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = begin + kBlock < count ? begin + kBlock : count;
    ETB_LOOP for (int64_t i = begin; i < end; ++i) x[i] = v_exp(x[i] - largest);
    Vector sums = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) sums += *reinterpret_cast<const Vector*>(x + i);
    float sum = sum_of(sums);
    for (; i < end; ++i) sum += x[i];
    total += static_cast<double>(sum);
  }
  return total;
}

}  // namespace

extern const AttentionLoops kAttentionLoops;
const AttentionLoops kAttentionLoops = {dots, transpose, exponentials};

}  // namespace etb::host::ETB_VARIANT
