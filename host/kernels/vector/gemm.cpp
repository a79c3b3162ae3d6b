// SPDX-License-Identifier: Apache-2.0
// Matrix multiplication in blocks: B is packed into panels of a few vector registers' width, A is read where it lies (or packed when
// its rows are not dense or of another dtype), and a tile of C stays in registers over the whole of k. Splitting k would save cache
// misses for k in the thousands and cost a pass over C; at these sizes a panel still fits into the L2 cache.
#include "host/kernels/selection.hpp"
#include "host/kernels/vector/math.hpp"
#include "host/kernels/vector/table.hpp"

namespace etb::host::ETB_VARIANT {
extern const ConvertLoops kConvertLoops;
namespace {

// Registers for accumulators: 32 vector registers hold 12 x 2 and operands, 16 hold 6 x 2.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kRows = 12;
#else
constexpr int kRows = 6;
#endif
constexpr int kVectors = 2;

// Integers wrap, so they are multiplied and added as unsigned ones.
template <class T>
struct Unsigned {
  using Type = T;
};
template <>
struct Unsigned<int64_t> {
  using Type = uint64_t;
};

template <class T>
struct Vector {
  typedef typename Unsigned<T>::Type Type
      __attribute__((vector_size(ETB_VECTOR_NBYTES), aligned(sizeof(T)), may_alias));
  static constexpr int kLanes = ETB_VECTOR_NBYTES / sizeof(T);
};
template <class T>
constexpr int kColumns = kVectors* Vector<T>::kLanes;

template <class T>
constexpr Compute kCompute = Compute::kFloat;
template <>
constexpr Compute kCompute<double> = Compute::kDouble;
template <>
constexpr Compute kCompute<int64_t> = Compute::kInt64;
template <class T>
constexpr Dtype kDtype = Dtype::FLOAT32;
template <>
constexpr Dtype kDtype<double> = Dtype::FLOAT64;
template <>
constexpr Dtype kDtype<int64_t> = Dtype::INT64;

ETB_INLINE int64_t minimum(int64_t a, int64_t b) { return a < b ? a : b; }
ETB_INLINE int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

// rows x (vectors * lanes) of C: c[i][j] = start[i] + sum over l of a[i * a_stride + l] * b[l * b_stride + j].
template <class T, int rows, int vectors>
void tile(int64_t k, const T* a, int64_t a_stride, const T* b, int64_t b_stride, T* c, int64_t c_stride,
          const T* start) {
  using V = typename Vector<T>::Type;
  constexpr int kLanes = Vector<T>::kLanes;
  V sums[rows][vectors];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sums[i][v] = V{} + static_cast<typename Unsigned<T>::Type>(start[i]);
  }
  for (int64_t l = 0; l < k; ++l) {
    V columns[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) columns[v] = *reinterpret_cast<const V*>(b + v * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const auto factor = static_cast<typename Unsigned<T>::Type>(a[i * a_stride]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sums[i][v] += factor * columns[v];
    }
    b += b_stride;
    ++a;
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) *reinterpret_cast<V*>(c + i * c_stride + v * kLanes) = sums[i][v];
  }
}

template <class T>
using TileFunction = void (*)(int64_t, const T*, int64_t, const T*, int64_t, T*, int64_t, const T*);

// The tallest tile that fits into the rows that are left.
template <class T>
TileFunction<T> pick_tile(int64_t rows_left, int* out_rows) {
  *out_rows = rows_left >= kRows            ? kRows
              : kRows > 8 && rows_left >= 8 ? 8
              : rows_left >= 4              ? 4
              : rows_left >= 2              ? 2
                                            : 1;
  switch (*out_rows) {
    case kRows:
      return tile<T, kRows, kVectors>;
    case 8:
      return tile<T, 8, kVectors>;
    case 4:
      return tile<T, 4, kVectors>;
    case 2:
      return tile<T, 2, kVectors>;
    default:
      return tile<T, 1, kVectors>;
  }
}

template <class T>
class Gemm {
 public:
  explicit Gemm(const GemmTask& task)
      : task_(task), alpha_(to_factor(task.alpha)), beta_(to_factor(task.beta)) {
    load_a_ = kConvertLoops.load[static_cast<int>(task.a_dtype)][static_cast<int>(kCompute<T>)];
    load_b_ = kConvertLoops.load[static_cast<int>(task.b_dtype)][static_cast<int>(kCompute<T>)];
    store_c_ = kConvertLoops.store[static_cast<int>(task.c_dtype)][static_cast<int>(kCompute<T>)];
    // Without depth A and B have no elements, and may have no memory: nothing is read where it is.
    const bool has_depth = task.k != 0;
    reads_a_ =
        has_depth && task.a_dtype == kDtype<T> && task.a_column_stride == 1 && task.a_offsets == nullptr;
    reads_b_ = has_depth && task.b_dtype == kDtype<T> && task.b_column_stride == 1 &&
               task.b_offsets == nullptr && task.m <= kRows;
    // The kernel has counted a call of that size.
    is_short_ =
        static_cast<double>(task.m) * static_cast<double>(task.n) * static_cast<double>(task.k) < 1 << 18;
    // A start that is the same along a row goes into the registers; any other is added when the row is stored.
    starts_rows_ = task.init != nullptr && task.init_column_stride == 0 && task.init_dtype == kDtype<T> &&
                   task.alpha.real == 1.0 && task.beta.real == 1.0;
    const bool is_dense = task.c_column_stride == 1 && task.c_run == task.c_pitch &&
                          (task.c_pitch >= task.n || task.c_line_stride == task.c_run);
    stores_c_ = task.c_dtype == kDtype<T> && is_dense && task.alpha.real == 1.0 &&
                (task.init == nullptr || starts_rows_);
  }

