// SPDX-License-Identifier: Apache-2.0
// PlatformHooks: a clock and a log, all that the core needs from the system. The caller passes an object, so
// a firmware replaces it without a global. There is no abort hook, because the core never aborts.
#pragma once

#include <cstdint>

namespace etb::host {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

struct PlatformHooks {
  void* self = nullptr;
  uint64_t (*now_ns)(void* self) = nullptr;  // monotonic
  // NULL: no log. `text` may contain bytes of a file. A log that writes to a terminal escapes them
  // (api/format/printable_text.hpp).
  void (*log)(void* self, LogLevel level, const char* text) = nullptr;
};

// The C library's monotonic clock, and no log.
extern const PlatformHooks kDefaultPlatformHooks;

// The same clock, and a log to standard error.
extern const PlatformHooks kLoggingPlatformHooks;

}  // namespace etb::host
