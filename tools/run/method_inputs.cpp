// SPDX-License-Identifier: Apache-2.0
#include "tools/run/method_inputs.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <random>

#include "api/format/input_file.hpp"
#include "host/runtime/float16.hpp"
#include "tools/file_kind.hpp"
#include "tools/run/npy.hpp"

namespace etb::tools {

namespace {

using format::ValueKind;
using host::Dtype;
using host::EValue;

std::vector<int64_t> sizes_of(const format::TensorRecord& record) {
  return {record.sizes.begin(), record.sizes.end()};
}
std::vector<uint8_t> order_of(const format::TensorRecord& record) {
  return {record.dim_order.begin(), record.dim_order.end()};
}

// Rounds towards zero, clamps to int64, and returns 0 for NaN.
int64_t to_whole(double real) {
  if (std::isnan(real)) return 0;
  if (real >= 0x1p63) return INT64_MAX;
  return real <= -0x1p63 ? INT64_MIN : static_cast<int64_t>(real);
}

template <class T>
void put(std::span<std::byte> bytes, size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

// Writes `real` (for floats) or `whole` (for other dtypes) as element `index`.
void put_element(std::span<std::byte> bytes, Dtype dtype, size_t index, double real, int64_t whole) {
  switch (dtype) {
    case Dtype::FLOAT16:
      return put(bytes, index, host::to_half(static_cast<float>(real)));
    case Dtype::BFLOAT16:
      return put(bytes, index, host::to_bfloat16(static_cast<float>(real)));
    case Dtype::FLOAT32:
      return put(bytes, index, static_cast<float>(real));
    case Dtype::FLOAT64:
      return put(bytes, index, real);
    case Dtype::BOOL:
      return put(bytes, index, static_cast<uint8_t>(whole & 1));
    default:
      break;
  }
  // Little-endian, and the number is small: its low bytes are the element.
  std::memcpy(bytes.data() + index * host::element_nbytes(dtype), &whole, host::element_nbytes(dtype));
}

Result<std::vector<int64_t>> parse_shape(const std::string& text) {
  std::vector<int64_t> sizes;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0 || (next != end && *next != 'x')) {
      return make_error(Code::INVALID_ARGUMENT, fmt::format("shape '{}', expected sizes as in 1x98", text));
    }
    sizes.push_back(size);
    if (next == end) return sizes;
    at = next + 1;
  }
}

}  // namespace

