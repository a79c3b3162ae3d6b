// SPDX-License-Identifier: Apache-2.0
// LibraryFile: a library's file, opened to be read when there is no manifest. Code to be loaded is
// opened by open_library.hpp.
#pragma once

#include <string>

#include "host/registry/elf_file.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

struct LibraryFile {
  FileDescriptor file;
  uint64_t nbytes = 0;
  ElfFile elf;

  // Returns NOT_FOUND, ACCESS_FAILED, or INVALID_DATA for a file that is not regular or not a
  // library. The error has no path.
  [[nodiscard]] static Result<LibraryFile> open(const std::string& path);
  // Must not outlive this object.
  FileBytes bytes() const { return {file.get(), nbytes}; }
};

}  // namespace etb::host
