// SPDX-License-Identifier: Apache-2.0
// A plugin of this process as a Compiler: calls its AOT table and does not trust the results.
#pragma once

#include <functional>
#include <memory>

#include "etb/plugin.h"
#include "partitioner_sdk/partition/compiler.hpp"
#include "partitioner_sdk/partition/target_file.hpp"

namespace etb::partition {

// Follows the compile call of a plugin. A function may be absent.
struct CompileWatch {
  std::function<void(double done, std::string_view what)>
      report;                          // done: 0 to 1; `what` is text from the plugin
  std::function<bool()> is_cancelled;  // called on any thread
};

struct PluginCompilerOptions {
  std::vector<std::pair<std::string, std::string>> specs;  // compile specs, as the user gave them
  CompileWatch watch = {};
  std::shared_ptr<const TargetFile> target = nullptr;  // NULL: the plugin's default
  std::vector<etb_option> options = {};  // scope ETB_OBJECT_PLUGIN; their texts outlive the compiler
};

class PluginCompiler final : public Compiler {
 public:
  // The table must be complete (no function is NULL); it and the plugin must outlive this object. Errors if
  // there is no AOT half.
  [[nodiscard]] static Result<std::unique_ptr<PluginCompiler>> make(std::string name, std::string backend_id,
                                                                    const etb_plugin_table& table,
                                                                    etb_plugin* plugin,
                                                                    PluginCompilerOptions options = {});

  Result<std::vector<std::string>> preserved_ops() override;
  // Asks once. The check `cap.same-answer-twice` of the suite proves that answers do not change.
  Result<Answers> partition(const graph::ImageBytes& method) override;
  // Runs the dry check, compiles every region and asks for an estimate of each. If the plugin has a runtime half, it
  // then checks its own payloads.
  Result<Compiled> compile(std::span<const graph::ImageBytes* const> regions,
                           const ConstantKeys& constants) override;

 private:
  PluginCompiler(std::string name, std::string backend_id, const etb_plugin_table& table, etb_plugin* plugin,
                 PluginCompilerOptions options)
      : Compiler(std::move(name), std::move(backend_id)),
        table_(table),
        plugin_(plugin),
        options_(std::move(options)) {}

  // Arguments of partition, dry_check and estimate about an image.
  etb_partition_args arguments_for(const etb_graph_image& image) const;
  Status check_before(std::span<const graph::ImageBytes* const> regions);
  void estimate(std::span<const graph::ImageBytes* const> regions, Compiled& compiled);
  Status check_payloads(const Compiled& compiled);

  const etb_plugin_table& table_;
  etb_plugin* plugin_;
  PluginCompilerOptions options_;
};

}  // namespace etb::partition
