// SPDX-License-Identifier: Apache-2.0
// LogSink (log/1): passes log lines to a function of the application.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "etb/host.h"
#include "host/services/field.hpp"

namespace etb::host {

// A line as the plugin wrote it, for programs. format_line() escapes it for output.
struct LogLine {
  uint32_t level = 0;  // ETB_LOG_*
  std::string text;
  std::vector<Field> fields;
};

class LogSink {
 public:
  using Write = std::function<void(const LogLine&)>;

  // `write` receives lines of `min_level` and above, one at a time, on the thread that logs. It must not log.
  LogSink(uint32_t min_level, Write write);
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;

  const etb_log_service* service() const noexcept { return &service_; }

 private:
  static void ETB_CALL write_line(void* ctx, uint32_t level, const char* text, const etb_option* fields,
                                  uint64_t field_count);

  Write write_;
  std::mutex mutex_;
  etb_log_service service_{};
};

// "text (key=value, key=value)": one line, with escapes for all bytes that could control a terminal.
std::string format_text(const LogLine& line);

// "warning: text (key=value, key=value)", with the same escapes.
std::string format_line(const LogLine& line);

}  // namespace etb::host
