// What the core asks of the system it runs on: a clock and a log. An object someone hands in, so that a firmware replaces it
// without touching a global. There is no abort hook, because the core never aborts.
#pragma once

#include <cstdint>

namespace etb::host {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

struct PlatformHooks {
  void* self = nullptr;
  uint64_t (*now_ns)(void* self) = nullptr;  // monotonic
  void (*log)(void* self, LogLevel level, const char* text) = nullptr;
};

// The C library's monotonic clock and standard error.
extern const PlatformHooks kDefaultPlatformHooks;

}  // namespace etb::host
