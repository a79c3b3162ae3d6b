// SPDX-License-Identifier: Apache-2.0
// A replay in a child process, so that a plugin that crashes or hangs is named with the call.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "etb/cpp/result.hpp"

namespace etb::tools {

// Reports to the parent which call runs.
using NoteCall = std::function<void(uint64_t call, const std::string& function)>;

// Runs `body` in a child. A report that it returns is returned here; a death becomes a report with the field "death",
// which names the call.
[[nodiscard]] Result<nlohmann::ordered_json> run_replay(
    const std::function<Result<nlohmann::ordered_json>(const NoteCall&)>& body,
    std::chrono::milliseconds deadline);

}  // namespace etb::tools
