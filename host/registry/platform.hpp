// What this machine is, in the words of a manifest's `libraries`, and which library suits it.
#pragma once

#include <string>
#include <vector>

#include "host/registry/manifest.hpp"

namespace etb::host {

struct Platform {
  std::string os;    // "linux", "android"
  std::string arch;  // "x86_64", "aarch64"
  std::string libc;  // "glibc", "musl", "bionic"
  uint32_t api_level = 0;
  std::vector<std::string> cpu;  // features of the processor that the system also supports, sorted
  std::string kernel;            // its release: "6.1.0-13-amd64"
};

// This machine; found out once.
const Platform& detect_platform();

// The features of the processor, sorted; the names are the rows of cpu_features_*.def.
std::vector<std::string> detect_cpu_feature_names();

struct LibraryChoice {
  const LibraryEntry* entry = nullptr;  // points into the list given; NULL when none suits
  std::vector<std::string>
      reasons;  // why each of the others was not taken, in order: "libraries[1]: needs avx512f"
};

LibraryChoice choose_library(const std::vector<LibraryEntry>& libraries, const Platform& platform);

}  // namespace etb::host
