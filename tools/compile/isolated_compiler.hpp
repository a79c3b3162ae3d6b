// SPDX-License-Identifier: Apache-2.0
// Runs a plugin that partitions and compiles in a child process: its crash, hang or exit becomes an error.
#pragma once

#include <chrono>

#include "host/registry/registry.hpp"
#include "partitioner_sdk/partition/plugin_compiler.hpp"

namespace etb::tools {

class IsolatedCompiler final : public partition::Compiler {
 public:
  // Loads no code of the plugin in this process. The registry must not have loaded it either, and must
  // outlive this object. Every call forks (host/registry/child_process.hpp).
  IsolatedCompiler(std::string name, std::string backend_id, host::Registry& registry,
                   const host::PluginEntry& entry, partition::PluginCompilerOptions options,
                   std::chrono::milliseconds deadline)
      : Compiler(std::move(name), std::move(backend_id)),
        registry_(registry),
        entry_(entry),
        options_(std::move(options)),
        deadline_(deadline) {}

  Result<std::vector<std::string>> preserved_ops() override;
  Result<partition::Answers> partition(const graph::ImageBytes& method) override;
  Result<partition::Compiled> compile(std::span<const graph::ImageBytes* const> regions,
                                      const partition::ConstantKeys& constants) override;

 private:
  // Runs `job` on the plugin in a child and returns its bytes. `doing` names the step for errors.
  template <class Job>
  Result<std::vector<std::byte>> run(const char* doing, Job job);
  Result<std::unique_ptr<partition::Compiler>> open() const;

  host::Registry& registry_;
  const host::PluginEntry& entry_;
  partition::PluginCompilerOptions options_;
  std::chrono::milliseconds deadline_;
  std::shared_ptr<const host::PluginContext> plugin_;  // in the child only
};

}  // namespace etb::tools
