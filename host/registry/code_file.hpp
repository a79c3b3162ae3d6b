// SPDX-License-Identifier: Apache-2.0
// CodeFile: a file with code, opened by descriptor and checked without running it. The same file is loaded
// later.
#pragma once

#include <string>

#include "host/registry/elf_dynamic.hpp"
#include "host/registry/library.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

struct CodeFile {
  FileDescriptor folder;  // folder of the file; libraries of the bundle are opened from here
  FileDescriptor file;    // the file to load, or a sealed copy of it
  LibrarySource source;
  uint64_t nbytes = 0;
  ElfFile elf;
  ElfDynamic dynamic;

  // Must not outlive this object.
  FileBytes bytes() const { return {file.get(), nbytes}; }
};

// Opens a path beneath a folder: a trusted, plain file with a valid ELF header.
// read_code_dynamic() reads `dynamic`.
[[nodiscard]] Result<CodeFile> open_code_file(int folder, const std::string& path, const TrustPolicy& trust,
                                              SealPolicy seal);

// Reads the file's instructions for the loader. Rejects a library with a run path other than "$ORIGIN" alone,
// or with needed libraries named by path. Also rejects entries that make the loader open further files, and a
// SONAME that is not the file name.
[[nodiscard]] Status read_code_dynamic(CodeFile& file);

// Checks the rules of read_code_dynamic(); `name` is for messages. The first also applies to
// libraries of the system.
[[nodiscard]] Status verify_needed_names(const ElfDynamic& dynamic, const std::string& name);
[[nodiscard]] Status verify_library_search(const ElfDynamic& dynamic, const std::string& name);
[[nodiscard]] Status verify_soname(const ElfDynamic& dynamic, const std::string& path);

}  // namespace etb::host
