// SPDX-License-Identifier: Apache-2.0
#include "host/runtime/platform_hooks.hpp"

#include <cstdio>
#include <ctime>

#include "api/format/printable_text.hpp"

namespace etb::host {

namespace {

uint64_t now_ns(void*) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
}

void log(void*, LogLevel level, const char* text) {
  constexpr const char* kTexts[] = {"debug", "info", "warning", "error"};
  char line[512];
  size_t used = 0;
  // made_printable() keeps Unicode, for which the core has no space. Names of ops are ASCII.
  for (; *text != '\0' && used + 4 < sizeof(line); ++text) {
    if (*text >= 0x20 && *text < 0x7f)
      line[used++] = *text;
    else
      used += format::escape_byte(*text, *reinterpret_cast<char(*)[4]>(line + used));
  }
  line[used] = '\0';
  std::fprintf(stderr, "etbackend %s: %s\n", kTexts[static_cast<uint8_t>(level) & 3], line);
}

}  // namespace

constinit const PlatformHooks kDefaultPlatformHooks{nullptr, &now_ns, nullptr};
constinit const PlatformHooks kLoggingPlatformHooks{nullptr, &now_ns, &log};

}  // namespace etb::host
