// What the core asks of the system it runs on: a clock and a log. An object someone hands in, so that a firmware replaces it
// without touching a global. There is no abort hook, because the core never aborts.
#pragma once

#include <cstdint>

namespace etb::host {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

struct PlatformHooks {
  void* self = nullptr;
  uint64_t (*now_ns)(void* self) = nullptr;  // monotonic
  // `text` may have bytes of a file in it: a log that ends at a terminal escapes them (api/format/printable_text.hpp).
  void (*log)(void* self, LogLevel level, const char* text) = nullptr;
};

// The C library's monotonic clock and standard error.
extern const PlatformHooks kDefaultPlatformHooks;

}  // namespace etb::host
