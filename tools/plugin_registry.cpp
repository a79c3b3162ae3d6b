// SPDX-License-Identifier: Apache-2.0
#include "tools/plugin_registry.hpp"

#include <filesystem>

namespace etb::tools {
namespace {

namespace fs = std::filesystem;

// The build defines ETB_PLUGINS_FROM_BIN: the path from the program's folder to the plugins, both as
// installed.
constexpr const char* kFromProgram[] = {ETB_PLUGINS_FROM_BIN, "../plugins.d"};

std::vector<std::string> distribution_paths() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  std::vector<std::string> out;
  if (failed) return out;
  for (const char* relative : kFromProgram)
    out.push_back((program.parent_path() / relative).lexically_normal().string());
  return out;
}

}  // namespace

host::RegistryOptions registry_options(const Session& session) {
  host::RegistryOptions options;
  for (const std::string& path : session.plugin_paths)
    options.application_paths.push_back(fs::absolute(path).lexically_normal().string());
  options.distribution_paths = distribution_paths();
  options.secure = options.secure || session.secure;
  return options;
}

}  // namespace etb::tools
