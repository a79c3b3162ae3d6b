// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/run/host_numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace etb::gpu {

namespace {

float from_half(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16, exponent = half >> 10 & 31, fraction = half & 1023u;
  if (exponent == 0) {  // zeros and subnormals
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

// Rounds to nearest, ties to even.
uint16_t to_half(float number) {
  const auto bits = std::bit_cast<uint32_t>(number);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65,520 rounds to infinity
  if (magnitude < 0x38800000u) {                                               // subnormal in float16
    const float scaled = std::nearbyint(std::bit_cast<float>(magnitude) * 16777216.0f);
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(scaled));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23);
  return static_cast<uint16_t>(sign | rounded >> 13);
}

template <class T>
ReadNumbers read_integers(const std::byte* from, std::span<float> to) {
  ReadNumbers facts;
  for (size_t i = 0; i < to.size(); ++i) {
    T number;
    std::memcpy(&number, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<float>(number);
    facts.largest = std::max(facts.largest, std::abs(static_cast<double>(number)));
    // 2^63 as a float is beyond int64_t.
    facts.is_exact = facts.is_exact && std::abs(to[i]) < 0x1p62f && static_cast<T>(to[i]) == number;
  }
  return facts;
}

template <class T>
void write_integers(std::span<const float> from, std::byte* to) {
  constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::min()),
                 kHigh = static_cast<double>(std::numeric_limits<T>::max());
  for (size_t i = 0; i < from.size(); ++i) {
    const double wide = from[i];
    const T number = std::isnan(wide) ? T{0}
                     : wide <= kLow   ? std::numeric_limits<T>::min()
                     : wide >= kHigh  ? std::numeric_limits<T>::max()
                                      : static_cast<T>(wide);
    std::memcpy(to + i * sizeof(T), &number, sizeof(T));
  }
}

}  // namespace

etb_dtype expected_dtype(const GpuValue& value) {
  switch (value.host) {
    case HostNumbers::kSame:
      return value.type == DataType::kInt64   ? ETB_DTYPE_INT64
             : value.type == DataType::kInt32 ? ETB_DTYPE_INT32
                                              : ETB_DTYPE_FLOAT32;
    case HostNumbers::kFloats:
      return ETB_DTYPE_FLOAT32;
    case HostNumbers::kHalves:
      return ETB_DTYPE_FLOAT16;
    case HostNumbers::kIntegers:
    case HostNumbers::kInt32Bits:
      return ETB_DTYPE_INT64;
    case HostNumbers::kInt8:
      return ETB_DTYPE_INT8;
    case HostNumbers::kUint8:
      return ETB_DTYPE_UINT8;
    case HostNumbers::kBools:
      return ETB_DTYPE_BOOL;
    case HostNumbers::kSize:
      return ETB_DTYPE_INT64;
  }
  return ETB_DTYPE_FLOAT32;
}

bool accepts(const GpuValue& value, etb_dtype dtype) {
  if (dtype == expected_dtype(value)) return true;
  if (value.host == HostNumbers::kFloats || value.host == HostNumbers::kHalves)
    return dtype == ETB_DTYPE_FLOAT32 || dtype == ETB_DTYPE_FLOAT16 || dtype == ETB_DTYPE_FLOAT64;
  const bool has_integers = value.host == HostNumbers::kIntegers || value.host == HostNumbers::kInt32Bits;
  return has_integers && dtype == ETB_DTYPE_INT32;
}

bool is_same_on_device(const GpuValue& value, etb_dtype dtype) {
  if (value.is_half) return dtype == ETB_DTYPE_FLOAT16;
  if (value.host == HostNumbers::kSame) return true;
  return dtype == ETB_DTYPE_FLOAT32;  // what no other type may be
}

ReadNumbers read_numbers(const std::byte* from, etb_dtype dtype, std::span<float> to) {
  switch (dtype) {
    case ETB_DTYPE_BOOL:
      for (size_t i = 0; i < to.size(); ++i) to[i] = from[i] == std::byte{0} ? 0.0f : 1.0f;
      return {1, true};
    case ETB_DTYPE_UINT8:
      return read_integers<uint8_t>(from, to);
    case ETB_DTYPE_INT8:
      return read_integers<int8_t>(from, to);
    case ETB_DTYPE_INT32:
      return read_integers<int32_t>(from, to);
    case ETB_DTYPE_INT64:
      return read_integers<int64_t>(from, to);
    case ETB_DTYPE_FLOAT16:
      for (size_t i = 0; i < to.size(); ++i) {
        uint16_t half;
        std::memcpy(&half, from + i * sizeof(half), sizeof(half));
        to[i] = from_half(half);
      }
      return {};
    case ETB_DTYPE_FLOAT64:
      for (size_t i = 0; i < to.size(); ++i) {
        double wide;
        std::memcpy(&wide, from + i * sizeof(wide), sizeof(wide));
        to[i] = static_cast<float>(wide);
      }
      return {};
    default:
      if (!to.empty()) std::memcpy(to.data(), from, to.size() * sizeof(float));
      return {};
  }
}

void write_numbers(std::span<const float> from, etb_dtype dtype, std::byte* to) {
  switch (dtype) {
    case ETB_DTYPE_BOOL:
      for (size_t i = 0; i < from.size(); ++i) to[i] = from[i] == 0.0f ? std::byte{0} : std::byte{1};
      return;
    case ETB_DTYPE_UINT8:
      return write_integers<uint8_t>(from, to);
    case ETB_DTYPE_INT8:
      return write_integers<int8_t>(from, to);
    case ETB_DTYPE_INT32:
      return write_integers<int32_t>(from, to);
    case ETB_DTYPE_INT64:
      return write_integers<int64_t>(from, to);
    case ETB_DTYPE_FLOAT16:
      for (size_t i = 0; i < from.size(); ++i) {
        const uint16_t half = to_half(from[i]);
        std::memcpy(to + i * sizeof(half), &half, sizeof(half));
      }
      return;
    case ETB_DTYPE_FLOAT64:
      for (size_t i = 0; i < from.size(); ++i) {
        const double wide = from[i];
        std::memcpy(to + i * sizeof(wide), &wide, sizeof(wide));
      }
      return;
    default:
      if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof(float));
      return;
  }
}

