// SPDX-License-Identifier: Apache-2.0
// For tests: the libraries with planted faults.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace etb::tools {

inline std::string library(const std::string& name) {
  return std::string(ETB_FAULT_DIR) + "/" + name + "/" + name + ".so";
}

// Fault 95 keeps a file beside its library to remember its first failure.
inline void forget_first_failure() {
  std::filesystem::remove(library("fault_95").substr(0, library("fault_95").rfind('/')) +
                          "/fault_95_was_here");
}

inline std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace etb::tools
