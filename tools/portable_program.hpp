// A torch.export archive as a program for portable kernels alone, so that `etbackend run` takes it as it takes a program.
#pragma once

#include <string>
#include <utility>

#include "etb/cpp/result.hpp"

namespace etb::tools {

// Whether the file is an archive (.pt2), by its first bytes.
bool is_archive(const std::string& path);

// Every node is one call of a kernel, none of a plugin: what the exported graph means, and so what plugins are compared with.
class PortableProgram {
 public:
  // Compiles into a temporary file, which lives as long as this. Errors are the compiler's, or ACCESS_FAILED.
  [[nodiscard]] static Result<PortableProgram> make(const std::string& archive);
  PortableProgram(PortableProgram&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  PortableProgram& operator=(PortableProgram&& other) noexcept {
    std::swap(folder_, other.folder_);
    return *this;
  }
  ~PortableProgram();

  std::string path() const { return folder_ + "/model.pte"; }

 private:
  explicit PortableProgram(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

}  // namespace etb::tools
