// SPDX-License-Identifier: Apache-2.0
// Extensions of the compiler from the user and from the plugins that -b names: custom ops and rewrite rules.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "api/ops/custom_ops.hpp"
#include "host/registry/registry.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"
#include "tools/cli11_fwd.hpp"

namespace etb::tools {

struct ExtensionOptions {
  std::vector<std::string> custom_ops;                       // declarations
  std::vector<std::string> rule_files;                       // paths
  std::map<std::string, std::string, std::less<>> formulas;  // the user's decompositions
};

void add_extension_options(CLI::App& command, ExtensionOptions& options);

class Extensions {
 public:
  [[nodiscard]] static Result<Extensions> open(const ExtensionOptions& options);
  // Adds the extensions in the plugin's manifest. On error, adds only ops declared before the faulty one.
  [[nodiscard]] Status add_plugin(const std::string& name, const host::PluginEntry& entry,
                                  const host::LoadOptions& options);

  // Rejects a decomposition of an op that neither PyTorch nor the model has. `ops`: the model's, at any stage.
  [[nodiscard]] Status check_formulas(const ExtensionOptions& options,
                                      const std::set<std::string>& ops) const;

  std::shared_ptr<const ops::CustomOps> custom_ops() const { return custom_ops_; }
  std::span<const passes::RuleSet> rules() const { return rules_; }

 private:
  std::shared_ptr<ops::CustomOps> custom_ops_ = std::make_shared<ops::CustomOps>();
  std::vector<passes::RuleSet> rules_;
};

}  // namespace etb::tools