std::optional<EValue> parse_number(const std::string& text) {
  if (text == "true" || text == "false") return EValue(text == "true");
  const char* end = text.data() + text.size();
  int64_t whole = 0;
  if (const auto [next, error] = std::from_chars(text.data(), end, whole);
      error == std::errc() && next == end) {
    return EValue(whole);
  }
  double real = 0;
  if (const auto [next, error] = std::from_chars(text.data(), end, real);
      error == std::errc() && next == end) {
    return EValue(real);
  }
  return std::nullopt;
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

Status MethodInputs::set_shapes(const std::string& text) {
  const std::vector<std::string> parts = split_commas(text);
  if (parts.size() != count()) {
    return make_error(
        Code::INVALID_ARGUMENT,
        fmt::format("{} shapes given, the method has {} inputs\nhint: leave an entry empty for the "
                    "largest sizes of its input",
                    parts.size(), count()));
  }
  shapes_.resize(count());
  for (uint32_t i = 0; i < count(); ++i) {
    if (parts[i].empty()) continue;
    if (const auto kind = meta_.input(i).kind(); kind != ValueKind::kTensor) {
      return make_error(
          Code::INVALID_ARGUMENT,
          fmt::format("input {}: shape '{}' for a {}, expected a tensor", i, parts[i], to_text(kind)));
    }
    ETB_ASSIGN(shapes_[i], parse_shape(parts[i]));
    const size_t rank = meta_.input(i).as_tensor().sizes.size();
    if (shapes_[i]->size() != rank) {
      return make_error(Code::INVALID_ARGUMENT,
                        fmt::format("input {}: shape '{}', expected {} sizes", i, parts[i], rank));
    }
  }
  return {};
}

// Returns an array of the requested sizes, without bytes.
Array MethodInputs::make_array(uint32_t index) const {
  const auto record = meta_.input(index).as_tensor();
  const bool is_shaped = !shapes_.empty() && shapes_[index];
  return {
      static_cast<Dtype>(record.dtype), is_shaped ? *shapes_[index] : sizes_of(record), order_of(record), {}};
}

Status MethodInputs::check_index(uint32_t index) const {
  if (index < count()) return {};
  return make_error(Code::INVALID_ARGUMENT,
                    fmt::format("input {}: the method has {} inputs", index, count()));
}

// Returns twice the input's own bytes, as float32 is accepted for bfloat16, plus some. A file that is
// slightly too large then gets a message with its sizes.
uint64_t MethodInputs::max_file_nbytes(uint32_t index) const {
  constexpr uint64_t kForAnyInput = uint64_t{1} << 20;
  if (index >= count() || meta_.input(index).kind() != ValueKind::kTensor) return kForAnyInput;
  const uint64_t nbytes = meta_.input(index).as_tensor().nbytes;
  return nbytes > UINT64_MAX / 4 ? nbytes : 2 * nbytes + kForAnyInput;
}

Status MethodInputs::set_text(uint32_t index, const std::string& text) {
  ETB_TRY(check_index(index));
  const bool is_standard_input = text.starts_with("/proc/self/fd/");
  if (text.ends_with(".npy") || (is_standard_input && find_file_kind(text) == FileKind::kArray)) {
    ETB_ASSIGN(Array array, read_npy(text, max_file_nbytes(index)));
    return set_array(index, std::move(array));
  }
  if (const auto number = parse_number(text)) return set_number(index, *number);
  const auto spec = meta_.input(index);
  if (spec.kind() == ValueKind::kNull && text == "none") return set_none(index);
  if (spec.kind() != ValueKind::kTensor) {
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("input {}: '{}', expected a {}", index, text, to_text(spec.kind())));
  }
  Array array = make_array(index);
  ETB_ASSIGN(const uint64_t nbytes, count_bytes(array.dtype, array.sizes));
  ETB_ASSIGN(const format::InputFile file, format::InputFile::open(text));
  if (file.nbytes() != nbytes) {
    return make_error(Code::INVALID_DATA,
                      fmt::format("input {}: {} has {} bytes, {} needs {}", index, text, file.nbytes(),
                                  format_shape(array.dtype, array.sizes), nbytes));
  }
  array.bytes.resize(static_cast<size_t>(nbytes));
  ETB_TRY(file.read(0, array.bytes));
  return set_array(index, std::move(array));
}

Status MethodInputs::set_array(uint32_t index, Array array) {
  ETB_TRY(check_index(index));
  const auto spec = meta_.input(index);
  const bool is_single = array.sizes.empty() && spec.kind() != ValueKind::kTensor;
  if (is_single && array.dtype == Dtype::INT64) {
    int64_t whole;
    std::memcpy(&whole, array.bytes.data(), sizeof(whole));
    return set_number(index, EValue(whole));
  }
  if (is_single && array.dtype == Dtype::FLOAT64) {
    double real;
    std::memcpy(&real, array.bytes.data(), sizeof(real));
    return set_number(index, EValue(real));
  }
  if (is_single && array.dtype == Dtype::BOOL)
    return set_number(index, EValue(array.bytes[0] != std::byte{0}));
  if (spec.kind() == ValueKind::kTensor) {
    const auto record = spec.as_tensor();
    if (static_cast<Dtype>(record.dtype) == Dtype::BFLOAT16 && array.dtype == Dtype::FLOAT32) {
      array = round_to_bfloat16(array);
      notes_.push_back(fmt::format("input {}: float32 rounded to bfloat16", index));
    }
    const auto wanted = order_of(record);
    const auto given = array.dim_order.empty() ? row_major(array.sizes.size()) : array.dim_order;
    if (wanted.size() == array.sizes.size() && wanted != given) {
      array = reorder(array, wanted);
      notes_.push_back(fmt::format("input {}: converted to the method's dim order", index));
    }
  }
  auto tensor = std::make_unique<host::OwnedTensor>(array.dtype, array.sizes, array.dim_order);
  if (!array.bytes.empty()) std::memcpy(tensor->bytes().data(), array.bytes.data(), array.bytes.size());
  values_[index] = tensor->value();
  tensors_.push_back(std::move(tensor));
  return {};
}