namespace {

// Distances of neighbours in elements, outermost dimension first.
std::array<int64_t, kMaxRank> strides_of(const etb_tensor& raw) {
  std::array<int64_t, kMaxRank> strides{};
  const uint32_t rank = std::min(raw.rank, kMaxRank);
  if (raw.strides != nullptr) {
    std::copy_n(raw.strides, rank, strides.begin());
    return strides;
  }
  int64_t step = 1;
  for (uint32_t i = rank; i-- > 0;) {
    const uint32_t d = raw.dim_order == nullptr ? i : std::min<uint32_t>(raw.dim_order[i], rank - 1);
    strides[d] = step;
    step *= raw.sizes[d];
  }
  return strides;
}

// Calls `visit(index, offset)` for `count` elements from `first` on, in the order of the dimensions. Their indices begin at 0.
void for_each_element(const Tensor& tensor, size_t first, size_t count, const auto& visit) {
  const etb_tensor& raw = tensor.raw();
  const std::array<int64_t, kMaxRank> strides = strides_of(raw);
  std::array<int64_t, kMaxRank> at{};
  int64_t offset = 0;
  auto rest = static_cast<int64_t>(first);
  for (uint32_t d = raw.rank; d-- > 0 && rest != 0;) {
    at[d] = rest % raw.sizes[d];
    rest /= raw.sizes[d];
    offset += at[d] * strides[d];
  }
  for (size_t i = 0; i < count; ++i) {
    visit(i, static_cast<size_t>(offset));
    for (uint32_t d = raw.rank; d-- > 0;) {
      offset += strides[d];
      if (++at[d] < raw.sizes[d]) break;
      offset -= strides[d] * raw.sizes[d];
      at[d] = 0;
    }
  }
}

}  // namespace

