// SPDX-License-Identifier: Apache-2.0
// VectorTable: the hot loops, compiled once for each kind of CPU from the same source. A kernel asks its context for the table
// and never cares which one it is.
#pragma once

#include <cstdint>

#include "host/kernels/complex_number.hpp"
#include "host/runtime/dtype.hpp"

namespace etb::host {

// The types that loops compute in.
enum class Compute : uint8_t { kFloat, kDouble, kInt64 };
inline constexpr int kComputeCount = 3;

// Computes `count` dense elements of the computing type. `out` may be one of the inputs. `params` points to four values of the
// computing type.
using ElementLoop = void (*)(void* out, const void* const* in, int64_t count, const void* params);

#if defined(ETB_SELECTED_KERNELS)
}  // namespace etb::host
#include "host/kernels/vector/selected_loops.hpp"
namespace etb::host {
#else
enum class UnaryOp : uint8_t {
#define ETB_UNARY_SAME(op, real, integer) op,
#define ETB_UNARY_REAL(op, real) op,
#define ETB_UNARY_SPECIAL(op, real) op,
#define ETB_UNARY_BOOL(op, real, integer) op,
#define ETB_UNARY_LOOP(op, real, integer) op,
#include "host/kernels/vector/unary.def"
#undef ETB_UNARY_SAME
#undef ETB_UNARY_REAL
#undef ETB_UNARY_SPECIAL
#undef ETB_UNARY_BOOL
#undef ETB_UNARY_LOOP
  kCount,
};

enum class BinaryOp : uint8_t {
#define ETB_BINARY(op, real, integer) op,
#include "host/kernels/vector/binary.def"
#undef ETB_BINARY
  kCount,
};

enum class TernaryOp : uint8_t {
#define ETB_TERNARY(op, real, integer) op,
#include "host/kernels/vector/ternary.def"
#undef ETB_TERNARY
  kCount,
};
#endif

// Reads `count` elements of a dtype, `stride` elements apart, into dense elements of a computing type (load), or the other way
// round (store). Floats too large for an integer dtype give what x86 gives: the smallest int64, cut to the dtype.
using ConvertLoop = void (*)(void* to, const void* from, int64_t stride, int64_t count);

// Asked by loops that may run long, with the work since the last question in elements; true: return at once, the result is not read.
// A function pointer, because an inline function would be compiled once for each kind of CPU and merged.
struct StopHook {
  void* self;
  bool (*should_stop)(void* self, int64_t work);
};

#if !defined(ETB_SELECTED_KERNELS)
struct ElementLoops {
  ElementLoop unary[static_cast<int>(UnaryOp::kCount)][kComputeCount];
  ElementLoop binary[static_cast<int>(BinaryOp::kCount)][kComputeCount];
  ElementLoop ternary[static_cast<int>(TernaryOp::kCount)][kComputeCount];
};
#endif

struct ConvertLoops {
  ConvertLoop load[kDtypeCount][kComputeCount];  // null for dtypes without arithmetic
  ConvertLoop store[kDtypeCount][kComputeCount];
};

// A factor of a product, for products of floats and of integers.
struct GemmFactor {
  double real = 1;
  int64_t integer = 1;  // the nearest int64

  constexpr GemmFactor() = default;
  constexpr GemmFactor(double value) noexcept
      : real(value),
        integer(value >= 0x1.0p63    ? INT64_MAX
                : value >= -0x1.0p63 ? static_cast<int64_t>(value)
                                     : (value < 0 ? INT64_MIN : 0)) {}
  constexpr explicit GemmFactor(int64_t value) noexcept : real(static_cast<double>(value)), integer(value) {}
};

// C = alpha * A x B + beta * init, with A [m, k], B [k, n], C [m, n] in any dtype and layout. Strides are in elements.
struct GemmTask {
  int64_t m, n, k;

  // Element (i, l) of A is a[i * a_row_stride + l * a_column_stride], or a[i * a_row_stride + a_offsets[l]] when there are offsets.
  const void* a;
  Dtype a_dtype;
  int64_t a_row_stride, a_column_stride;
  const int64_t* a_offsets;

  // Element (l, j) of B, in the same way: b[l * b_row_stride + j * b_column_stride], or b[b_offsets[l] + j * b_column_stride].
  const void* b;
  Dtype b_dtype;
  int64_t b_row_stride, b_column_stride;
  const int64_t* b_offsets;

  // Column j of C is at j / c_pitch * c_line_stride + j % c_pitch * c_column_stride; columns with j % c_pitch >= c_run are not stored.
  // For a plain matrix c_run = c_pitch = n. Convolutions compute rows of c_pitch columns of which c_run are outputs.
  void* c;
  Dtype c_dtype;
  int64_t c_row_stride, c_column_stride, c_run, c_pitch, c_line_stride;

  const void* init;  // null means zero
  Dtype init_dtype;
  int64_t init_row_stride, init_column_stride;
  GemmFactor alpha, beta;

