// SPDX-License-Identifier: Apache-2.0
// Compiles a torch.export archive for portable kernels only, so that `etbackend run` can run it like a
// program.
#pragma once

#include <string>
#include <utility>

#include "api/format/output_file.hpp"
#include "etb/cpp/result.hpp"

namespace etb::tools {

// True if the first bytes of the file are those of an archive (.pt2).
bool is_archive(const std::string& path);

// Each node of the exported graph is one kernel call, without plugins. Plugins are compared with it.
class PortableProgram {
 public:
  // Compiles into a temporary file without a name, so no file remains, however this process ends. Errors: the
  // compiler's, or those of OutputFile.
  [[nodiscard]] static Result<PortableProgram> make(const std::string& archive);

  int descriptor() const { return file_.descriptor(); }

 private:
  explicit PortableProgram(format::OutputFile file) : file_(std::move(file)) {}
  format::OutputFile file_;
};

}  // namespace etb::tools
