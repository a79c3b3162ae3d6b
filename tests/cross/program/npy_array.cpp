// SPDX-License-Identifier: Apache-2.0
#include "npy_array.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cross {

using etb::host::Dtype;

FileBytes::FileBytes(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return;
  std::fseek(file, 0, SEEK_END);
  const auto nbytes = static_cast<size_t>(std::ftell(file));
  std::rewind(file);
  blocks_.resize(nbytes / sizeof(Block) + 1);
  if (std::fread(blocks_.data(), 1, nbytes, file) == nbytes) nbytes_ = nbytes;
  std::fclose(file);
}

std::optional<NpyArray> NpyArray::read(const std::string& path) {
  constexpr size_t kPrefix = 10;  // magic, version, length of the header
  static constexpr struct {
    const char* code;
    Dtype dtype;
    size_t nbytes;
  } kDtypes[] = {{"<f4", Dtype::FLOAT32, 4}, {"<c8", Dtype::COMPLEX64, 8}, {"<f8", Dtype::FLOAT64, 8},
                 {"<f2", Dtype::FLOAT16, 2}, {"<i8", Dtype::INT64, 8},     {"<i4", Dtype::INT32, 4},
                 {"<i2", Dtype::INT16, 2},   {"|i1", Dtype::INT8, 1},      {"|u1", Dtype::UINT8, 1},
                 {"|b1", Dtype::BOOL, 1}};
  FileBytes file(path);
  const std::span<std::byte> bytes = file.bytes();
  if (bytes.size() < kPrefix || bytes[6] != std::byte{1}) return {};
  const size_t header = static_cast<size_t>(bytes[8]) | static_cast<size_t>(bytes[9]) << 8;
  if (bytes.size() < kPrefix + header) return {};
  const std::string text(reinterpret_cast<const char*>(bytes.data()) + kPrefix, header);
  NpyArray out;
  size_t element_nbytes = 0;
  for (const auto& [code, dtype, nbytes] : kDtypes)
    if (text.find("'" + std::string(code) + "'") != std::string::npos)
      out.dtype_ = dtype, element_nbytes = nbytes;
  const size_t open = text.find("'shape': (");
  if (element_nbytes == 0 || open == std::string::npos ||
      text.find("'fortran_order': False") == std::string::npos)
    return {};
  size_t count = 1;
  for (const char* at = text.c_str() + open + 10; *at != ')';) {
    char* end = nullptr;
    out.sizes_.push_back(std::strtoll(at, &end, 10));
    if (end == at) return {};
    count *= static_cast<size_t>(out.sizes_.back());
    at = end + std::strspn(end, ", ");
  }
  if (bytes.size() - kPrefix - header != count * element_nbytes) return {};
  out.data_.assign(bytes.begin() + static_cast<std::ptrdiff_t>(kPrefix + header), bytes.end());
  return out;
}

etb::host::Tensor NpyArray::tensor() {
  strides_.assign(sizes_.size(), 1);
  for (size_t i = sizes_.size(); i-- > 1;) strides_[i - 1] = strides_[i] * sizes_[i];
  order_.clear();
  for (size_t i = 0; i < sizes_.size(); ++i) order_.push_back(static_cast<uint8_t>(i));
  return {dtype_,          static_cast<uint32_t>(sizes_.size()),
          sizes_.data(),   order_.data(),
          strides_.data(), data_.data(),
          data_.size()};
}

}  // namespace cross