  uint64_t run() {
    const uint64_t a_nbytes = reads_a_ ? 0 : static_cast<uint64_t>(round_up(kRows * task_.k * sizeof(T), 64));
    const uint64_t panel_nbytes = static_cast<uint64_t>(task_.k) * kColumns<T> * sizeof(T);
    if (task_.scratch_nbytes < a_nbytes + panel_nbytes) return a_nbytes + panel_nbytes;
    a_panel_ = static_cast<T*>(task_.scratch);
    b_panels_ = reinterpret_cast<T*>(static_cast<char*>(task_.scratch) + a_nbytes);
    // Panels packed at a time: as many as fit, but no more than the L2 cache holds beside the rest.
    constexpr uint64_t kCacheNbytes = 512 << 10;
    const uint64_t room = task_.scratch_nbytes - a_nbytes;
    const uint64_t wanted = room < kCacheNbytes ? room : kCacheNbytes;
    const int64_t panel_count = panel_nbytes == 0 ? 1 : static_cast<int64_t>(wanted / panel_nbytes);
    const int64_t group = (panel_count < 1 ? 1 : panel_count) * kColumns<T>;
    for (int64_t j = 0; j < task_.n && !is_stopped_; j += group) run_group(j, minimum(j + group, task_.n));
    return 0;
  }

 private:
  static T to_factor(const GemmFactor& factor) {
    if constexpr (kDtype<T> == Dtype::INT64)
      return factor.integer;
    else
      return static_cast<T>(factor.real);
  }

  // Rows of a panel, or multiplications a row of a tile, between two questions whether to stop.
  static constexpr int64_t kMostDepth = 1 << 15;

  bool should_stop(int64_t multiplications) {
    if (is_short_) return false;
    // Four vectors of them count as one element: they take about as long as one of the others.
    return is_stopped_ = task_.stop.should_stop(task_.stop.self, 1 + multiplications / 4);
  }

  void run_group(int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end && !is_stopped_; j += kColumns<T>) {
      if (!reads_panel(j)) pack_panel(j, b_panels_ + (j - begin) * task_.k);
    }
    for (int64_t i = 0; i < task_.m && !is_stopped_;) {
      int rows = 0;
      const TileFunction<T> function = pick_tile<T>(task_.m - i, &rows);
      if (should_stop(minimum(task_.k, kMostDepth) * rows * (end - begin) / kColumns<T>)) return;
      if (!reads_a_) pack_rows(i, rows);
      const T* a = reads_a_ ? static_cast<const T*>(task_.a) + i * task_.a_row_stride : a_panel_;
      const int64_t a_stride = reads_a_ ? task_.a_row_stride : task_.k;
      for (int64_t j = begin; j < end; j += kColumns<T>) {
        const bool is_in_place = reads_panel(j);
        const T* b = is_in_place ? static_cast<const T*>(task_.b) + j : b_panels_ + (j - begin) * task_.k;
        run_tile(function, rows, a, a_stride, b, is_in_place ? task_.b_row_stride : kColumns<T>, i, j);
      }
      i += rows;
    }
  }

  // True if the columns from j on are read in place: one pass over B needs no packing, but only whole panels may be read.
  bool reads_panel(int64_t j) const { return reads_b_ && j + kColumns<T> <= task_.n; }

