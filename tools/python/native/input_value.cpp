// SPDX-License-Identifier: Apache-2.0
#include "input_value.hpp"

#include <nanobind/ndarray.h>

#include <cstring>
#include <numeric>
#include <string>

#include "frameworks.hpp"
#include "python_error.hpp"

namespace etb::python {

namespace nb = nanobind;

struct ManagedTensor {
  nb::dlpack::dltensor tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor*);
};

namespace {

constexpr int32_t kCpu = 1, kPinnedHost = 3;  // DLPack's devices in host memory

[[noreturn]] void reject(uint32_t index, const std::string& text, const char* reason = "python.value") {
  raise_error(ETB_INVALID_ARGUMENT, reason, "input " + std::to_string(index) + ": " + text);
}

std::string python_type_name(nb::handle object) {
  return nb::cast<std::string>(
      nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__")));
}

// Replaces Python's pending exception by etbackend.Error, with its text.
[[noreturn]] void reject_with_cause(uint32_t index, const std::string& text) {
  const nb::python_error cause;
  reject(index, text + ": " + nb::cast<std::string>(nb::str(cause.value())) +
                    "\nhint: pass a dense tensor in host memory, as .detach().cpu() returns");
}

// The dtype of a struct code of the buffer protocol, such as "f" or "<i8"; -1: none.
etb_dtype dtype_of_format(const char* format, Py_ssize_t item) {
  if (format == nullptr) return ETB_DTYPE_UINT8;
  if (*format == '@' || *format == '=' || (*format == '<' && std::endian::native == std::endian::little))
    ++format;
  if (format[0] == 0 || format[1] != 0) return -1;
  if (format[0] == '?') return ETB_DTYPE_BOOL;
  if (std::strchr("bhilq", format[0]) != nullptr) {
    return item == 1   ? ETB_DTYPE_INT8
           : item == 2 ? ETB_DTYPE_INT16
           : item == 4 ? ETB_DTYPE_INT32
                       : ETB_DTYPE_INT64;
  }
  if (std::strchr("BHILQ", format[0]) != nullptr) {
    return item == 1   ? ETB_DTYPE_UINT8
           : item == 2 ? ETB_DTYPE_UINT16
           : item == 4 ? ETB_DTYPE_UINT32
                       : ETB_DTYPE_UINT64;
  }
  if (std::strchr("efd", format[0]) != nullptr) {
    return item == 2 ? ETB_DTYPE_FLOAT16 : item == 4 ? ETB_DTYPE_FLOAT32 : ETB_DTYPE_FLOAT64;
  }
  return -1;
}

etb_dtype dtype_of_dlpack(nb::dlpack::dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  if (dtype.lanes != 1) return -1;
  const auto by_bits = [&](etb_dtype b8, etb_dtype b16, etb_dtype b32, etb_dtype b64) -> etb_dtype {
    return dtype.bits == 8    ? b8
           : dtype.bits == 16 ? b16
           : dtype.bits == 32 ? b32
           : dtype.bits == 64 ? b64
                              : -1;
  };
  switch (static_cast<Code>(dtype.code)) {
    case Code::Int:
      return by_bits(ETB_DTYPE_INT8, ETB_DTYPE_INT16, ETB_DTYPE_INT32, ETB_DTYPE_INT64);
    case Code::UInt:
      return by_bits(ETB_DTYPE_UINT8, ETB_DTYPE_UINT16, ETB_DTYPE_UINT32, ETB_DTYPE_UINT64);
    case Code::Float:
      return by_bits(-1, ETB_DTYPE_FLOAT16, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64);
    case Code::Bfloat:
      return by_bits(-1, ETB_DTYPE_BFLOAT16, -1, -1);
    case Code::Bool:
      return by_bits(ETB_DTYPE_BOOL, -1, -1, -1);
    case Code::Float8_E4M3FN:
      return ETB_DTYPE_FLOAT8E4M3FN;
    case Code::Float8_E5M2:
      return ETB_DTYPE_FLOAT8E5M2;
    case Code::Float8_E4M3FNUZ:
      return ETB_DTYPE_FLOAT8E4M3FNUZ;
    case Code::Float8_E5M2FNUZ:
      return ETB_DTYPE_FLOAT8E5M2FNUZ;
    default:
      return -1;
  }
}

}  // namespace

uint32_t element_nbytes(etb_dtype dtype) {
  switch (dtype) {
#define ETB_DTYPE(name, value, bits, text) \
  case value:                              \
    return (bits) / 8;
#include "etb/dtype.def"
#undef ETB_DTYPE
    default:
      return 0;
  }
}

InputValue::~InputValue() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
  if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
}

