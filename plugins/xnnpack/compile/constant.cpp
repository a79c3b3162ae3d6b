// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/compile/constant.hpp"

#include <cmath>
#include <cstring>

#include "etb/cpp/tensor.hpp"

namespace etb::xnnpack {

namespace {

size_t element_nbytes(etb_dtype dtype) { return dtype_bits(dtype) / 8; }

float half_to_float(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const auto mantissa = static_cast<float>(bits & 1023);
  const float size = exponent == 0    ? std::ldexp(mantissa, -24)
                     : exponent == 31 ? (mantissa == 0 ? INFINITY : NAN)
                                      : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

// Rounds to the nearest float16, ties to even. Returns infinity for values that are too large.
uint16_t float_to_half(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  const float size = std::fabs(value);
  if (size >= 65520.0f) return static_cast<uint16_t>(sign | 0x7c00);
  if (size < 0x1p-14f)
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(size, 24))));
  const uint32_t magnitude = (bits & 0x7fffffff) - (112u << 23);
  return static_cast<uint16_t>(sign | ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13));
}

template <class T>
float load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<float>(value);
}

float load_float(etb_dtype dtype, const std::byte* at) {
  switch (dtype) {
    case ETB_DTYPE_FLOAT32:
      return load<float>(at);
    case ETB_DTYPE_FLOAT64:
      return load<double>(at);
    case ETB_DTYPE_INT64:
      return load<int64_t>(at);
    case ETB_DTYPE_INT32:
      return load<int32_t>(at);
    case ETB_DTYPE_INT16:
      return load<int16_t>(at);
    case ETB_DTYPE_INT8:
      return load<int8_t>(at);
    case ETB_DTYPE_UINT8:
      return load<uint8_t>(at);
    case ETB_DTYPE_FLOAT16: {
      uint16_t bits;
      std::memcpy(&bits, at, sizeof bits);
      return half_to_float(bits);
    }
    default:
      return NAN;
  }
}

bool is_readable(etb_dtype dtype) {
  const std::byte zeros[8] = {};
  return !std::isnan(load_float(dtype, zeros));
}

Result<Bytes> to_bytes(const std::vector<float>& values, etb_dtype dtype) {
  std::vector<std::byte> out(values.size() * element_nbytes(dtype));
  if (dtype == ETB_DTYPE_FLOAT32) {
    if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
    return Bytes(std::move(out));
  }
  if (dtype == ETB_DTYPE_FLOAT16) {
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t bits = float_to_half(values[i]);
      std::memcpy(out.data() + 2 * i, &bits, sizeof bits);
    }
    return Bytes(std::move(out));
  }
  return make_error(Code::INTERNAL, "constant of " + std::string(dtype_text(dtype)) + " made of floats");
}

template <class T>
void gather_elements(const Bytes& from, std::vector<std::byte>& to, std::span<const int64_t> sizes,
                     std::span<const int64_t> steps) {
  const size_t rank = sizes.size();
  const auto row_count = rank == 0 ? 1 : sizes[rank - 1];
  const int64_t row_step = rank == 0 ? 0 : steps[rank - 1] * static_cast<int64_t>(sizeof(T));
  std::vector<int64_t> index(rank, 0);
  const std::byte* source = from.data();
  for (std::byte *at = to.data(), *end = at + to.size(); at != end;) {
    const std::byte* element = source;
    for (int64_t i = 0; i < row_count; ++i, element += row_step, at += sizeof(T))
      std::memcpy(at, element, sizeof(T));
    for (size_t d = rank; d-- > 1;) {
      const int64_t step = steps[d - 1] * static_cast<int64_t>(sizeof(T));
      source += step;
      if (++index[d - 1] < sizes[d - 1]) break;
      source -= step * sizes[d - 1];
      index[d - 1] = 0;
    }
  }
}

// Copies elements so that element `at` of the result is element source(at) of `from`. Walks the result in
// order.
Result<Bytes> gather(const Bytes& from, size_t nbytes, std::span<const int64_t> sizes,
                     std::span<const int64_t> steps) {
  const int64_t count = numel_of(sizes);
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) last += steps[d] * (sizes[d] - 1);
  if (static_cast<uint64_t>(last) >= from.size() / nbytes)
    return make_error(Code::INVALID_DATA, "constant of " + std::to_string(from.size() / nbytes) +
                                              " elements, expected " + std::to_string(last + 1));
  std::vector<std::byte> out(static_cast<size_t>(count) * nbytes);
  if (nbytes == 1) gather_elements<uint8_t>(from, out, sizes, steps);
  if (nbytes == 2) gather_elements<uint16_t>(from, out, sizes, steps);
  if (nbytes == 4) gather_elements<uint32_t>(from, out, sizes, steps);
  if (nbytes == 8) gather_elements<uint64_t>(from, out, sizes, steps);
  return Bytes(std::move(out));
}

std::vector<int64_t> strides_of(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= sizes[d];
  }
  return strides;
}

