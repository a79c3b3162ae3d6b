// SPDX-License-Identifier: Apache-2.0
// Reads how the dynamic loader will handle a library: the libraries it needs and the symbols it exports. The
// loader reads memory by addresses, this code reads the file. It rejects files in which the two could differ:
// a dynamic section whose address and offset disagree, a second one, one without an end, or a repeated entry.
#pragma once

#include <string>
#include <vector>

#include "host/registry/elf_file.hpp"

namespace etb::host {

struct ElfDynamic {
  std::string soname;
  std::vector<std::string> needed;
  std::vector<std::string> run_paths;  // folders that the loader searches for them, unexpanded
  // Entries that make the loader open further libraries: "DT_AUXILIARY x.so".
  std::vector<std::string> filters;
  uint64_t export_count = 0;
  std::vector<std::string> exports;  // the first few names
  bool has_query = false;            // etb_plugin_query is among the exports
};

[[nodiscard]] Result<ElfDynamic> read_elf_dynamic(const ByteSource& source, const ElfFile& file);

// Symbols that other files must define, except weak ones. Names without versions, at most 65,536.
[[nodiscard]] Result<std::vector<std::string>> read_elf_imports(const ByteSource& source,
                                                                const ElfFile& file);

}  // namespace etb::host
