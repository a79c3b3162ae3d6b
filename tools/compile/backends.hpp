// SPDX-License-Identifier: Apache-2.0
// The plugins that -b names, opened for compilation.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/registry/registry.hpp"
#include "partitioner_sdk/partition/plugin_compiler.hpp"

namespace etb::tools {

struct BackendRequest {
  std::vector<std::string> names;                                 // in order: ids, delegate ids or aliases
  std::vector<std::pair<std::string, std::string>> specs;         // compile specs
  bool isolate = false;                                           // runs each plugin in a child process
  std::chrono::milliseconds deadline{600000};                     // for one call of such a plugin
  partition::CompileWatch watch = {};                             // of plugins in this process
  std::string target_file = {};                                   // "": each plugin's default
  std::shared_ptr<const partition::TargetFile> target = nullptr;  // contents of the file
  std::map<std::string, host::OptionTexts> options = {};  // by name in `names`; they outlive the backends
  std::map<std::string, std::string> devices =
      {};  // that the program names, by name in `names`; "": all others
};

// Owns the plugins. Members in order of life.
struct Backends {
  std::vector<std::shared_ptr<const host::PluginContext>> plugins;  // none if they are isolated
  std::vector<std::unique_ptr<partition::Compiler>> compilers;      // one per name
  std::vector<const host::PluginEntry*> entries;                    // entries of the registry, by compiler
};

// Reads the target file, if one is named. Errors name it.
[[nodiscard]] Status read_target(BackendRequest& request);

// Errors name the plugin and the cause: not found, rejected, without an ahead-of-time half, or an option that it lacks.
// `request` must outlive the result.
[[nodiscard]] Result<Backends> open_backends(host::Registry& registry, const BackendRequest& request);

// Returns the compiler's options for a plugin. Texts are those of `request`. Errors: an option that the manifest lacks, or of
// another type.
[[nodiscard]] Result<partition::PluginCompilerOptions> compiler_options(const BackendRequest& request,
                                                                        const std::string& name,
                                                                        const host::PluginEntry& entry);

// Returns the delegate id for the program: `name` itself if the plugin provides it, else the first that it
// provides.
[[nodiscard]] Result<std::string> delegate_id_of(const host::PluginEntry& entry, std::string_view name);

}  // namespace etb::tools
