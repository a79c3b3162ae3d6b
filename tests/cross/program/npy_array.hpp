// SPDX-License-Identifier: Apache-2.0
// Arrays of .npy files, as tensors of the run time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/runtime/tensor.hpp"

namespace cross {

// The bytes of a file, on a 64-byte boundary. Empty if the file cannot be read.
class FileBytes {
 public:
  explicit FileBytes(const std::string& path);
  std::span<std::byte> bytes() { return {blocks_.data()->bytes, nbytes_}; }
  bool is_empty() const { return nbytes_ == 0; }

 private:
  struct alignas(64) Block {
    std::byte bytes[64];
  };
  std::vector<Block> blocks_{1};
  size_t nbytes_ = 0;
};

class NpyArray {
 public:
  // Nothing if the file has a dtype, byte order or version that this reader does not know.
  static std::optional<NpyArray> read(const std::string& path);

  etb::host::Dtype dtype() const { return dtype_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  std::span<const std::byte> data() const { return {data_.data(), data_.size()}; }
  // Borrows this object.
  etb::host::Tensor tensor();

 private:
  etb::host::Dtype dtype_ = etb::host::Dtype::FLOAT32;
  std::vector<int64_t> sizes_, strides_;
  std::vector<uint8_t> order_;
  std::vector<std::byte> data_;
};

}  // namespace cross
