// SPDX-License-Identifier: Apache-2.0
#include "dtypes.hpp"

#include <bit>
#include <cstring>

namespace etb::python {
namespace {

namespace nb = nanobind;
using Code = nb::dlpack::dtype_code;

// DLPack's type of each dtype that it has.
struct Row {
  etb_dtype dtype;
  Code code;
};
constexpr Row kRows[] = {
    {ETB_DTYPE_BOOL, Code::Bool},
    {ETB_DTYPE_UINT8, Code::UInt},
    {ETB_DTYPE_UINT16, Code::UInt},
    {ETB_DTYPE_UINT32, Code::UInt},
    {ETB_DTYPE_UINT64, Code::UInt},
    {ETB_DTYPE_INT8, Code::Int},
    {ETB_DTYPE_INT16, Code::Int},
    {ETB_DTYPE_INT32, Code::Int},
    {ETB_DTYPE_INT64, Code::Int},
    {ETB_DTYPE_FLOAT16, Code::Float},
    {ETB_DTYPE_FLOAT32, Code::Float},
    {ETB_DTYPE_FLOAT64, Code::Float},
    {ETB_DTYPE_BFLOAT16, Code::Bfloat},
    {ETB_DTYPE_FLOAT8E4M3FN, Code::Float8_E4M3FN},
    {ETB_DTYPE_FLOAT8E5M2, Code::Float8_E5M2},
    {ETB_DTYPE_FLOAT8E4M3FNUZ, Code::Float8_E4M3FNUZ},
    {ETB_DTYPE_FLOAT8E5M2FNUZ, Code::Float8_E5M2FNUZ},
    {kComplex32, Code::Complex},
    {kComplex64, Code::Complex},
    {kComplex128, Code::Complex},
};

etb_dtype dtype_of(Code code, uint32_t nbytes) {
  for (const Row& row : kRows)
    if (row.code == code && element_nbytes(row.dtype) == nbytes) return row.dtype;
  return -1;
}

}  // namespace

const char* name_of(etb_dtype dtype) {
  switch (dtype) {
#define ETB_DTYPE(name, value, bits, text) \
  case value:                              \
    return text;
#include "etb/dtype.def"
#undef ETB_DTYPE
    case kComplex32:
      return "complex32";
    case kComplex64:
      return "complex64";
    case kComplex128:
      return "complex128";
    default:
      return "unknown";
  }
}

uint32_t element_nbytes(etb_dtype dtype) {
  switch (dtype) {
#define ETB_DTYPE(name, value, bits, text) \
  case value:                              \
    return (bits) / 8;
#include "etb/dtype.def"
#undef ETB_DTYPE
    case kComplex32:
      return 4;
    case kComplex64:
      return 8;
    case kComplex128:
      return 16;
    default:
      return 0;
  }
}

bool is_of_numpy(etb_dtype dtype) {
  for (const Row& row : kRows)
    if (row.dtype == dtype)
      return row.code <= Code::Float || row.code == Code::Bool ||
             (row.code == Code::Complex && dtype != kComplex32);
  return false;
}

etb_dtype dtype_of_format(const char* format, Py_ssize_t item_nbytes) {
  if (format == nullptr) return ETB_DTYPE_UINT8;
  if (*format == '@' || *format == '=' || (*format == '<' && std::endian::native == std::endian::little))
    ++format;
  const bool is_complex = *format == 'Z';
  if (is_complex) ++format;
  if (format[0] == 0 || format[1] != 0) return -1;
  const auto is_one_of = [letter = format[0]](const char* letters) {
    return std::strchr(letters, letter) != nullptr;
  };
  const auto nbytes = static_cast<uint32_t>(item_nbytes);
  if (is_complex) return is_one_of("fd") ? dtype_of(Code::Complex, nbytes) : -1;
  if (is_one_of("?")) return dtype_of(Code::Bool, nbytes);
  if (is_one_of("bhilq")) return dtype_of(Code::Int, nbytes);
  if (is_one_of("BHILQ")) return dtype_of(Code::UInt, nbytes);
  if (is_one_of("efd")) return dtype_of(Code::Float, nbytes);
  return -1;
}

etb_dtype dtype_of_dlpack(nb::dlpack::dtype dtype) {
  if (dtype.lanes != 1 || dtype.bits % 8 != 0) return -1;
  return dtype_of(static_cast<Code>(dtype.code), dtype.bits / 8U);
}

nb::dlpack::dtype to_dlpack(etb_dtype dtype) {
  for (const Row& row : kRows)
    if (row.dtype == dtype)
      return {static_cast<uint8_t>(row.code), static_cast<uint8_t>(element_nbytes(dtype) * 8), 1};
  return {};
}

}  // namespace etb::python
