// Element types of tensors: the codes of etb/dtype.def as an enum, their sizes, names, classes and promotion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace etb::host {

#define ETB_DTYPE(name, value, bits, text) name = value,
enum class Dtype : int8_t {
#include "etb/dtype.def"
};
#undef ETB_DTYPE

// One past the largest code; tables are indexed by code.
inline constexpr int kDtypeCount = 30;

constexpr bool is_known(int64_t code) noexcept {
  switch (code) {
#define ETB_DTYPE(name, value, bits, text) case value:
#include "etb/dtype.def"
#undef ETB_DTYPE
    return true;
    default:
      return false;
  }
}

// Bytes of one element; 0 for an unknown code.
constexpr size_t element_nbytes(Dtype dtype) noexcept {
  switch (dtype) {
#define ETB_DTYPE(name, value, bits, text) \
  case Dtype::name:                        \
    return (bits) / 8;
#include "etb/dtype.def"
#undef ETB_DTYPE
  }
  return 0;
}

constexpr const char* to_text(Dtype dtype) noexcept {
  switch (dtype) {
#define ETB_DTYPE(name, value, bits, text) \
  case Dtype::name:                        \
    return text;
#include "etb/dtype.def"
#undef ETB_DTYPE
  }
  return "unknown dtype";
}

// float16, bfloat16, float32, float64. The 8-bit floats are storage formats only and count as none of the
// classes below.
constexpr bool is_floating(Dtype dtype) noexcept {
  return dtype == Dtype::FLOAT32 || dtype == Dtype::FLOAT64 || dtype == Dtype::FLOAT16 ||
         dtype == Dtype::BFLOAT16;
}

constexpr bool is_unsigned_integer(Dtype dtype) noexcept {
  return dtype == Dtype::UINT8 || dtype == Dtype::UINT16 || dtype == Dtype::UINT32 || dtype == Dtype::UINT64;
}

// Integers without bool.
constexpr bool is_integer(Dtype dtype) noexcept {
  return dtype == Dtype::INT8 || dtype == Dtype::INT16 || dtype == Dtype::INT32 || dtype == Dtype::INT64 ||
         is_unsigned_integer(dtype);
}

constexpr bool is_bool(Dtype dtype) noexcept { return dtype == Dtype::BOOL; }

// What arithmetic is defined on: floats, integers, bool.
constexpr bool is_arithmetic(Dtype dtype) noexcept {
  return is_floating(dtype) || is_integer(dtype) || is_bool(dtype);
}

// PyTorch's promotion of two tensor dtypes (torch.promote_types) for arithmetic types. The pairs that PyTorch
// refuses (unsigned 16/32/64-bit with signed) give the signed type of twice the width, at most int64.
Dtype promote(Dtype a, Dtype b) noexcept;

}  // namespace etb::host
