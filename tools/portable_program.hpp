// A torch.export archive as a program for portable kernels alone, so that `etbackend run` takes it as it takes a program.
#pragma once

#include <string>
#include <utility>

#include "api/format/output_file.hpp"
#include "etb/cpp/result.hpp"

namespace etb::tools {

// Whether the file is an archive (.pt2), by its first bytes.
bool is_archive(const std::string& path);

// Every node is one call of a kernel, none of a plugin: what the exported graph means, and so what plugins are compared with.
class PortableProgram {
 public:
  // Compiles into a temporary file that has no name, so nothing is left however this process ends. Errors are the compiler's, or
  // those of OutputFile.
  [[nodiscard]] static Result<PortableProgram> make(const std::string& archive);

  int descriptor() const { return file_.descriptor(); }

 private:
  explicit PortableProgram(format::OutputFile file) : file_(std::move(file)) {}
  format::OutputFile file_;
};

}  // namespace etb::tools
