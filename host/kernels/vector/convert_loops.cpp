// SPDX-License-Identifier: Apache-2.0
// Reading and writing every dtype as a computing type.
#include <cstddef>

#include "host/kernels/selection.hpp"
#include "host/kernels/vector/math.hpp"
#include "host/kernels/vector/table.hpp"
#include "host/runtime/float16.hpp"
#include "host/runtime/float8.hpp"

namespace etb::host::ETB_VARIANT {
namespace {

struct Bool {
  uint8_t byte;
};

// Compiled for size, each conversion has one loop, and conversions share the way to integers: the table has many.
#if defined(__OPTIMIZE_SIZE__)
#define ETB_SHARED [[gnu::noinline]]
constexpr bool kHasDenseLoop = false;
#else
#define ETB_SHARED ETB_INLINE
constexpr bool kHasDenseLoop = true;
#endif

// Beyond the range of int64, x86 gives the smallest one; so do we, everywhere.
template <class T>
ETB_SHARED int64_t to_integer(T x) {
  const bool fits = x >= static_cast<T>(-0x1.0p63) && x < static_cast<T>(0x1.0p63);
  return fits ? static_cast<int64_t>(x) : INT64_MIN;
}

template <class To, class From>
struct Cast {
  static ETB_INLINE To apply(From x) { return static_cast<To>(x); }
};
template <class To>
struct Cast<To, Half> {
  static ETB_INLINE To apply(Half x) { return Cast<To, float>::apply(to_float(x)); }
};
template <class To>
struct Cast<To, BFloat16> {
  static ETB_INLINE To apply(BFloat16 x) { return Cast<To, float>::apply(to_float(x)); }
};
template <class To, uint32_t kMantissa, uint32_t kBias, Float8Kind kKind>
struct Cast<To, Float8<kMantissa, kBias, kKind>> {
  using From = Float8<kMantissa, kBias, kKind>;
  static ETB_INLINE To apply(From x) { return Cast<To, float>::apply(From::decode(x.bits)); }
};
template <class To>
struct Cast<To, Bool> {
  static ETB_INLINE To apply(Bool x) { return static_cast<To>(x.byte != 0); }
};
template <class From>
struct Cast<Bool, From> {
  static ETB_INLINE Bool apply(From x) { return {static_cast<uint8_t>(x != 0)}; }
};
template <class From>
struct Cast<Half, From> {
  static ETB_INLINE Half apply(From x) { return to_half(static_cast<float>(x)); }
};
template <class From>
struct Cast<BFloat16, From> {
  static ETB_INLINE BFloat16 apply(From x) { return to_bfloat16(static_cast<float>(x)); }
};
template <uint32_t kMantissa, uint32_t kBias, Float8Kind kKind, class From>
struct Cast<Float8<kMantissa, kBias, kKind>, From> {
  using To = Float8<kMantissa, kBias, kKind>;
  static ETB_INLINE To apply(From x) { return {To::encode(static_cast<float>(x))}; }
};
#define ETB_REAL_TO_INTEGER(to, from)                                             \
  template <>                                                                     \
  struct Cast<to, from> {                                                         \
    static ETB_INLINE to apply(from x) { return static_cast<to>(to_integer(x)); } \
  };
#define ETB_REALS_TO_INTEGER(to) ETB_REAL_TO_INTEGER(to, float) ETB_REAL_TO_INTEGER(to, double)
ETB_REALS_TO_INTEGER(uint8_t)
ETB_REALS_TO_INTEGER(int8_t)
ETB_REALS_TO_INTEGER(int16_t)
ETB_REALS_TO_INTEGER(int32_t)
ETB_REALS_TO_INTEGER(int64_t)
ETB_REALS_TO_INTEGER(uint16_t)
ETB_REALS_TO_INTEGER(uint32_t)

template <class To, class From>
void load(void* to_data, const void* from_data, int64_t stride, int64_t count) {
  To* to = static_cast<To*>(to_data);
  const From* from = static_cast<const From*>(from_data);
  const auto size = static_cast<ptrdiff_t>(count), step = static_cast<ptrdiff_t>(stride);
  if (kHasDenseLoop && stride == 1) {
    ETB_LOOP for (ptrdiff_t i = 0; i < size; ++i) to[i] = Cast<To, From>::apply(from[i]);
  } else {
    ETB_LOOP for (ptrdiff_t i = 0; i < size; ++i) to[i] = Cast<To, From>::apply(from[i * step]);
  }
}

template <class To, class From>
void store(void* to_data, const void* from_data, int64_t stride, int64_t count) {
  To* to = static_cast<To*>(to_data);
  const From* from = static_cast<const From*>(from_data);
  const auto size = static_cast<ptrdiff_t>(count), step = static_cast<ptrdiff_t>(stride);
  if (kHasDenseLoop && stride == 1) {
    ETB_LOOP for (ptrdiff_t i = 0; i < size; ++i) to[i] = Cast<To, From>::apply(from[i]);
  } else {
    ETB_LOOP for (ptrdiff_t i = 0; i < size; ++i) to[i * step] = Cast<To, From>::apply(from[i]);
  }
}

// Numbers among the arguments of an op are float64, int64 and bool. Kernels take part in a conversion with float32.
constexpr bool is_converted(Dtype dtype) {
  return is_selected(dtype) || dtype == Dtype::FLOAT32 || dtype == Dtype::FLOAT64 || dtype == Dtype::INT64 ||
         dtype == Dtype::BOOL;
}

template <Dtype kDtype, class To, class From>
constexpr ConvertLoop load_of() {
  if constexpr (is_converted(kDtype)) return load<To, From>;
  return nullptr;
}
template <Dtype kDtype, class To, class From>
constexpr ConvertLoop store_of() {
  if constexpr (is_converted(kDtype)) return store<To, From>;
  return nullptr;
}

}  // namespace

// Rows in the order of dtype codes.
#define ETB_LOADS(dtype, type)                                                   \
  {                                                                              \
    load_of<Dtype::dtype, float, type>(), load_of<Dtype::dtype, double, type>(), \
        load_of<Dtype::dtype, int64_t, type>()                                   \
  }
#define ETB_STORES(dtype, type)                                                    \
  {                                                                                \
    store_of<Dtype::dtype, type, float>(), store_of<Dtype::dtype, type, double>(), \
        store_of<Dtype::dtype, type, int64_t>()                                    \
  }
#define ETB_NONE \
  { nullptr, nullptr, nullptr }
#define ETB_CONVERSIONS(row)                                                                               \
  {                                                                                                        \
    row(UINT8, uint8_t), row(INT8, int8_t), row(INT16, int16_t), row(INT32, int32_t), row(INT64, int64_t), \
        row(FLOAT16, Half), row(FLOAT32, float), row(FLOAT64, double), ETB_NONE, ETB_NONE, ETB_NONE,       \
        row(BOOL, Bool), row(QINT8, int8_t), row(QUINT8, uint8_t), row(QINT32, int32_t),                   \
        row(BFLOAT16, BFloat16), ETB_NONE, ETB_NONE, ETB_NONE, ETB_NONE, ETB_NONE, ETB_NONE, ETB_NONE,     \
        row(FLOAT8E5M2, Float8E5M2), row(FLOAT8E4M3FN, Float8E4M3Fn), row(FLOAT8E5M2FNUZ, Float8E5M2Fnuz), \
        row(FLOAT8E4M3FNUZ, Float8E4M3Fnuz), row(UINT16, uint16_t), row(UINT32, uint32_t),                 \
        row(UINT64, int64_t),                                                                              \
  }
extern const ConvertLoops kConvertLoops;
const ConvertLoops kConvertLoops = {ETB_CONVERSIONS(ETB_LOADS), ETB_CONVERSIONS(ETB_STORES)};

}  // namespace etb::host::ETB_VARIANT
