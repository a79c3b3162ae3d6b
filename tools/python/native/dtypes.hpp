// SPDX-License-Identifier: Apache-2.0
//
// Dtypes of the C API as Python's arrays name them: struct codes of the buffer protocol, DLPack's types, names.
#pragma once

#include <nanobind/ndarray.h>

#include "etb/tensor.h"

namespace etb::python {

// Programs have complex tensors, which cross the API of applications under ExecuTorch's codes; plugins never see them, so
// etb/dtype.def has no rows for them.
constexpr etb_dtype kComplex32 = 8, kComplex64 = 9, kComplex128 = 10;

// Returns "float32" and the like.
const char* name_of(etb_dtype dtype);

// Bytes of one element; 0 for an unknown dtype.
uint32_t element_nbytes(etb_dtype dtype);

// True if NumPy itself has the dtype, without ml_dtypes.
bool is_of_numpy(etb_dtype dtype);

// The dtype of a struct code such as "f" or "<i8"; -1: none. NULL means unsigned bytes.
etb_dtype dtype_of_format(const char* format, Py_ssize_t item_nbytes);

// -1: none.
etb_dtype dtype_of_dlpack(nanobind::dlpack::dtype dtype);

// Zero bits: none.
nanobind::dlpack::dtype to_dlpack(etb_dtype dtype);

}  // namespace etb::python
