// SPDX-License-Identifier: Apache-2.0
#include "frameworks.hpp"

#include <array>
#include <string>

#include "dtypes.hpp"
#include "python_error.hpp"

namespace etb::python {
namespace {

namespace nb = nanobind;

// Objects found once and never released: they live as long as the interpreter.
struct Found {
  PyObject* torch_type = nullptr;  // torch.Tensor
  PyObject* torch_to_dlpack = nullptr;
  std::array<PyObject*, 2> empty{};  // numpy.empty, torch.empty
  PyObject* dtype_keyword = nullptr;
  std::array<std::array<PyObject*, 32>, 2> dtypes{};
};
Found& found() {
  static Found it;
  return it;
}

// NumPy's own dtypes and those of ml_dtypes; an invalid object if there is none.
nb::object find_numpy_dtype(const char* name) {
  const nb::object numpy = nb::module_::import_("numpy");
  try {
    return numpy.attr("dtype")(name);
  } catch (const nb::python_error&) {
  }
  try {
    return numpy.attr("dtype")(nb::module_::import_("ml_dtypes").attr(name));
  } catch (const nb::python_error&) {
    return {};
  }
}

nb::object find_torch_dtype(const char* name) {
  const nb::object torch = nb::module_::import_("torch");
  return nb::hasattr(torch, name) ? nb::object(torch.attr(name)) : nb::object();
}

PyObject* dtype_object(Framework framework, etb_dtype dtype, uint32_t output_index) {
  PyObject*& slot = found().dtypes[static_cast<size_t>(framework)][static_cast<uint32_t>(dtype) & 31];
  if (slot != nullptr) return slot;
  const bool is_numpy = framework == Framework::kNumpy;
  nb::object made = is_numpy ? find_numpy_dtype(name_of(dtype)) : find_torch_dtype(name_of(dtype));
  if (!made.is_valid())
    raise_error(ETB_NOT_SUPPORTED, "python.dtype",
                "output " + std::to_string(output_index) + ": dtype " + name_of(dtype) + ", which " +
                    (is_numpy ? "NumPy lacks\nhint: framework=\"torch\", or install ml_dtypes"
                              : "this PyTorch lacks"));
  return slot = made.release().ptr();
}

PyObject* empty_function(Framework framework) {
  PyObject*& slot = found().empty[static_cast<size_t>(framework)];
  if (slot == nullptr)
    slot = nb::object(nb::module_::import_(framework == Framework::kNumpy ? "numpy" : "torch").attr("empty"))
               .release()
               .ptr();
  return slot;
}

void* data_of_torch(nb::handle tensor) {
  return reinterpret_cast<void*>(nb::cast<uintptr_t>(tensor.attr("data_ptr")()));
}

void* data_of_numpy(nb::handle array) {
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_SIMPLE | PyBUF_WRITABLE) != 0) {
    // Dtypes of ml_dtypes have no buffer protocol.
    PyErr_Clear();
    return reinterpret_cast<void*>(nb::cast<uintptr_t>(array.attr("ctypes").attr("data")));
  }
  void* const data = view.buf;
  PyBuffer_Release(&view);  // the caller keeps the array, and nothing else resizes it meanwhile
  return data;
}

}  // namespace

bool is_torch_tensor(nb::handle object) {
  Found& it = found();
  if (it.torch_type == nullptr) {
    const nb::dict modules = nb::borrow<nb::dict>(nb::module_::import_("sys").attr("modules"));
    if (!modules.contains("torch")) return false;
    const nb::object torch = modules["torch"];
    if (!nb::hasattr(torch, "Tensor")) return false;  // still being imported
    it.torch_type = nb::object(torch.attr("Tensor")).release().ptr();
  }
  return PyObject_IsInstance(object.ptr(), it.torch_type) == 1;
}

nb::object torch_to_dlpack(nb::handle tensor) {
  Found& it = found();
  if (it.torch_to_dlpack == nullptr)
    it.torch_to_dlpack =
        nb::object(nb::module_::import_("torch.utils.dlpack").attr("to_dlpack")).release().ptr();
  // A tensor with the negative bit has other values than its memory.
  nb::object plain = nb::borrow(tensor);
  const nb::object is_negative = nb::steal(PyObject_CallMethod(tensor.ptr(), "is_neg", nullptr));
  if (!is_negative.is_valid()) return {};
  if (is_negative.ptr() == Py_True)
    plain = nb::steal(PyObject_CallMethod(tensor.ptr(), "resolve_neg", nullptr));
  PyObject* const arguments[] = {plain.ptr()};
  return nb::steal(PyObject_Vectorcall(it.torch_to_dlpack, arguments, 1, nullptr));
}

NewArray make_array(Framework framework, etb_dtype dtype, std::span<const int64_t> sizes,
                    uint32_t output_index) {
  Found& it = found();
  if (it.dtype_keyword == nullptr) it.dtype_keyword = Py_BuildValue("(s)", "dtype");
  const nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(sizes.size())));
  for (size_t i = 0; i < sizes.size(); ++i)
    PyTuple_SetItem(shape.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  PyObject* const arguments[] = {shape.ptr(), dtype_object(framework, dtype, output_index)};
  nb::object array =
      nb::steal(PyObject_Vectorcall(empty_function(framework), arguments, 1, it.dtype_keyword));
  if (!array.is_valid()) throw nb::python_error();
  void* const data = framework == Framework::kTorch ? data_of_torch(array) : data_of_numpy(array);
  return {std::move(array), data};
}

}  // namespace etb::python
