#include "host/runtime/platform_hooks.hpp"

#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>

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
  char line[1024];
  size_t used = 0;
  std::string_view rest(text);
  while (!rest.empty() && used + 4 < sizeof(line)) {
    const size_t nbytes = format::printable_front_nbytes(rest);
    if (nbytes == 0) {
      char escaped[4];
      format::escape_byte(rest[0], escaped);
      std::memcpy(line + used, escaped, sizeof(escaped));
    } else {
      std::memcpy(line + used, rest.data(), nbytes);
    }
    used += nbytes == 0 ? 4 : nbytes;
    rest.remove_prefix(nbytes == 0 ? 1 : nbytes);
  }
  line[used] = '\0';
  std::fprintf(stderr, "etbackend %s: %s\n", kTexts[static_cast<uint8_t>(level) & 3], line);
}

}  // namespace

constinit const PlatformHooks kDefaultPlatformHooks{nullptr, &now_ns, &log};

}  // namespace etb::host
