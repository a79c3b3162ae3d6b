// SPDX-License-Identifier: Apache-2.0
// The log of the process: passes lines of the library and of plugins to the application's log, if it set one.
#pragma once

#include "etb/cpp/result.hpp"
#include "host/runtime/platform_hooks.hpp"
#include "host/services/log_sink.hpp"

namespace etb::host {

// Replaces the application's log. NULL: none.
[[nodiscard]] Status set_process_log(const etb_log_service* log);

// The sink that plugins log to.
LogSink& process_log();

// Writes a line of the library itself.
void log_warning(const std::string& line);

// The hooks of modules: the system's clock, and this log.
const PlatformHooks& logging_hooks();

}  // namespace etb::host
