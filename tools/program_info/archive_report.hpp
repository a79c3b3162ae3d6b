// SPDX-License-Identifier: Apache-2.0
// The contents of a torch.export archive (.pt2), before any compilation: as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "etb/cpp/result.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::tools {

// Returns inputs, outputs, operators, parameters and buffers. `path` and `nbytes` are the file's.
nlohmann::ordered_json report_archive(const ir::Module& module, const std::string& path, uint64_t nbytes);

std::string format_archive_report(const nlohmann::ordered_json& report);

}  // namespace etb::tools
