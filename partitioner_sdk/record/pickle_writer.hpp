// SPDX-License-Identifier: Apache-2.0
// Writes one object as torch.save does: a pickle of protocol 2, without a memo, and the storages of its tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "etb/cpp/result.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::record {

class PickleWriter {
 public:
  void put_none() { out_ += 'N'; }
  void put_bool(bool flag) { out_ += flag ? '\x88' : '\x89'; }
  void put_int(int64_t number);
  void put_float(double number);
  void put_text(std::string_view text);
  // The storage must live until finish(). Tensors of one storage share it in the file. NOT_SUPPORTED for a dtype
  // without a storage of its own in PyTorch.
  [[nodiscard]] Status put_tensor(const ir::Constant& tensor);
  // As put_tensor; official readers expect the parameters of a model to be of this kind.
  [[nodiscard]] Status put_parameter(const ir::Constant& tensor);
  // Items follow; for a dict, a text and a value each.
  void begin_list() { out_ += "]("; }
  void end_list() { out_ += 'e'; }
  void begin_dict() { out_ += "}("; }
  void end_dict() { out_ += 'u'; }

  // Returns the file. OUT_OF_RESOURCES beyond the limits of a plain zip file. The object must not be used afterwards.
  [[nodiscard]] Result<std::string> finish();

 private:
  struct Storage {
    ir::Dtype dtype;
    std::span<const std::byte> bytes;
  };

  void put_number(uint64_t number, int nbytes);
  void put_ints(std::span<const int64_t> numbers);
  size_t index_of(const Storage& storage);

  std::string out_;
  std::vector<Storage> storages_;
};

}  // namespace etb::record