  const char* b_row(int64_t l) const {
    const int64_t offset = task_.b_offsets != nullptr ? task_.b_offsets[l] : l * task_.b_row_stride;
    return static_cast<const char*>(task_.b) + offset * static_cast<int64_t>(element_nbytes(task_.b_dtype));
  }

  void pack_panel(int64_t j, T* panel) {
    constexpr int64_t kWidth = kColumns<T>;
    const int64_t count = minimum(kWidth, task_.n - j);
    const int64_t skip = j * task_.b_column_stride * static_cast<int64_t>(element_nbytes(task_.b_dtype));
    const bool is_plain = task_.b_dtype == kDtype<T> && task_.b_column_stride == 1;
    for (int64_t l = 0; l < task_.k; ++l) {
      if (l % 1024 == 0 && should_stop(1024 * 4)) return;
      T* to = panel + l * kWidth;
      const char* from = b_row(l) + skip;
      if (is_plain && count == kWidth) {
        __builtin_memcpy(to, from, sizeof(T) * kWidth);
      } else {
        load_b_(to, from, task_.b_column_stride, count);
        for (int64_t c = count; c < kWidth; ++c) to[c] = 0;
      }
    }
  }

  void pack_rows(int64_t i, int rows) {
    if (task_.k == 0) return;
    const int64_t nbytes = static_cast<int64_t>(element_nbytes(task_.a_dtype));
    for (int row = 0; row < rows; ++row) {
      const char* from = static_cast<const char*>(task_.a) + (i + row) * task_.a_row_stride * nbytes;
      T* to = a_panel_ + row * task_.k;
      for (int64_t begin = 0; begin < task_.k; begin += kMostDepth) {
        const int64_t end = minimum(begin + kMostDepth, task_.k);
        if (should_stop((end - begin) * 4)) return;
        if (task_.a_offsets == nullptr) {
          load_a_(to + begin, from + begin * task_.a_column_stride * nbytes, task_.a_column_stride,
                  end - begin);
        } else {
          for (int64_t l = begin; l < end; ++l) load_a_(to + l, from + task_.a_offsets[l] * nbytes, 1, 1);
        }
      }
    }
  }

  void run_tile(TileFunction<T> function, int rows, const T* a, int64_t a_stride, const T* b,
                int64_t b_stride, int64_t i, int64_t j) {
    constexpr int kWidth = kColumns<T>;
    T start[kRows] = {};
    alignas(64) T sums[kRows * kWidth];
    const int64_t count = minimum(kWidth, task_.n - j);
    if (starts_rows_) {
      for (int row = 0; row < rows; ++row)
        start[row] = static_cast<const T*>(task_.init)[(i + row) * task_.init_row_stride];
    }
    if (stores_c_) {
      T* c = static_cast<T*>(task_.c) + i * task_.c_row_stride + j;
      if (count == kWidth && task_.k <= kMostDepth)
        return function(task_.k, a, a_stride, b, b_stride, c, task_.c_row_stride, start);
      run_depth(function, rows, a, a_stride, b, b_stride, sums, start);
      for (int row = 0; row < rows; ++row) {
        __builtin_memcpy(c + row * task_.c_row_stride, sums + row * kWidth,
                         static_cast<size_t>(count) * sizeof(T));
      }
      return;
    }
    run_depth(function, rows, a, a_stride, b, b_stride, sums, start);
    for (int row = 0; row < rows; ++row) store_row(sums + row * kWidth, i + row, j, count);
  }

  // A tile over the whole of k, in parts where that is long; each part is summed by itself.
  void run_depth(TileFunction<T> function, int rows, const T* a, int64_t a_stride, const T* b,
                 int64_t b_stride, T* sums, const T* start) {
    constexpr int kWidth = kColumns<T>;
    function(minimum(task_.k, kMostDepth), a, a_stride, b, b_stride, sums, kWidth, start);
    const T zeros[kRows] = {};
    alignas(64) T part[kRows * kWidth];
    for (int64_t l = kMostDepth; l < task_.k; l += kMostDepth) {
      const int64_t depth = minimum(task_.k - l, kMostDepth);
      if (should_stop(depth * rows)) return;
      function(depth, a + l, a_stride, b + l * b_stride, b_stride, part, kWidth, zeros);
      for (int i = 0; i < rows * kWidth; ++i) sums[i] = add(sums[i], part[i]);
    }
  }

