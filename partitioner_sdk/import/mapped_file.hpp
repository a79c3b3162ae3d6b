// A file's bytes without reading them: mapped, read-only, shared by all who hold it.
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
  // Bytes that belong to the caller, who keeps them alive; for tests and fuzzing.
  static std::shared_ptr<const MappedFile> borrow(std::span<const std::byte> bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  MappedFile(std::span<const std::byte> bytes, bool is_mapped) : bytes_(bytes), is_mapped_(is_mapped) {}
  std::span<const std::byte> bytes_;
  bool is_mapped_;
};

}  // namespace etb::pt2
