#include "host/runtime/platform_hooks.hpp"

#include <ctime>

#include <cstdio>

namespace etb::host {

namespace {

uint64_t now_ns(void*) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
}

void log(void*, LogLevel level, const char* text) {
  constexpr const char* kTexts[] = {"debug", "info", "warning", "error"};
  std::fprintf(stderr, "etbackend %s: %s\n", kTexts[static_cast<uint8_t>(level) & 3], text);
}

}  // namespace

constinit const PlatformHooks kDefaultPlatformHooks{nullptr, &now_ns, &log};

}  // namespace etb::host
