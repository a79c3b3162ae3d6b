// SPDX-License-Identifier: Apache-2.0
#include "tools/run/element.hpp"

#include <cstdint>
#include <cstring>

#include "host/runtime/dtype.hpp"
#include "host/runtime/float16.hpp"

namespace etb::tools {
namespace {

using host::Dtype;

template <class T>
T read_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

}  // namespace

double element_as_double(Dtype dtype, const std::byte* at) {
  switch (dtype) {
    case Dtype::UINT8:
    case Dtype::BOOL:
    case Dtype::QUINT8:
      return read_as<uint8_t>(at);
    case Dtype::INT8:
    case Dtype::QINT8:
      return read_as<int8_t>(at);
    case Dtype::INT16:
      return read_as<int16_t>(at);
    case Dtype::UINT16:
    case Dtype::BITS16:
      return read_as<uint16_t>(at);
    case Dtype::INT32:
    case Dtype::QINT32:
      return read_as<int32_t>(at);
    case Dtype::UINT32:
      return read_as<uint32_t>(at);
    case Dtype::INT64:
      return static_cast<double>(read_as<int64_t>(at));
    case Dtype::UINT64:
      return static_cast<double>(read_as<uint64_t>(at));
    case Dtype::FLOAT16:
      return host::to_float(read_as<host::Half>(at));
    case Dtype::BFLOAT16:
      return host::to_float(read_as<host::BFloat16>(at));
    case Dtype::FLOAT32:
      return read_as<float>(at);
    case Dtype::FLOAT64:
      return read_as<double>(at);
    default:
      return read_as<uint8_t>(at);
  }
}

}  // namespace etb::tools
