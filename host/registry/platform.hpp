// SPDX-License-Identifier: Apache-2.0
// Platform: this machine in the terms of a manifest's `libraries`, and the choice of a library for it.
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
  std::vector<std::string> cpu;  // features that processor and system support, sorted
  std::string kernel;            // release of the kernel: "6.1.0-13-amd64"
};

// Describes this machine. Detected once.
const Platform& detect_platform();

// Returns the features of the processor, sorted, with the names of cpu_features_*.def.
std::vector<std::string> detect_cpu_feature_names();

struct LibraryChoice {
  const LibraryEntry* entry = nullptr;  // points into the given list; NULL when none suits
  // Why each of the others was rejected, in order: "libraries[1]: needs avx512f".
  std::vector<std::string> reasons;
};

LibraryChoice choose_library(const std::vector<LibraryEntry>& libraries, const Platform& platform);

}  // namespace etb::host
