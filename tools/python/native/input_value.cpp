// SPDX-License-Identifier: Apache-2.0
#include "input_value.hpp"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "dtypes.hpp"
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

// Replaces Python's pending exception by etbackend.Error, with its text: "a tensor of type 'X' <problem>: <exception>".
[[noreturn]] void reject_with_cause(uint32_t index, nb::handle given, const char* problem) {
  const nb::python_error cause;
  reject(index, "a tensor of type '" + python_type_name(given) + "' " + problem + ": " +
                    nb::cast<std::string>(nb::str(cause.value())) +
                    "\nhint: pass a dense tensor in host memory, as .detach().cpu() returns");
}

// False for a tensor that the method rejects: it is not packed, because its sizes may be of any magnitude (an array that
// repeats one element has as many as it likes). The library compares them first, and its error has them.
bool may_fit(const Spec* spec, etb_dtype dtype, std::span<const int64_t> sizes) {
  if (spec == nullptr || spec->kind != ETB_VALUE_TENSOR || spec->dtype != dtype ||
      spec->sizes.size() != sizes.size())
    return false;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0 || sizes[i] > spec->sizes[i]) return false;
  return true;
}

}  // namespace

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
    reject_with_cause(index, given, "without a buffer");
  has_buffer_ = true;
  const etb_dtype dtype = dtype_of_format(buffer_.format, buffer_.itemsize);
  if (dtype < 0 || element_nbytes(dtype) != buffer_.itemsize) {
    reject(index,
           std::string("elements of format '") + (buffer_.format == nullptr ? "" : buffer_.format) +
               "', expected native numbers of a dtype that programs have" +
               (buffer_.format != nullptr && std::strchr(">!<", *buffer_.format) != nullptr
                    ? "\nhint: array.astype(array.dtype.newbyteorder(\"=\"))"
                    : ""),
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
  if (!capsule.is_valid()) reject_with_cause(index, given, "that DLPack does not export");
  auto* const managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) reject_with_cause(index, given, "of another DLPack version");
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
    reject(index, "a tensor of rank " + std::to_string(tensor.ndim) + ", expected at most 16");
  if (rank != 0 && tensor.shape == nullptr) reject(index, "a DLPack tensor without sizes");
  // Unsigned: another library's numbers may overflow, and such sizes fit no method.
  const uint64_t item = element_nbytes(dtype);
  std::array<int64_t, ETB_MAX_RANK> strides{};
  uint64_t packed = item;
  for (size_t i = rank; i-- > 0; packed *= static_cast<uint64_t>(tensor.shape[i]))
    strides[i] = static_cast<int64_t>(
        tensor.strides == nullptr ? packed : static_cast<uint64_t>(tensor.strides[i]) * item);
  const auto* const data = static_cast<const std::byte*>(tensor.data);
  set_tensor(data == nullptr ? nullptr : data + tensor.byte_offset, dtype, {tensor.shape, rank},
             {strides.data(), rank}, spec);
}

void InputValue::set_tensor(const void* data, etb_dtype dtype, std::span<const int64_t> sizes,
                            std::span<const int64_t> byte_strides, const Spec* spec) {
  const auto rank = static_cast<uint32_t>(sizes.size());
  const uint32_t item = element_nbytes(dtype);
  const bool has_order = spec != nullptr && spec->dim_order.size() == rank;
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  if (!may_fit(spec, dtype, sizes)) {
    value_ = etb_value_tensor(dtype, rank, sizes_.data(), const_cast<void*>(data), UINT64_MAX);
    return;
  }
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
  if (is_packed || nbytes == 0 || data == nullptr) return;
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