  // Scales, adds what C starts with, and stores the columns that exist.
  void store_row(T* sums, int64_t i, int64_t j, int64_t count) const {
    constexpr int kWidth = kColumns<T>;
    if (task_.alpha.real != 1.0) {
      for (int c = 0; c < kWidth; ++c) sums[c] = multiply(sums[c], alpha_);
    }
    if (task_.init != nullptr && !starts_rows_) {
      alignas(64) T init[kWidth];
      const int64_t nbytes = static_cast<int64_t>(element_nbytes(task_.init_dtype));
      const char* from = static_cast<const char*>(task_.init) +
                         (i * task_.init_row_stride + j * task_.init_column_stride) * nbytes;
      kConvertLoops.load[static_cast<int>(task_.init_dtype)][static_cast<int>(kCompute<T>)](
          init, from, task_.init_column_stride, count);
      for (int64_t c = 0; c < count; ++c) sums[c] = add(sums[c], multiply(init[c], beta_));
    }
    const int64_t nbytes = static_cast<int64_t>(element_nbytes(task_.c_dtype));
    char* row = static_cast<char*>(task_.c) + i * task_.c_row_stride * nbytes;
    for (int64_t done = 0; done < count;) {
      const int64_t line = (j + done) / task_.c_pitch, at = (j + done) % task_.c_pitch;
      const int64_t length = minimum(count - done, task_.c_pitch - at),
                    stored = minimum(length, task_.c_run - at);
      if (stored > 0) {
        store_c_(row + (line * task_.c_line_stride + at * task_.c_column_stride) * nbytes, sums + done,
                 task_.c_column_stride, stored);
      }
      done += length;
    }
  }

  static T multiply(T a, T b) {
    if constexpr (kDtype<T> == Dtype::INT64) return static_cast<T>(v_wrap(a) * v_wrap(b));
    return a * b;
  }
  static T add(T a, T b) {
    if constexpr (kDtype<T> == Dtype::INT64) return static_cast<T>(v_wrap(a) + v_wrap(b));
    return a + b;
  }

  const GemmTask& task_;
  T alpha_, beta_;
  ConvertLoop load_a_, load_b_, store_c_;
  bool reads_a_, reads_b_, stores_c_, starts_rows_;
  T* a_panel_ = nullptr;
  T* b_panels_ = nullptr;
  bool is_stopped_ = false, is_short_ = false;
};

// `vectors` registers of outputs at a time, then one by one.
template <class T, int vectors>
int64_t filter_blocks(T* out, const T* base, const int64_t* offsets, const T* weights, int64_t k,
                      int64_t begin, int64_t n, T start) {
  using V = typename Vector<T>::Type;
  using U = typename Unsigned<T>::Type;
  constexpr int64_t kLanes = Vector<T>::kLanes;
  int64_t j = begin;
  for (; j + vectors * kLanes <= n; j += vectors * kLanes) {
    V sums[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sums[v] = V{} + static_cast<U>(start);
    for (int64_t l = 0; l < k; ++l) {
      const T* from = base + offsets[l] + j;
      const auto weight = static_cast<U>(weights[l]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sums[v] += weight * *reinterpret_cast<const V*>(from + v * kLanes);
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) *reinterpret_cast<V*>(out + j + v * kLanes) = sums[v];
  }
  return j;
}

template <class T>
void filter(void* out_data, const void* base_data, const int64_t* offsets, const void* weight_data, int64_t k,
            int64_t n, const void* start_data) {
  T* out = static_cast<T*>(out_data);
  const T *base = static_cast<const T*>(base_data), *weights = static_cast<const T*>(weight_data);
  const T start = *static_cast<const T*>(start_data);
  int64_t j = filter_blocks<T, 4>(out, base, offsets, weights, k, 0, n, start);
  j = filter_blocks<T, 1>(out, base, offsets, weights, k, j, n, start);
  for (; j < n; ++j) {
    auto sum = static_cast<typename Unsigned<T>::Type>(start);
    for (int64_t l = 0; l < k; ++l) {
      sum += static_cast<typename Unsigned<T>::Type>(weights[l]) *
             static_cast<typename Unsigned<T>::Type>(base[offsets[l] + j]);
    }
    out[j] = static_cast<T>(sum);
  }
}

template <class T>
uint64_t gemm(const GemmTask& task) {
  return Gemm<T>(task).run();
}

}  // namespace

extern const MatrixLoops kMatrixLoops;
const MatrixLoops kMatrixLoops = {{gemm<float>, kHasFloat64 ? gemm<double> : nullptr, gemm<int64_t>},
                                  {filter<float>, kHasFloat64 ? filter<double> : nullptr, filter<int64_t>}};

}  // namespace etb::host::ETB_VARIANT
