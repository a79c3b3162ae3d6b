// Libraries of the system, found without the loader's help: LD_LIBRARY_PATH and the loader's cache do not count.
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

// Folders that /etc/ld.so.conf names, then the usual ones.
std::vector<std::string> system_folders(const TrustPolicy& trust,
                                        const std::string& conf = "/etc/ld.so.conf");

// Looks for a library for `arch` in absolute folders. NOT_FOUND when none has it; refused when the first that has it, or a
// folder above it, could have been written by others, or when its SONAME is another.
[[nodiscard]] Result<SystemLibrary> find_system_library(const std::string& name, const std::string& arch,
                                                        const std::vector<std::string>& folders,
                                                        const TrustPolicy& trust);

// Folders that a library of the system adds for what it needs itself: its run path.
std::vector<std::string> run_path_folders(const SystemLibrary& library);

}  // namespace etb::host
