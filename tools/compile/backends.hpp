// SPDX-License-Identifier: Apache-2.0
// The plugins that -b names, opened for compilation.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "host/registry/registry.hpp"
#include "partitioner_sdk/partition/plugin_compiler.hpp"

namespace etb::tools {

struct BackendRequest {
  std::vector<std::string> names;                          // in order: ids, delegate ids or aliases
  std::vector<std::pair<std::string, std::string>> specs;  // compile specs
  bool isolate = false;                                    // runs each plugin in a child process
  std::chrono::milliseconds deadline{600000};              // for one call of such a plugin
  partition::CompileWatch watch = {};                      // of plugins in this process
};

// Owns the plugins. Members in order of life.
struct Backends {
  std::vector<std::shared_ptr<const host::PluginContext>> plugins;  // none if they are isolated
  std::vector<std::unique_ptr<partition::Compiler>> compilers;      // one per name
  std::vector<const host::PluginEntry*> entries;                    // entries of the registry, by compiler
};

// Errors name the plugin and the cause: not found, rejected, or without an ahead-of-time half.
[[nodiscard]] Result<Backends> open_backends(host::Registry& registry, const BackendRequest& request);

// Returns the delegate id for the program: `name` itself if the plugin provides it, else the first that it
// provides.
[[nodiscard]] Result<std::string> delegate_id_of(const host::PluginEntry& entry, std::string_view name);

}  // namespace etb::tools