  void* scratch;
  uint64_t scratch_nbytes;
  StopHook stop;
};

// Returns 0 when done, else the scratch bytes that are needed at least.
using GemmLoop = uint64_t (*)(const GemmTask& task);

// out[j] = start + sum over l < k of weights[l] * base[offsets[l] + j] for j < n, all in one computing type: a filter of one channel.
// `weights` and `start` point to values of that type.
using FilterLoop = void (*)(void* out, const void* base, const int64_t* offsets, const void* weights,
                            int64_t k, int64_t n, const void* start);

struct MatrixLoops {
  GemmLoop gemm[kComputeCount];
  FilterLoop filter[kComputeCount];
};

// How a norm adds up the elements of a difference.
enum class GapSum : uint8_t { kCount, kSum, kSquares, kLargest };

// Work on one dense row of a computing type.
template <class T>
struct RowLoops {
  // Sums in blocks of T, adds the blocks in double (int64 for integers, which wrap).
  double (*sum)(const T* x, int64_t count);
  double (*squared_deviations)(const T* x, int64_t count, double mean);
  int64_t (*integer_sum)(const T* x, int64_t count);
  // The largest and smallest, NaN if there is one; count is at least 1.
  T (*maximum)(const T* x, int64_t count);
  T (*minimum)(const T* x, int64_t count);
  // out may be x. Softmax, or its logarithm.
  void (*softmax)(T* out, const T* x, int64_t count, bool is_log, const StopHook& stop);
  // out[i] = (x[i] - mean) * scale * weight[i] + bias[i]; weight and bias may be null.
  void (*normalize)(T* out, const T* x, int64_t count, T mean, T scale, const T* weight, const T* bias);
  // out[i] = x[i] * scale + shift
  void (*affine)(T* out, const T* x, int64_t count, T scale, T shift);
  // Adds |x - y[i]| to sums[i]; the largest keeps a NaN.
  void (*add_gaps)(T* sums, T x, const T* y, int64_t count, GapSum kind);
};

// Work of factorisations on dense rows of real or complex numbers.
template <class T>
struct LinearLoops {
  // Sums x times y; x, if complex, is conjugated.
  T (*dot)(const T* x, const T* y, int64_t count);
  // out[i] = dot(row i of A, x)
  void (*dot_rows)(T* out, const T* a, int64_t a_stride, int64_t rows, int64_t count, const T* x);
  void (*divide)(T* x, T divisor, int64_t count);
  // y += factor * (sum over i of weights[i * weight_stride] * row i of A)
  void (*add_rows)(T* y, const T* a, int64_t a_stride, int64_t rows, int64_t count, const T* weights,
                   int64_t weight_stride, T factor);
  // A -= column x row
  void (*subtract_outer)(T* a, int64_t a_stride, int64_t rows, int64_t count, const T* column,
                         int64_t column_stride, const T* row);
  // A -= x0 x y0 + x1 x y1
  void (*subtract_two_outers)(T* a, int64_t a_stride, int64_t rows, int64_t count, const T* x0, const T* y0,
                              const T* x1, const T* y1);
  // (x, y) = (cosine * x + sine * y, cosine * y - sine * x)
  void (*rotate)(T* x, T* y, RealOf<T> cosine, RealOf<T> sine, int64_t count);
  // (x, y) = (cosine * x + sine * y, cosine * y - conj(sine) * x)
  void (*rotate_by_phase)(T* x, T* y, RealOf<T> cosine, T sine, int64_t count);
  // Subtracts tau * v * (x + v[1] * y + v[2] * z) from (x, y, z), for a v that begins with 1. Without z, v[2] is not read.
  void (*reflect)(T* x, T* y, T* z, const T* v, T tau, int64_t count);
};

// One step of `lanes` Fourier transforms side by side: numbers in groups that are `radix` apart become one run of `radix`. Real and
// imaginary parts are in arrays of their own. in[q + run * (p + groups * k)] for k < radix gives out[q + run * (radix * p + j)] for
// j < radix, for p and q in the ranges. The roots are e^(-2 pi i k / length); that of a step is at j * p * step.
template <class T>
struct FourierPass {
  const T *in_re, *in_im;
  T *out_re, *out_im;
  const T *roots_re, *roots_im;
  int64_t length, step, radix, groups, run;
  int64_t p_begin, p_end, q_begin, q_end;
};

// Rows of `lanes` numbers; `begin` and `end` count rows.
template <class T>
struct FourierLoops {
  void (*pass)(const FourierPass<T>& pass);
  void (*scale_rows)(T* out_re, T* out_im, const T* in_re, const T* in_im, const T* factors_re,
                     const T* factors_im, int64_t begin, int64_t end, int64_t lanes);
  // From the transform of pairs of neighbours to that of real numbers, and back.
  void (*split_pairs)(T* out_re, T* out_im, const T* in_re, const T* in_im, const T* roots_re,
                      const T* roots_im, int64_t m, int64_t begin, int64_t end, int64_t lanes);
  void (*join_pairs)(T* out_re, T* out_im, const T* in_re, const T* in_im, const T* roots_re,
                     const T* roots_im, int64_t m, int64_t begin, int64_t end, int64_t lanes);
};

// Work on a tile of keys of attention.
struct AttentionLoops {
  // out[j] = sum over l < dim of query[l] * keys[j * key_stride + l], for j < count.
  void (*dots)(float* out, const float* query, const float* keys, int64_t key_stride, int64_t count,
               int64_t dim);
  // out[l * out_stride + j] = rows[j * row_stride + l], for j < count and l < dim.
  void (*transpose)(float* out, int64_t out_stride, const float* rows, int64_t row_stride, int64_t count,
                    int64_t dim);
  // x[i] = exp(x[i] - largest); returns their sum.
  double (*exponentials)(float* x, int64_t count, float largest);
};

// ETB_LOOP_TABLE(type, member of VectorTable, object of each variant)
#define ETB_LOOP_TABLES(ETB_LOOP_TABLE)                                                    \
  ETB_LOOP_TABLE(ConvertLoops, conversions, kConvertLoops)                                 \
  ETB_LOOP_TABLE(MatrixLoops, matrices, kMatrixLoops)                                      \
  ETB_LOOP_TABLE(RowLoops<float>, float_rows, kFloatRows)                                  \
  ETB_LOOP_TABLE(RowLoops<double>, double_rows, kDoubleRows)                               \
  ETB_LOOP_TABLE(RowLoops<int64_t>, integer_rows, kIntegerRows)                            \
  ETB_LOOP_TABLE(LinearLoops<float>, float_linear, kFloatLinear)                           \
  ETB_LOOP_TABLE(LinearLoops<double>, double_linear, kDoubleLinear)                        \
  ETB_LOOP_TABLE(LinearLoops<ComplexNumber<float>>, complex64_linear, kComplex64Linear)    \
  ETB_LOOP_TABLE(LinearLoops<ComplexNumber<double>>, complex128_linear, kComplex128Linear) \
  ETB_LOOP_TABLE(FourierLoops<float>, float_fourier, kFloatFourier)                        \
  ETB_LOOP_TABLE(FourierLoops<double>, double_fourier, kDoubleFourier)                     \
  ETB_LOOP_TABLE(AttentionLoops, attention, kAttentionLoops)

#if defined(ETB_SELECTED_KERNELS)
namespace baseline {
#define ETB_LOOP_TABLE(type, member, object) extern const type object;
ETB_LOOP_TABLES(ETB_LOOP_TABLE)
#undef ETB_LOOP_TABLE
}  // namespace baseline
#endif

struct VectorTable {
  const char* name;
#if defined(ETB_SELECTED_KERNELS)
#define ETB_LOOP_TABLE(type, member, object) static constexpr const type* member = &baseline::object;
#else
  const ElementLoops* elements;
#define ETB_LOOP_TABLE(type, member, object) const type* member;
#endif
  ETB_LOOP_TABLES(ETB_LOOP_TABLE)
#undef ETB_LOOP_TABLE

