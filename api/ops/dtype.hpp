// Element types as an enum over etb/dtype.def: sizes, names, classes and promotion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace etb::ops {

#define ETB_DTYPE(name, value, bits, text) name = value,
enum class Dtype : int8_t {
#include "etb/dtype.def"
};
#undef ETB_DTYPE

// Bytes of one element.
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

constexpr std::string_view to_text(Dtype dtype) noexcept {
  switch (dtype) {
#define ETB_DTYPE(name, value, bits, text) \
  case Dtype::name:                        \
    return text;
#include "etb/dtype.def"
#undef ETB_DTYPE
  }
  return "unknown";
}

constexpr std::optional<Dtype> find_dtype(std::string_view text) noexcept {
#define ETB_DTYPE(name, value, bits, word) \
  if (text == (word)) return Dtype::name;
#include "etb/dtype.def"
#undef ETB_DTYPE
  return std::nullopt;
}

constexpr bool is_floating(Dtype dtype) noexcept {
  return dtype == Dtype::FLOAT32 || dtype == Dtype::FLOAT64 || dtype == Dtype::FLOAT16 ||
         dtype == Dtype::BFLOAT16;
}
constexpr bool is_bool(Dtype dtype) noexcept { return dtype == Dtype::BOOL; }
constexpr bool is_integer(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::UINT8:
    case Dtype::INT8:
    case Dtype::INT16:
    case Dtype::INT32:
    case Dtype::INT64:
    case Dtype::UINT16:
    case Dtype::UINT32:
    case Dtype::UINT64:
      return true;
    default:
      return false;
  }
}

// PyTorch's promotion of two tensors of equal category (torch.promote_types), for floats, integers and bool; nullopt for
// pairs that PyTorch refuses and for other dtypes.
constexpr std::optional<Dtype> promote(Dtype a, Dtype b) noexcept {
  if (a == b) return a;
  const auto known = [](Dtype d) { return is_floating(d) || is_integer(d) || is_bool(d); };
  if (!known(a) || !known(b)) return std::nullopt;
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
