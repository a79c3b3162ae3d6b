// SPDX-License-Identifier: Apache-2.0
// Finds libraries of the system without the loader: ignores LD_LIBRARY_PATH and the loader's cache.
#pragma once

#include <string>
#include <vector>

#include "host/registry/elf_dynamic.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

struct SystemLibrary {
  std::string path;  // absolute, without links
  ElfDynamic dynamic;
};

// Returns the folders that /etc/ld.so.conf names, then the usual ones.
std::vector<std::string> system_folders(const TrustPolicy& trust,
                                        const std::string& conf = "/etc/ld.so.conf");

// Searches absolute folders for a library for `arch`. Returns NOT_FOUND when none has it. Fails when others
// could have written the first one found or a folder above it, or when its SONAME differs.
[[nodiscard]] Result<SystemLibrary> find_system_library(const std::string& name, const std::string& arch,
                                                        const std::vector<std::string>& folders,
                                                        const TrustPolicy& trust);

// Returns the folders that a library of the system adds for its own needed libraries: its run path.
std::vector<std::string> run_path_folders(const SystemLibrary& library);

}  // namespace etb::host
