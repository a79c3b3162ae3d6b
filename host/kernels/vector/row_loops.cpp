// SPDX-License-Identifier: Apache-2.0
// Reductions and normalisations of one row.
#include "host/kernels/vector/math.hpp"
#include "host/kernels/vector/table.hpp"

namespace etb::host::ETB_VARIANT {
namespace {

// Partial results kept apart, so that the loop vectorises and the error grows with the block, not with the row.
constexpr int kLanes = 64;
// Elements added in T before the total goes on in double.
constexpr int64_t kBlock = 2048;

ETB_INLINE int64_t minimum_of(int64_t a, int64_t b) { return a < b ? a : b; }

template <class T, class Term>
ETB_INLINE double sum_terms(const T* x, int64_t count, Term term) {
  double total = 0.0;
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t end = minimum_of(start + kBlock, count);
    T lanes[kLanes] = {};
    int64_t i = start;
    for (; i + kLanes <= end; i += kLanes) {
      ETB_LOOP for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += term(x[i + lane]);
    }
    for (int lane = 0; i < end; ++i, ++lane) lanes[lane] += term(x[i]);
    for (int lane = 0; lane < kLanes; ++lane) total += static_cast<double>(lanes[lane]);
  }
  return total;
}

template <class T>
double sum(const T* x, int64_t count) {
  if constexpr (sizeof(T) == 8 && static_cast<T>(0.5) == T(0)) return 0.0;  // integers have their own
  return sum_terms(x, count, [](T value) { return value; });
}

template <class T>
double squared_deviations(const T* x, int64_t count, double mean) {
  if constexpr (sizeof(T) == 8 && static_cast<T>(0.5) == T(0)) return 0.0;
  const T center = static_cast<T>(mean);
  return sum_terms(x, count, [center](T value) { return (value - center) * (value - center); });
}

template <class T>
int64_t integer_sum(const T* x, int64_t count) {
  uint64_t total = 0;
  if constexpr (sizeof(T) == 8 && static_cast<T>(0.5) == T(0)) {
    ETB_LOOP for (int64_t i = 0; i < count; ++i) total += v_wrap(x[i]);
  }
  return static_cast<int64_t>(total);
}

template <class T, class Better>
ETB_INLINE T extreme(const T* x, int64_t count, Better better) {
  T lanes[kLanes];
  const int64_t used = minimum_of(count, kLanes);
  for (int64_t i = 0; i < kLanes; ++i) lanes[i] = x[i < used ? i : 0];
  int64_t i = kLanes;
  for (; i + kLanes <= count; i += kLanes) {
    ETB_LOOP for (int lane = 0; lane < kLanes; ++lane) {
      const T value = x[i + lane];
      lanes[lane] = better(value, lanes[lane]) || value != value ? value : lanes[lane];
    }
  }
  for (; i < count; ++i) lanes[0] = better(x[i], lanes[0]) || x[i] != x[i] ? x[i] : lanes[0];
  T best = lanes[0];
  for (int64_t lane = 1; lane < used; ++lane)
    best = better(lanes[lane], best) || lanes[lane] != lanes[lane] ? lanes[lane] : best;
  return best;
}

template <class T>
T maximum(const T* x, int64_t count) {
  return extreme(x, count, [](T a, T b) { return a > b; });
}

template <class T>
T minimum(const T* x, int64_t count) {
  return extreme(x, count, [](T a, T b) { return a < b; });
}

// Elements between two questions whether to stop.
constexpr int64_t kPiece = 1 << 16;

// Writes maximum() of the whole row.
template <class T>
bool find_maximum(const T* x, int64_t count, const StopHook& stop, T* out) {
  *out = maximum(x, minimum_of(count, kPiece));
  for (int64_t start = kPiece; start < count; start += kPiece) {
    if (stop.should_stop(stop.self, kPiece)) return false;
    const T one = maximum(x + start, minimum_of(count - start, kPiece));
    if (one > *out || one != one) *out = *out != *out ? *out : one;
  }
  return true;
}

template <class T>
void softmax(T* out, const T* x, int64_t count, bool is_log, const StopHook& stop) {
  if constexpr (sizeof(T) == 4 || static_cast<T>(0.5) != T(0)) {
    T largest;
    if (!find_maximum(x, count, stop, &largest)) return;
    double total = 0.0;
    alignas(64) T values[kBlock];
    for (int64_t start = 0; start < count; start += kBlock) {
      const int64_t length = minimum_of(kBlock, count - start);
      if (stop.should_stop(stop.self, length)) return;
      T* to = is_log ? values : out + start;
      ETB_LOOP for (int64_t i = 0; i < length; ++i) to[i] = v_exp(x[start + i] - largest);
      total += sum(to, length);
    }
    if (is_log) {
      const T shift = static_cast<T>(__builtin_log(total));
      for (int64_t start = 0; start < count; start += kPiece) {
        const int64_t end = minimum_of(start + kPiece, count);
        if (count > kPiece && stop.should_stop(stop.self, kPiece)) return;
        ETB_LOOP for (int64_t i = start; i < end; ++i) out[i] = x[i] - largest - shift;
      }
    } else {
      const T scale = static_cast<T>(1.0 / total);
      for (int64_t start = 0; start < count; start += kPiece) {
        const int64_t end = minimum_of(start + kPiece, count);
        if (count > kPiece && stop.should_stop(stop.self, kPiece)) return;
        ETB_LOOP for (int64_t i = start; i < end; ++i) out[i] *= scale;
      }
    }
  }
}

template <class T>
void normalize(T* out, const T* x, int64_t count, T mean, T scale, const T* weight, const T* bias) {
  if (weight != nullptr && bias != nullptr) {
    ETB_LOOP for (int64_t i = 0; i < count; ++i) out[i] = (x[i] - mean) * scale * weight[i] + bias[i];
  } else if (weight != nullptr) {
    ETB_LOOP for (int64_t i = 0; i < count; ++i) out[i] = (x[i] - mean) * scale * weight[i];
  } else if (bias != nullptr) {
    ETB_LOOP for (int64_t i = 0; i < count; ++i) out[i] = (x[i] - mean) * scale + bias[i];
  } else {
    ETB_LOOP for (int64_t i = 0; i < count; ++i) out[i] = (x[i] - mean) * scale;
  }
}

template <class T>
void affine(T* out, const T* x, int64_t count, T scale, T shift) {
  ETB_LOOP for (int64_t i = 0; i < count; ++i) out[i] = x[i] * scale + shift;
}

template <class T>
void add_gaps(T* sums, T x, const T* y, int64_t count, GapSum kind) {
  if (kind == GapSum::kSquares) {
    ETB_LOOP for (int64_t i = 0; i < count; ++i) sums[i] += (x - y[i]) * (x - y[i]);
  } else if (kind == GapSum::kSum) {
    ETB_LOOP for (int64_t i = 0; i < count; ++i) sums[i] += x < y[i] ? y[i] - x : x - y[i];
  } else if (kind == GapSum::kCount) {
    ETB_LOOP for (int64_t i = 0; i < count; ++i) sums[i] += x == y[i] ? T(0) : T(1);
  } else {
    ETB_LOOP for (int64_t i = 0; i < count; ++i) {
      const T gap = x < y[i] ? y[i] - x : x - y[i];
      sums[i] = gap > sums[i] || gap != gap ? gap : sums[i];
    }
  }
}

}  // namespace

#define ETB_ROWS(type)                                                                                   \
  {                                                                                                      \
    sum<type>, squared_deviations<type>, integer_sum<type>, maximum<type>, minimum<type>, softmax<type>, \
        normalize<type>, affine<type>, add_gaps<type>                                                    \
  }
extern const RowLoops<float> kFloatRows;
extern const RowLoops<double> kDoubleRows;
extern const RowLoops<int64_t> kIntegerRows;
const RowLoops<float> kFloatRows = ETB_ROWS(float);
const RowLoops<double> kDoubleRows = ETB_ROWS(double);
// Integers have reductions only.
const RowLoops<int64_t> kIntegerRows = {sum<int64_t>,
                                        squared_deviations<int64_t>,
                                        integer_sum<int64_t>,
                                        maximum<int64_t>,
                                        minimum<int64_t>,
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        nullptr};

}  // namespace etb::host::ETB_VARIANT
