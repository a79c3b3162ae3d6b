// SPDX-License-Identifier: Apache-2.0
//
// NumPy and PyTorch as this module uses them. PyTorch is never imported for a caller that has not imported it.
// All functions need the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>

#include "etb/etbackend.h"

namespace etb::python {

enum class Framework : int { kNumpy = 0, kTorch = 1 };

bool is_torch_tensor(nanobind::handle object);

// Returns a DLPack capsule of a torch.Tensor; an invalid object with a pending exception on failure. Tensors that
// require a gradient are accepted: a run only reads them.
nanobind::object torch_to_dlpack(nanobind::handle tensor);

// An array of the framework with memory of its own.
struct NewArray {
  nanobind::object array;
  void* data;
};

// Makes a row-major array. Raises etbackend.Error for a dtype that the framework lacks.
NewArray make_array(Framework framework, etb_dtype dtype, std::span<const int64_t> sizes,
                    uint32_t output_index);

}  // namespace etb::python
