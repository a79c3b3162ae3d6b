// The plugins that -b names, ready to compile for.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "host/registry/registry.hpp"
#include "partitioner_sdk/partition/compiler.hpp"

namespace etb::tools {

struct BackendRequest {
  std::vector<std::string> names;                          // in order: ids, delegate ids or aliases
  std::vector<std::pair<std::string, std::string>> specs;  // compile specs
  bool isolate = false;                                    // each plugin works in a child process
  std::chrono::milliseconds deadline{600000};              // for one call of such a plugin
};

// Keeps the plugins as long as it lives. Members in order of life.
struct Backends {
  std::vector<std::shared_ptr<const host::PluginContext>> plugins;  // none when they are isolated
  std::vector<std::unique_ptr<partition::Compiler>> compilers;      // one a name
  std::vector<const host::PluginEntry*> entries;                    // of the registry's, by compiler
};

// The error says what is wrong with which name: not found, refused, without an ahead-of-time half.
[[nodiscard]] Result<Backends> open_backends(host::Registry& registry, const BackendRequest& request);

// The delegate id that a program calls the plugin by: `name` itself when the plugin provides it, else the first it provides.
[[nodiscard]] Result<std::string> delegate_id_of(const host::PluginEntry& entry, std::string_view name);

}  // namespace etb::tools