  // The loops of an elementwise op, one for each computing type.
#if defined(ETB_SELECTED_KERNELS)
  static constexpr const ElementLoop* loops(UnaryOp op) noexcept { return op.loops; }
  static constexpr const ElementLoop* loops(BinaryOp op) noexcept { return op.loops; }
  static constexpr const ElementLoop* loops(TernaryOp op) noexcept { return op.loops; }
#else
  const ElementLoop* loops(UnaryOp op) const noexcept { return elements->unary[static_cast<int>(op)]; }
  const ElementLoop* loops(BinaryOp op) const noexcept { return elements->binary[static_cast<int>(op)]; }
  const ElementLoop* loops(TernaryOp op) const noexcept { return elements->ternary[static_cast<int>(op)]; }
#endif

  template <class T>
  const LinearLoops<T>& linear() const noexcept {
    if constexpr (kIsComplex<T> && sizeof(T) == 2 * sizeof(float)) {
      return *complex64_linear;
    } else if constexpr (kIsComplex<T>) {
      return *complex128_linear;
    } else if constexpr (sizeof(T) == sizeof(float)) {
      return *float_linear;
    } else {
      return *double_linear;
    }
  }

  template <class T>
  const FourierLoops<T>& fourier() const noexcept {
    if constexpr (sizeof(T) == sizeof(float)) {
      return *float_fourier;
    } else {
      return *double_fourier;
    }
  }
  template <class T>
  const RowLoops<T>& rows() const noexcept {
    if constexpr (sizeof(T) == sizeof(float)) {
      return *float_rows;
    } else if constexpr (static_cast<T>(0.5) != T(0)) {
      return *double_rows;
    } else {
      return *integer_rows;
    }
  }
};

}  // namespace etb::host