ConstantPtr gathered(const ConstantPtr& from, std::vector<int64_t> sizes, std::vector<int64_t> steps) {
  auto made = std::make_shared<Constant>();
  made->dtype = from->dtype;
  made->sizes = sizes;
  made->read = [from, sizes = std::move(sizes), steps = std::move(steps)]() -> Result<Bytes> {
    ETB_ASSIGN(const Bytes bytes, from->read());
    return gather(bytes, element_nbytes(from->dtype), sizes, steps);
  };
  return made;
}

}  // namespace

int64_t numel_of(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

Result<std::vector<float>> read_floats(const Constant& constant) {
  const size_t nbytes = element_nbytes(constant.dtype);  // 0 for dtypes smaller than a byte
  if (nbytes == 0 || !is_readable(constant.dtype))
    return make_error(Code::NOT_SUPPORTED, "constant of " + std::string(dtype_text(constant.dtype)));
  ETB_ASSIGN(const Bytes bytes, constant.read());
  std::vector<float> values(bytes.size() / nbytes);
  if (constant.dtype == ETB_DTYPE_FLOAT32) {
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
  }
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = load_float(constant.dtype, bytes.data() + i * nbytes);
  return values;
}

ConstantPtr make_floats(std::vector<int64_t> sizes, std::vector<float> values, etb_dtype dtype) {
  auto made = std::make_shared<Constant>();
  made->dtype = dtype;
  made->sizes = std::move(sizes);
  made->read = [values = std::move(values), dtype] { return to_bytes(values, dtype); };
  return made;
}

ConstantPtr reshaped(const ConstantPtr& constant, std::vector<int64_t> sizes) {
  auto made = std::make_shared<Constant>(*constant);
  made->sizes = std::move(sizes);
  return made;
}

ConstantPtr transposed(const ConstantPtr& constant, std::span<const uint32_t> order) {
  const std::vector<int64_t> strides = strides_of(constant->sizes);
  std::vector<int64_t> sizes, steps;
  for (const uint32_t dim : order) {
    sizes.push_back(constant->sizes[dim]);
    steps.push_back(strides[dim]);
  }
  return gathered(constant, std::move(sizes), std::move(steps));
}

ConstantPtr converted(const ConstantPtr& constant, etb_dtype dtype) {
  if (constant->dtype == dtype) return constant;
  return computed({constant}, constant->sizes, dtype, [](const auto& from) { return from[0]; });
}

ConstantPtr expanded(const ConstantPtr& constant, std::vector<int64_t> sizes) {
  const std::vector<int64_t> strides = strides_of(constant->sizes);
  const size_t missing = sizes.size() - constant->sizes.size();
  std::vector<int64_t> steps(sizes.size(), 0);
  for (size_t d = 0; d < strides.size(); ++d) {
    if (constant->sizes[d] != 1) steps[missing + d] = strides[d];
  }
  return gathered(constant, std::move(sizes), std::move(steps));
}

ConstantPtr packed_four_bits(const ConstantPtr& constant) {
  auto made = std::make_shared<Constant>();
  made->dtype = constant->dtype;
  made->sizes = constant->sizes;
  made->read = [constant]() -> Result<Bytes> {
    ETB_ASSIGN(const Bytes bytes, constant->read());
    const auto columns = static_cast<size_t>(constant->sizes.back());
    const size_t row_nbytes = (columns + 1) / 2;
    std::vector<std::byte> out(bytes.size() / columns * row_nbytes, std::byte{8 << 4});
    for (size_t i = 0; i < bytes.size(); ++i) {
      const int value = static_cast<int8_t>(bytes[i]);
      if (value < -8 || value > 7)
        return make_error(Code::INVALID_DATA, "element " + std::to_string(i) + " is " +
                                                  std::to_string(value) + ", expected 4 bits");
      const size_t column = i % columns;
      std::byte& place = out[i / columns * row_nbytes + column / 2];
      const auto bits = static_cast<std::byte>(value + 8);
      place = column % 2 == 0 ? (place & std::byte{0xf0}) | bits : (place & std::byte{0x0f}) | (bits << 4);
    }
    return Bytes(std::move(out));
  };
  return made;
}

ConstantPtr computed(std::vector<ConstantPtr> from, std::vector<int64_t> sizes, etb_dtype dtype,
                     FloatFunction function) {
  auto made = std::make_shared<Constant>();
  made->dtype = dtype;
  made->sizes = std::move(sizes);
  made->read = [from = std::move(from), dtype, function = std::move(function)]() -> Result<Bytes> {
    std::vector<std::vector<float>> values;
    for (const ConstantPtr& constant : from) {
      ETB_ASSIGN(std::vector<float> floats, read_floats(*constant));
      values.push_back(std::move(floats));
    }
    return to_bytes(function(std::move(values)), dtype);
  };
  return made;
}

}  // namespace etb::xnnpack
