// SPDX-License-Identifier: Apache-2.0
#include "host/runtime/platform_hooks.hpp"

#include <cstdio>
#include <ctime>

#include "api/format/printable_text.hpp"
#include "host/runtime/platform_functions.h"

// Without an operating system there is neither clock nor console, until the program defines these.
extern "C" __attribute__((weak)) uint64_t etb_platform_now_ns(void*) {
#if defined(CLOCK_MONOTONIC)
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
#else
  return 0;
#endif
}

extern "C" __attribute__((weak)) void etb_platform_log([[maybe_unused]] uint32_t level,
                                                       [[maybe_unused]] const char* line) {
#if defined(CLOCK_MONOTONIC)
  constexpr const char* kTexts[] = {"debug", "info", "warning", "error"};
  std::fprintf(stderr, "etbackend %s: %s\n", kTexts[level & 3], line);
#endif
}

namespace etb::host {

namespace {

void log(void*, LogLevel level, const char* text) {
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
  etb_platform_log(static_cast<uint32_t>(level), line);
}

}  // namespace

constinit const PlatformHooks kDefaultPlatformHooks{nullptr, &etb_platform_now_ns, nullptr};
constinit const PlatformHooks kLoggingPlatformHooks{nullptr, &etb_platform_now_ns, &log};

}  // namespace etb::host
