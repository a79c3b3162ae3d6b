// SPDX-License-Identifier: Apache-2.0
#include "tools/plugin_registry.hpp"

#include <filesystem>

#include "api/format/printable_text.hpp"

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
  if (session.verbose) {
    const host::SearchPath path = host::make_search_path({options.application_paths,
                                                          options.distribution_paths,
                                                          options.admin_path,
                                                          {},
                                                          options.secure,
                                                          options.environment});
    for (const host::SearchFolder& place : path.places)
      session.err << "searches " << to_text(place.tier) << " folder " << place.path << '\n';
  }
  return options;
}

Status check_plugin_paths(const Session& session) {
  for (const std::string& path : session.plugin_paths) {
    std::error_code failed;
    if (fs::is_directory(path, failed)) continue;
    const std::string option = "--plugin-path " + format::in_quotes(path);
    if (!fs::exists(path, failed)) return make_error(Code::NOT_FOUND, option + ": no such folder");
    return make_error(Code::INVALID_DATA, option +
                                              ": found a file, expected a folder with manifests\nhint: " +
                                              "give the folder that contains it");
  }
  return {};
}

}  // namespace etb::tools
