// A file that is code, opened by descriptor and judged without running any of it. This file is what is loaded later.
#pragma once

#include <string>

#include "host/registry/elf_dynamic.hpp"
#include "host/registry/library.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

struct CodeFile {
  FileDescriptor folder;  // that holds the file; libraries that it brings along are opened from here
  FileDescriptor file;    // what is loaded: the file, or a sealed copy of it
  LibrarySource source;
  uint64_t nbytes = 0;
  ElfFile elf;
  ElfDynamic dynamic;

  // Ends with this.
  FileBytes bytes() const { return {file.get(), nbytes}; }
};

// Opens a path beneath a folder: trusted, a plain file, a sound ELF head. `dynamic` is read by read_code_dynamic().
[[nodiscard]] Result<CodeFile> open_code_file(int folder, const std::string& path, const TrustPolicy& trust,
                                              SealPolicy seal);

// Reads what the loader will do with the file. Refuses a library that has a run path other than "$ORIGIN" alone, names others by
// path, makes the loader open others besides, or has a SONAME that is not its file name.
[[nodiscard]] Status read_code_dynamic(CodeFile& file);

// The rules of read_code_dynamic() for what was read; `name` for messages. The first is that for libraries of the system, too.
[[nodiscard]] Status verify_needed_names(const ElfDynamic& dynamic, const std::string& name);
[[nodiscard]] Status verify_library_search(const ElfDynamic& dynamic, const std::string& name);
[[nodiscard]] Status verify_soname(const ElfDynamic& dynamic, const std::string& path);

}  // namespace etb::host