Status MethodInputs::set_number(uint32_t index, const EValue& number) {
  ETB_TRY(check_index(index));
  // A tensor of rank 0 may be given as a number, too.
  if (const auto spec = meta_.input(index);
      spec.kind() == ValueKind::kTensor && spec.as_tensor().sizes.empty()) {
    const auto dtype = static_cast<Dtype>(spec.as_tensor().dtype);
    Array array{dtype, {}, {}, std::vector<std::byte>(host::element_nbytes(dtype))};
    const int64_t whole = number.is_double() ? to_whole(number.to_double()) : number.to_int();
    put_element(array.bytes, host::real_part(dtype), 0, number.to_double(), whole);
    return set_array(index, std::move(array));
  }
  values_[index] = number;
  return {};
}

Status MethodInputs::set_none(uint32_t index) {
  ETB_TRY(check_index(index));
  values_[index] = EValue();
  return {};
}

template <class Make>
Status MethodInputs::fill(Make make) {
  for (uint32_t i = 0; i < count(); ++i) {
    const auto spec = meta_.input(i);
    const bool is_fixed = meta_.is_fixed_input(i);
    switch (spec.kind()) {
      case ValueKind::kTensor: {
        Array array = make_array(i);
        const Dtype dtype = array.dtype;
        ETB_ASSIGN(const uint64_t nbytes, count_bytes(dtype, array.sizes));
        if (nbytes > spec.as_tensor().nbytes) {
          return make_error(
              Code::INVALID_ARGUMENT,
              fmt::format("input {}: found {}, expected {} at most", i, format_shape(dtype, array.sizes),
                          format_shape(dtype, sizes_of(spec.as_tensor()))));
        }
        array.bytes.resize(static_cast<size_t>(nbytes));
        array.dtype = host::real_part(dtype);  // complex: both parts
        make(array);
        array.dtype = dtype;
        ETB_TRY(set_array(i, std::move(array)));
        break;
      }
      case ValueKind::kInt:
        values_[i] = EValue(is_fixed ? spec.as_int() : int64_t{1});
        break;
      case ValueKind::kDouble:
        values_[i] = EValue(is_fixed ? spec.as_double() : 1.0);
        break;
      case ValueKind::kBool:
        values_[i] = EValue(is_fixed ? spec.as_bool() : true);
        break;
      case ValueKind::kNull:
        values_[i] = EValue();
        break;
      default:
        return make_error(
            Code::NOT_SUPPORTED,
            fmt::format("input {} is a {}, which --ones and --random cannot fill\nhint: pass it with --input",
                        i, to_text(spec.kind())));
    }
  }
  return {};
}

Status MethodInputs::fill_random(uint64_t seed) {
  std::mt19937_64 random(seed);
  return fill([&random](Array& array) {
    const size_t element = host::element_nbytes(array.dtype);
    for (size_t i = 0; i < array.bytes.size() / element; ++i) {
      const uint64_t bits = random();
      put_element(array.bytes, array.dtype, i, static_cast<double>(bits >> 11) * 0x1p-53,
                  static_cast<int64_t>(bits % 8));
    }
  });
}

Status MethodInputs::fill_ones() {
  return fill([](Array& array) {
    const size_t element = host::element_nbytes(array.dtype);
    for (size_t i = 0; i < array.bytes.size() / element; ++i)
      put_element(array.bytes, array.dtype, i, 1.0, 1);
  });
}

}  // namespace etb::tools
