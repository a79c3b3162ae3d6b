// SPDX-License-Identifier: Apache-2.0
// Reads arguments of a run and writes its results: arrays of NumPy and plain values.
#pragma once

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/evalue.h>

#include <string>
#include <vector>

namespace peer {

// An argument with the memory it points to.
struct Argument {
  std::vector<char> bytes;
  executorch::extension::TensorPtr tensor;
  executorch::runtime::EValue value;
};

// `text` is the path of a .npy file, an integer, a number, true, false or none. Throws std::runtime_error.
Argument read_argument(const std::string& text);

// Throws std::runtime_error.
void write_array(const std::string& path, const executorch::aten::Tensor& tensor);

}  // namespace peer