void InputValue::read(nb::handle given, uint32_t index, const Spec* spec) {
  if (read_number(given, index, spec)) return;
  PyObject* const object = given.ptr();
  if (is_torch_tensor(given)) {
    is_torch_ = true;
    read_dlpack(given, index, spec);
  } else if (PyObject_CheckBuffer(object) != 0 && !PyBytes_Check(object) && !PyByteArray_Check(object)) {
    read_buffer(given, index, spec);
  } else if (nb::hasattr(given, "__dlpack__")) {
    read_dlpack(given, index, spec);
  } else {
    reject(index,
           "a value of type '" + python_type_name(given) +
               "', expected an array (NumPy, PyTorch, or any with __dlpack__), int, float, bool or None");
  }
}

// Reads None, numbers, and arrays of one element where the method expects a number.
bool InputValue::read_number(nb::handle given, uint32_t index, const Spec* spec) {
  PyObject* const object = given.ptr();
  const uint32_t wanted = spec == nullptr ? ETB_VALUE_TENSOR : spec->kind;
  const bool is_plain = PyBool_Check(object) || PyLong_Check(object) || PyFloat_Check(object);
  if (object == Py_None || (PyUnicode_Check(object) && wanted == ETB_VALUE_NONE))
    return true;  // a text is fixed, as None
  if (!is_plain && (wanted < ETB_VALUE_INT || wanted > ETB_VALUE_BOOL || PyUnicode_Check(object)))
    return false;
  if (PyBool_Check(object) || (!is_plain && wanted == ETB_VALUE_BOOL)) {
    value_.kind = ETB_VALUE_BOOL;
    value_.boolean = PyObject_IsTrue(object) == 1 ? 1 : 0;
  } else if (PyFloat_Check(object) || (!is_plain && wanted == ETB_VALUE_DOUBLE)) {
    value_.kind = ETB_VALUE_DOUBLE;
    value_.real = PyFloat_AsDouble(object);
  } else {
    const nb::object number = nb::steal(PyNumber_Index(object));
    if (number.is_valid()) value_.integer = PyLong_AsLongLong(number.ptr());
    value_.kind = ETB_VALUE_INT;
  }
  if (PyErr_Occurred() != nullptr) {
    const nb::python_error cause;
    reject(index, "a number of type '" + python_type_name(given) +
                      "': " + nb::cast<std::string>(nb::str(cause.value())));
  }
  return true;
}

