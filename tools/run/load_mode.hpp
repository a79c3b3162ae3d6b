// SPDX-License-Identifier: Apache-2.0
// The values of --load-mode, and the method that runs by default.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "host/module/module.hpp"

namespace etb::tools {

// `text` is one of mmap, file and mlock.
inline host::LoadMode to_load_mode(std::string_view text) {
  if (text == "file") return host::LoadMode::kFile;
  if (text == "mlock") return host::LoadMode::kMmapLock;
  return host::LoadMode::kMmap;
}

// Returns "forward", the exporter's name, if the program has it, else the first method.
inline std::string choose_method(const host::Module& module) {
  const std::vector<std::string> names = module.method_names();
  const bool has_forward = std::find(names.begin(), names.end(), "forward") != names.end();
  return has_forward || names.empty() ? "forward" : names.front();
}

}  // namespace etb::tools
