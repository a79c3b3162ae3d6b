// SPDX-License-Identifier: Apache-2.0
#include "output_array.hpp"

#include <array>
#include <cstring>
#include <string>

#include "dtypes.hpp"
#include "python_error.hpp"

namespace etb::python {
namespace {

namespace nb = nanobind;

int64_t numel_of(const etb_tensor& tensor) {
  int64_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) count *= tensor.sizes[i];
  return count;
}

bool is_row_major(const etb_tensor& tensor) {
  for (uint32_t i = 0; i < tensor.rank; ++i)
    if (tensor.dim_order != nullptr && tensor.dim_order[i] != i) return false;
  return true;
}

}  // namespace

void OutputWriter::set_owner(std::shared_ptr<OpenProgram> program, MethodSpecs& method,
                             std::unique_ptr<InputValue[]> inputs) {
  owner_ =
      nb::cast(new ViewOwner(std::move(program), method, std::move(inputs)), nb::rv_policy::take_ownership);
}

nb::object OutputWriter::write(const etb_value& output, uint32_t index) const {
  switch (output.kind) {
    case ETB_VALUE_NONE:
      return nb::none();
    case ETB_VALUE_INT:
      return nb::steal(PyLong_FromLongLong(output.integer));
    case ETB_VALUE_DOUBLE:
      return nb::steal(PyFloat_FromDouble(output.real));
    case ETB_VALUE_BOOL:
      return nb::borrow(output.boolean != 0 ? Py_True : Py_False);
    case ETB_VALUE_TENSOR:
      return write_tensor(output.tensor, index);
    default:
      raise_error(ETB_NOT_SUPPORTED, "python.value",
                  "output " + std::to_string(index) +
                      ": a text or a list of numbers, which does not cross the C API");
  }
}

nb::object OutputWriter::write_tensor(const etb_tensor& tensor, uint32_t index) const {
  const int64_t numel = numel_of(tensor);
  if (element_nbytes(tensor.dtype) == 0)
    raise_error(ETB_NOT_SUPPORTED, "python.dtype",
                "output " + std::to_string(index) + ": elements of less than a byte");
  const bool has_memory = tensor.data != nullptr && numel != 0;
  if (!has_memory && numel != 0)
    raise_error(ETB_INVALID_PROGRAM, "python.value",
                "output " + std::to_string(index) + ": the program left it without memory");
  return copies_ || !has_memory ? copy(tensor, index) : borrow(tensor, index);
}

// The new array has the dimensions in the order of the memory; a transposed view restores their own.
nb::object OutputWriter::copy(const etb_tensor& tensor, uint32_t index) const {
  const bool is_plain = is_row_major(tensor);
  std::array<int64_t, ETB_MAX_RANK> sizes{};
  for (uint32_t i = 0; i < tensor.rank; ++i) sizes[i] = tensor.sizes[is_plain ? i : tensor.dim_order[i]];
  NewArray made = make_array(framework_, tensor.dtype, {sizes.data(), tensor.rank}, index);
  const auto nbytes = static_cast<size_t>(numel_of(tensor)) * element_nbytes(tensor.dtype);
  if (nbytes != 0) std::memcpy(made.data, tensor.data, nbytes);
  if (is_plain) return made.array;
  nb::list axes;
  for (uint32_t dim = 0; dim < tensor.rank; ++dim)
    for (uint32_t i = 0; i < tensor.rank; ++i)
      if (tensor.dim_order[i] == dim) axes.append(static_cast<int>(i));
  return made.array.attr(framework_ == Framework::kTorch ? "permute" : "transpose")(axes);
}

// NumPy's view is read-only: the memory may be a constant of the program.
nb::object OutputWriter::borrow(const etb_tensor& tensor, uint32_t index) const {
  const nb::dlpack::dtype dtype = to_dlpack(tensor.dtype);
  if (dtype.bits == 0 || (framework_ == Framework::kNumpy && !is_of_numpy(tensor.dtype)))
    return copy(tensor, index);  // no view of such elements exists
  std::array<size_t, ETB_MAX_RANK> sizes{};
  std::array<int64_t, ETB_MAX_RANK> strides{};
  int64_t stride = 1;
  for (uint32_t i = tensor.rank; i-- > 0;) {
    const uint32_t dim = tensor.dim_order == nullptr ? i : tensor.dim_order[i];
    sizes[dim] = static_cast<size_t>(tensor.sizes[dim]);
    strides[dim] = stride;
    stride *= tensor.sizes[dim];
  }
  if (framework_ == Framework::kTorch) {
    nb::module_::import_("torch");
    return nb::cast(
        nb::ndarray<nb::pytorch>(tensor.data, tensor.rank, sizes.data(), owner_, strides.data(), dtype));
  }
  return nb::cast(
      nb::ndarray<nb::numpy, nb::ro>(tensor.data, tensor.rank, sizes.data(), owner_, strides.data(), dtype));
}

}  // namespace etb::python
