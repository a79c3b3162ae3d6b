// SPDX-License-Identifier: Apache-2.0
// Values that a record stores: inputs that represent the model's, and the outputs that they give. Read as data from files
// of torch.save and from the pickles of releases before 1.3; written as torch.save does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "etb/cpp/result.hpp"
#include "partitioner_sdk/ir/tensor_spec.hpp"

namespace etb::record {

struct SavedTensor {
  ir::Dtype dtype = ir::Dtype::FLOAT32;
  std::vector<int64_t> sizes;
  std::vector<std::byte> bytes;  // row-major and dense
  friend bool operator==(const SavedTensor&, const SavedTensor&) = default;
};

struct SavedValue {
  using List = std::vector<SavedValue>;  // a list or a tuple
  using Dict = std::map<std::string, SavedValue>;
  std::variant<std::monostate, bool, int64_t, double, std::string, SavedTensor, List, Dict> value;
  friend bool operator==(const SavedValue&, const SavedValue&) = default;

  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value);
  }
};

// Verifies and reads a file. INVALID_DATA for elements outside of their storage; NOT_SUPPORTED for other objects.
[[nodiscard]] Result<SavedValue> read_saved_value(std::span<const std::byte> file);

// Returns the bytes that torch.load(weights_only=True) reads. NOT_SUPPORTED for a dtype without a storage in PyTorch.
[[nodiscard]] Result<std::string> write_saved_value(const SavedValue& value);

}  // namespace etb::record
