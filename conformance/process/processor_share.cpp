// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/processor_share.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <thread>

namespace etb::conformance {

// "3.06 5.35 8.77 4/106 24898": the fourth word begins with the number of runnable threads.
double processor_share_of(std::string_view loadavg, unsigned processors) {
  for (int word = 0; word < 3; ++word) {
    const size_t blank = loadavg.find(' ');
    if (blank == std::string_view::npos) return 1;
    loadavg.remove_prefix(blank + 1);
  }
  unsigned runnable = 0;
  const auto [end, error] = std::from_chars(loadavg.data(), loadavg.data() + loadavg.size(), runnable);
  if (error != std::errc() || runnable == 0 || processors == 0) return 1;
  return std::clamp(2.0 * processors / runnable, 1.0 / 16, 1.0);
}

double processor_share() {
  const int file = ::open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 1;
  char text[128];
  const ssize_t nbytes = ::read(file, text, sizeof(text));
  ::close(file);
  if (nbytes <= 0) return 1;
  return processor_share_of({text, static_cast<size_t>(nbytes)}, std::thread::hardware_concurrency());
}

}  // namespace etb::conformance
