// SPDX-License-Identifier: Apache-2.0
// Dtype: element types as an enum: the codes of etb/dtype.def, which cross the ABI, and the complex ones,
// which only files and the runtime use. Sizes, names, classes and promotion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace etb::ops {

#define ETB_DTYPE(name, value, bits, text) name = value,
enum class Dtype : int8_t {
#include "etb/dtype.def"
  COMPLEX32 = 8,  // two float16
  COMPLEX64 = 9,
  COMPLEX128 = 10,
};
#undef ETB_DTYPE

// One past the largest code; tables are indexed by code.
inline constexpr int kDtypeCount = 30;

constexpr bool is_complex(Dtype dtype) noexcept {
  return dtype == Dtype::COMPLEX32 || dtype == Dtype::COMPLEX64 || dtype == Dtype::COMPLEX128;
}

// Dtype of one number of a complex pair. Returns other dtypes unchanged.
constexpr Dtype real_part(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::COMPLEX32:
      return Dtype::FLOAT16;
    case Dtype::COMPLEX64:
      return Dtype::FLOAT32;
    case Dtype::COMPLEX128:
      return Dtype::FLOAT64;
    default:
      return dtype;
  }
}

// Complex dtype whose parts have this dtype. Returns other dtypes unchanged.
constexpr Dtype complex_of(Dtype part) noexcept {
  switch (part) {
    case Dtype::FLOAT16:
      return Dtype::COMPLEX32;
    case Dtype::FLOAT32:
      return Dtype::COMPLEX64;
    case Dtype::FLOAT64:
      return Dtype::COMPLEX128;
    default:
      return part;
  }
}

// True if the code is a dtype.
constexpr bool is_known(int64_t code) noexcept {
  switch (code) {
#define ETB_DTYPE(name, value, bits, text) case value:
#include "etb/dtype.def"
#undef ETB_DTYPE
    return true;
    default:
      return code >= 8 && code <= 10;
  }
}

// True if plugins may receive the dtype.
constexpr bool is_abi_dtype(Dtype dtype) noexcept { return !is_complex(dtype); }

// Bytes of one element; 0 for an unknown code.
constexpr size_t element_nbytes(Dtype dtype) noexcept {
  switch (dtype) {
#define ETB_DTYPE(name, value, bits, text) \
  case Dtype::name:                        \
    return (bits) / 8;
#include "etb/dtype.def"
#undef ETB_DTYPE
    case Dtype::COMPLEX32:
      return 4;
    case Dtype::COMPLEX64:
      return 8;
    case Dtype::COMPLEX128:
      return 16;
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
    case Dtype::COMPLEX32:
      return "complex32";
    case Dtype::COMPLEX64:
      return "complex64";
    case Dtype::COMPLEX128:
      return "complex128";
  }
  return "unknown dtype";
}

constexpr std::optional<Dtype> find_dtype(std::string_view text) noexcept {
  for (int code = 0; code < kDtypeCount; ++code) {
    const auto dtype = static_cast<Dtype>(code);
    if (is_known(code) && text == to_text(dtype)) return dtype;
  }
  return std::nullopt;
}

// True for float16, bfloat16, float32, float64. The 8-bit floats are storage formats only and in
// none of the classes below.
constexpr bool is_floating(Dtype dtype) noexcept {
  return dtype == Dtype::FLOAT32 || dtype == Dtype::FLOAT64 || dtype == Dtype::FLOAT16 ||
         dtype == Dtype::BFLOAT16;
}
constexpr bool is_float8(Dtype dtype) noexcept {
  return dtype >= Dtype::FLOAT8E5M2 && dtype <= Dtype::FLOAT8E4M3FNUZ;
}
constexpr bool is_bool(Dtype dtype) noexcept { return dtype == Dtype::BOOL; }
constexpr bool is_unsigned_integer(Dtype dtype) noexcept {
  return dtype == Dtype::UINT8 || dtype == Dtype::UINT16 || dtype == Dtype::UINT32 || dtype == Dtype::UINT64;
}
// Integers without bool.
constexpr bool is_integer(Dtype dtype) noexcept {
  return dtype == Dtype::INT8 || dtype == Dtype::INT16 || dtype == Dtype::INT32 || dtype == Dtype::INT64 ||
         is_unsigned_integer(dtype);
}
// True for types with arithmetic: floats, integers, bool.
constexpr bool is_arithmetic(Dtype dtype) noexcept {
  return is_floating(dtype) || is_integer(dtype) || is_bool(dtype);
}

// PyTorch's promotion of two tensors of equal category (torch.promote_types), for floats, integers and bool.
// Returns nullopt for pairs that PyTorch rejects and for other dtypes.
constexpr std::optional<Dtype> promote(Dtype a, Dtype b) noexcept {
  if (a == b) return a;
  if (!is_arithmetic(a) || !is_arithmetic(b)) return std::nullopt;
  if (is_bool(a)) return b;
  if (is_bool(b)) return a;
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  if (is_floating(a)) {
    if (element_nbytes(a) == element_nbytes(b)) return Dtype::FLOAT32;  // float16 with bfloat16
    return element_nbytes(a) > element_nbytes(b) ? a : b;
  }
  const auto is_wide_unsigned = [](Dtype d) {
    return d == Dtype::UINT16 || d == Dtype::UINT32 || d == Dtype::UINT64;
  };
  if (is_wide_unsigned(a) || is_wide_unsigned(b)) return std::nullopt;
  if (element_nbytes(a) == element_nbytes(b)) return Dtype::INT16;  // uint8 with int8
  return element_nbytes(a) > element_nbytes(b) ? a : b;
}

}  // namespace etb::ops