void InputValue::read_buffer(nb::handle given, uint32_t index, const Spec* spec) {
  if (PyObject_GetBuffer(given.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0)
    reject_with_cause(index, "a value of type '" + python_type_name(given) + "' without a buffer");
  has_buffer_ = true;
  const etb_dtype dtype = dtype_of_format(buffer_.format, buffer_.itemsize);
  if (dtype < 0 || element_nbytes(dtype) != buffer_.itemsize) {
    reject(index,
           std::string("elements of format '") + (buffer_.format == nullptr ? "" : buffer_.format) +
               "', expected native numbers of a dtype that programs have\nhint: array.astype(\"float32\")",
           "python.dtype");
  }
  const auto rank = static_cast<size_t>(buffer_.ndim);
  if (rank > ETB_MAX_RANK)
    reject(index, "an array of rank " + std::to_string(rank) + ", expected at most 16");
  std::array<int64_t, ETB_MAX_RANK> sizes{};
  std::array<int64_t, ETB_MAX_RANK> strides{};
  for (size_t i = 0; i < rank; ++i) sizes[i] = buffer_.shape[i], strides[i] = buffer_.strides[i];
  set_tensor(buffer_.buf, dtype, {sizes.data(), rank}, {strides.data(), rank}, spec);
}

void InputValue::read_dlpack(nb::handle given, uint32_t index, const Spec* spec) {
  const nb::object capsule =
      is_torch_ ? torch_to_dlpack(given) : nb::steal(PyObject_CallMethod(given.ptr(), "__dlpack__", nullptr));
  if (!capsule.is_valid())
    reject_with_cause(index,
                      "a tensor of type '" + python_type_name(given) + "' that DLPack does not export");
  auto* const managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr)
    reject_with_cause(index, "a tensor of type '" + python_type_name(given) + "' of another DLPack version");
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // from here on the tensor is ours
  managed_ = managed;
  const nb::dlpack::dltensor& tensor = managed->tensor;
  if (tensor.device.device_type != kCpu && tensor.device.device_type != kPinnedHost)
    reject(index, "a tensor on a device (DLPack's type " + std::to_string(tensor.device.device_type) +
                      "), expected host memory\nhint: tensor.cpu()");
  const etb_dtype dtype = dtype_of_dlpack(tensor.dtype);
  if (dtype < 0)
    reject(index,
           "elements of DLPack's type " + std::to_string(tensor.dtype.code) + " with " +
               std::to_string(tensor.dtype.bits) + " bits, which programs do not have",
           "python.dtype");
  const auto rank = static_cast<size_t>(tensor.ndim);
  if (rank > ETB_MAX_RANK)
    reject(index, "a tensor of rank " + std::to_string(rank) + ", expected at most 16");
  const int64_t item = element_nbytes(dtype);
  std::array<int64_t, ETB_MAX_RANK> strides{};
  int64_t packed = item;
  for (size_t i = rank; i-- > 0; packed *= tensor.shape[i])
    strides[i] = tensor.strides == nullptr ? packed : tensor.strides[i] * item;
  set_tensor(static_cast<const std::byte*>(tensor.data) + tensor.byte_offset, dtype, {tensor.shape, rank},
             {strides.data(), rank}, spec);
}

void InputValue::set_tensor(const void* data, etb_dtype dtype, std::span<const int64_t> sizes,
                            std::span<const int64_t> byte_strides, const Spec* spec) {
  const auto rank = static_cast<uint32_t>(sizes.size());
  const uint32_t item = element_nbytes(dtype);
  const bool has_order = spec != nullptr && spec->dim_order.size() == rank;
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  std::array<int64_t, ETB_MAX_RANK> packed{};
  int64_t nbytes = item;
  bool is_packed = true;
  for (uint32_t i = rank; i-- > 0;) {  // innermost first
    const uint32_t dim = has_order ? spec->dim_order[i] : i;
    packed[dim] = nbytes;
    is_packed = is_packed && (sizes[dim] <= 1 || byte_strides[dim] == nbytes);
    nbytes *= sizes[dim];
  }
  value_ =
      etb_value_tensor(dtype, rank, sizes_.data(), const_cast<void*>(data), static_cast<uint64_t>(nbytes));
  if (has_order) value_.tensor.dim_order = spec->dim_order.data();
  if (is_packed || nbytes == 0) return;
  pack(static_cast<const std::byte*>(data), byte_strides, {packed.data(), rank}, static_cast<size_t>(nbytes),
       item);
  value_.tensor.data = packed_.get();
}

// Copies elements of any strides to where `packed` strides want them.
void InputValue::pack(const std::byte* data, std::span<const int64_t> byte_strides,
                      std::span<const int64_t> packed, size_t nbytes, uint32_t item) {
  packed_ = std::make_unique_for_overwrite<std::byte[]>(nbytes);
  std::array<int64_t, ETB_MAX_RANK> at{};
  const size_t rank = packed.size();
  for (size_t count = nbytes / item; count > 0; --count) {
    int64_t from = 0, to = 0;
    for (size_t i = 0; i < rank; ++i) from += at[i] * byte_strides[i], to += at[i] * packed[i];
    std::memcpy(packed_.get() + to, data + from, item);
    for (size_t i = rank; i-- > 0;) {
      if (++at[i] < sizes_[i]) break;
      at[i] = 0;
    }
  }
}

}  // namespace etb::python
