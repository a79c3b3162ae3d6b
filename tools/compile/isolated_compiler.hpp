// A plugin that partitions and compiles in a child process: a crash, a hang or an exit in it is an error here.
#pragma once

#include <chrono>

#include "host/registry/registry.hpp"
#include "partitioner_sdk/partition/compiler.hpp"

namespace etb::tools {

class IsolatedCompiler final : public partition::Compiler {
 public:
  // Nothing of the plugin is loaded in this process. The registry must not have loaded it either, outlives this, and every call
  // forks (host/registry/child_process.hpp).
  IsolatedCompiler(std::string name, std::string backend_id, host::Registry& registry,
                   const host::PluginEntry& entry, std::vector<std::pair<std::string, std::string>> specs,
                   std::chrono::milliseconds deadline)
      : Compiler(std::move(name), std::move(backend_id)),
        registry_(registry),
        entry_(entry),
        specs_(std::move(specs)),
        deadline_(deadline) {}

  Result<std::vector<std::string>> preserved_ops() override;
  Result<partition::Answers> partition(const graph::ImageBytes& method) override;
  Result<partition::Compiled> compile(std::span<const graph::ImageBytes* const> regions,
                                      const partition::ConstantKeys& constants) override;

 private:
  // Runs `job` on the plugin in a child and gives what it made. `doing` says in errors where the plugin was.
  template <class Job>
  Result<std::vector<std::byte>> run(const char* doing, Job job);
  Result<std::unique_ptr<partition::Compiler>> open() const;

  host::Registry& registry_;
  const host::PluginEntry& entry_;
  std::vector<std::pair<std::string, std::string>> specs_;
  std::chrono::milliseconds deadline_;
  std::shared_ptr<const host::PluginContext> plugin_;  // in the child alone
};

}  // namespace etb::tools
