// SPDX-License-Identifier: Apache-2.0
#include "host/application/values.hpp"

#include <algorithm>
#include <string>

#include "etb/cpp/guard.hpp"

namespace etb::host {
namespace {

template <class T>
std::string format_numbers(std::span<const T> numbers) {
  std::string text = "[";
  for (const T number : numbers) text += (text.size() == 1 ? "" : ", ") + std::to_string(number);
  return text + "]";
}

}  // namespace

Status InputValue::read(const etb_value& given, uint32_t index) {
  Status status = read_value(given);
  if (status) return status;
  return tl::make_unexpected(with_context(std::move(status).error(), "input " + std::to_string(index)));
}

Status InputValue::read_value(const etb_value& given) {
  ETB_TRY(ETB_ACCEPT(etb_value, &given, tensor));
  switch (given.kind) {
    case ETB_VALUE_NONE:
      value_ = EValue();
      return {};
    case ETB_VALUE_INT:
      value_ = EValue(given.integer);
      return {};
    case ETB_VALUE_DOUBLE:
      value_ = EValue(given.real);
      return {};
    case ETB_VALUE_BOOL:
      value_ = EValue(given.boolean != 0);
      return {};
    case ETB_VALUE_TENSOR:
      return read_tensor(given.tensor);
    default:
      return make_error(Code::INVALID_ARGUMENT,
                        "value of kind " + std::to_string(given.kind) + ", expected 0 to 4");
  }
}

Status InputValue::read_tensor(const etb_tensor& from) {
  ETB_TRY(ETB_ACCEPT(etb_tensor, &from, reserved_pointer));
  if (from.rank > ETB_MAX_RANK || (from.rank != 0 && from.sizes == nullptr)) {
    return make_error(Code::INVALID_ARGUMENT,
                      "tensor of rank " + std::to_string(from.rank) + " without as many sizes");
  }
  if (!is_known(from.dtype) || from.buffer != nullptr) {
    return make_error(Code::INVALID_ARGUMENT,
                      "tensor of dtype " + std::to_string(from.dtype) + ", or not in host memory");
  }
  const std::span<const int64_t> sizes(from.sizes, from.rank);
  const std::span<const uint8_t> order(from.dim_order, from.dim_order == nullptr ? 0 : from.rank);
  uint32_t seen = 0;
  for (const uint8_t dim : order) seen |= dim < from.rank ? 1U << dim : 0;
  int64_t numel = 0;
  if (!count_elements(sizes, &numel)) {
    return make_error(Code::INVALID_ARGUMENT,
                      "tensor of sizes " + format_numbers(sizes) + ": a negative size, or too many elements");
  }
  if (!order.empty() && seen != (1U << from.rank) - 1) {
    return make_error(Code::INVALID_ARGUMENT, "tensor of dim order " + format_numbers(order) +
                                                  ", expected each of " + std::to_string(from.rank) +
                                                  " dimensions once");
  }
  const auto dtype = static_cast<Dtype>(from.dtype);
  uint64_t nbytes = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(numel), element_nbytes(dtype), &nbytes) ||
      nbytes > from.capacity_bytes) {
    return make_error(Code::INVALID_ARGUMENT, "tensor memory of " + std::to_string(from.capacity_bytes) +
                                                  " bytes, its sizes need more");
  }
  tensor_ = storage_.make(dtype, sizes, from.data, from.capacity_bytes, order);
  for (uint32_t dim = 0; from.strides != nullptr && dim < from.rank; ++dim) {
    if (from.sizes[dim] > 1 && from.strides[dim] != tensor_.stride(static_cast<int>(dim))) {
      return make_error(Code::NOT_SUPPORTED, "tensor whose strides are not those of its dim order");
    }
  }
  value_ = EValue(&tensor_);
  return {};
}

void put_spec(const format::ValueView& spec, SpecArrays& arrays, etb_value& out) {
  using format::ValueKind;
  switch (spec.kind()) {
    case ValueKind::kNull:
      out.kind = ETB_VALUE_NONE;
      return;
    case ValueKind::kInt:
      out.kind = ETB_VALUE_INT;
      return;
    case ValueKind::kDouble:
      out.kind = ETB_VALUE_DOUBLE;
      return;
    case ValueKind::kBool:
      out.kind = ETB_VALUE_BOOL;
      return;
    case ValueKind::kTensor:
      break;
    default:
      out.kind = ETB_VALUE_OTHER;
      return;
  }
  const auto record = spec.as_tensor();
  std::copy(record.sizes.begin(), record.sizes.end(), arrays.sizes.begin());
  std::copy(record.dim_order.begin(), record.dim_order.end(), arrays.dim_order.begin());
  out.kind = ETB_VALUE_TENSOR;
  out.tensor.dtype = record.dtype;
  out.tensor.rank = static_cast<uint32_t>(record.sizes.size());
  out.tensor.sizes = arrays.sizes.data();
  out.tensor.dim_order = arrays.dim_order.data();
  if (record.dynamism != format::Dynamism::kStatic) out.tensor.upper_sizes = arrays.sizes.data();
  out.tensor.capacity_bytes = record.nbytes;
}

void put_value(const EValue& value, etb_value& out) {
  switch (value.tag()) {
    case Tag::kNone:
      out.kind = ETB_VALUE_NONE;
      return;
    case Tag::kInt:
      out.kind = ETB_VALUE_INT;
      out.integer = value.to_int();
      return;
    case Tag::kDouble:
      out.kind = ETB_VALUE_DOUBLE;
      out.real = value.to_double();
      return;
    case Tag::kBool:
      out.kind = ETB_VALUE_BOOL;
      out.boolean = value.to_bool() ? 1 : 0;
      return;
    case Tag::kTensor:
      break;
    default:
      out.kind = ETB_VALUE_OTHER;
      return;
  }
  const auto& tensor = value.tensor();
  out.kind = ETB_VALUE_TENSOR;
  out.tensor.dtype = static_cast<etb_dtype>(tensor.dtype());
  out.tensor.rank = static_cast<uint32_t>(tensor.rank());
  // etb_tensor is shared with plugins, which write sizes. An application only reads them.
  out.tensor.sizes = const_cast<int64_t*>(tensor.sizes().data());
  out.tensor.strides = tensor.strides().data();
  out.tensor.dim_order = tensor.dim_order().data();
  out.tensor.data = tensor.data();
  out.tensor.capacity_bytes = tensor.capacity_bytes();
}

}  // namespace etb::host