Status check_strides(const Tensor& tensor) {
  const etb_tensor& raw = tensor.raw();
  if (raw.rank > kMaxRank) return make_error(Code::INVALID_ARGUMENT, "rank " + std::to_string(raw.rank));
  if (tensor.numel() == 0) return {};
  const std::array<int64_t, kMaxRank> strides = strides_of(raw);
  const uint64_t room = raw.capacity_bytes / (dtype_bits(tensor.dtype()) / 8);
  uint64_t last = 0;
  for (uint32_t d = 0; d < raw.rank; ++d) {
    const uint64_t steps = static_cast<uint64_t>(raw.sizes[d]) - 1;
    const bool fits = strides[d] >= 0 && (steps == 0 || static_cast<uint64_t>(strides[d]) <= room / steps);
    last += fits ? steps * static_cast<uint64_t>(strides[d]) : room;
    if (!fits || last >= room)
      return make_error(Code::INVALID_ARGUMENT, "strides that reach past the capacity of " +
                                                    std::to_string(raw.capacity_bytes) + " bytes");
  }
  return {};
}

ReadNumbers read_tensor(const Tensor& tensor, size_t first, std::span<float> to) {
  const auto* data = static_cast<const std::byte*>(tensor.raw().data);
  const size_t nbytes = dtype_bits(tensor.dtype()) / 8;
  if (tensor.is_contiguous()) return read_numbers(data + first * nbytes, tensor.dtype(), to);
  ReadNumbers facts;
  for_each_element(tensor, first, to.size(), [&](size_t i, size_t offset) {
    const ReadNumbers one = read_numbers(data + offset * nbytes, tensor.dtype(), to.subspan(i, 1));
    facts.largest = std::max(facts.largest, one.largest);
    facts.is_exact = facts.is_exact && one.is_exact;
  });
  return facts;
}

bool read_int32_bits(const Tensor& tensor, size_t first, std::span<float> to) {
  const auto* data = static_cast<const std::byte*>(tensor.raw().data);
  const size_t nbytes = dtype_bits(tensor.dtype()) / 8;
  bool fits = true;
  for_each_element(tensor, first, to.size(), [&](size_t i, size_t offset) {
    int32_t narrow = 0;
    std::memcpy(&narrow, data + offset * nbytes, sizeof(narrow));
    if (tensor.dtype() == ETB_DTYPE_INT64) {
      int64_t wide = 0;
      std::memcpy(&wide, data + offset * nbytes, sizeof(wide));
      narrow = static_cast<int32_t>(wide);
      fits = fits && narrow == wide;
    }
    to[i] = std::bit_cast<float>(narrow);
  });
  return fits;
}

void write_int32_bits(std::span<const float> from, size_t first, const OutputTensor& tensor) {
  auto* data = static_cast<std::byte*>(tensor.raw().data);
  const size_t nbytes = dtype_bits(tensor.dtype()) / 8;
  for_each_element(tensor, first, from.size(), [&](size_t i, size_t offset) {
    int32_t narrow = 0;
    std::memcpy(&narrow, &from[i], sizeof(narrow));
    const int64_t wide = narrow;
    std::memcpy(data + offset * nbytes, nbytes == sizeof(wide) ? static_cast<const void*>(&wide) : &narrow,
                nbytes);
  });
}

void write_tensor(std::span<const float> from, size_t first, const OutputTensor& tensor) {
  auto* data = static_cast<std::byte*>(tensor.raw().data);
  const size_t nbytes = dtype_bits(tensor.dtype()) / 8;
  if (tensor.is_contiguous()) return write_numbers(from, tensor.dtype(), data + first * nbytes);
  for_each_element(tensor, first, from.size(), [&](size_t i, size_t offset) {
    write_numbers(from.subspan(i, 1), tensor.dtype(), data + offset * nbytes);
  });
}

}  // namespace etb::gpu
