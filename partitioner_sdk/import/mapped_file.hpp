// SPDX-License-Identifier: Apache-2.0
// Maps a file's bytes without reading them: read-only, shared by all owners.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "etb/cpp/result.hpp"

namespace etb::pt2 {

class MappedFile {
 public:
  [[nodiscard]] static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  // Wraps bytes of the caller, who keeps them alive. For tests and fuzzing.
  static std::shared_ptr<const MappedFile> borrow(std::span<const std::byte> bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  // Open as long as this object lives; -1 for borrowed bytes.
  int descriptor() const { return descriptor_; }

 private:
  MappedFile(std::span<const std::byte> bytes, int descriptor) : bytes_(bytes), descriptor_(descriptor) {}
  std::span<const std::byte> bytes_;
  int descriptor_;
};

}  // namespace etb::pt2
