// SPDX-License-Identifier: Apache-2.0
// Asks plugins about a model, without a program: which nodes they would run, and why not the others.
#pragma once

#include <string>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"
#include "partitioner_sdk/partition/report.hpp"
#include "tools/command.hpp"

namespace etb::tools {

struct AskedModel {
  ir::Module module;  // in the form that plugins see
  partition::Report report;
};

// `names` are plugins as -b names them, `model` that of an archive with several. A plugin that fails is in the report.
[[nodiscard]] Result<AskedModel> ask_plugins(const std::string& archive, const std::string& model,
                                             const std::vector<std::string>& names, const Session& session);

}  // namespace etb::tools
