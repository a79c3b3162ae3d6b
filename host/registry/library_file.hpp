// A library's file, opened to be looked at: for who has a path and no manifest. What is loaded comes from open_library.hpp.
#pragma once

#include <string>

#include "host/registry/elf_file.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

struct LibraryFile {
  FileDescriptor file;
  uint64_t nbytes = 0;
  ElfFile elf;

  // NOT_FOUND, ACCESS_FAILED; INVALID_DATA for what is no regular file or no library, with the reason alone.
  [[nodiscard]] static Result<LibraryFile> open(const std::string& path);
  // Ends with this.
  FileBytes bytes() const { return {file.get(), nbytes}; }
};

}  // namespace etb::host
