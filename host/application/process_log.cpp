// SPDX-License-Identifier: Apache-2.0
#include "host/application/process_log.hpp"

#include <mutex>

#include "etb/cpp/guard.hpp"

namespace etb::host {
namespace {

struct Log {
  std::mutex mutex;  // held while a line is written, so that lines come one at a time
  etb_log_service service{};
};

// Never destroyed: plugins may log at exit.
Log& log() {
  static Log* const made = new Log;
  return *made;
}

void write_line(const LogLine& line) {
  Log& to = log();
  const std::lock_guard lock(to.mutex);
  if (to.service.write == nullptr || line.level < to.service.min_level) return;
  to.service.write(to.service.ctx, line.level, format_text(line).c_str(), nullptr, 0);
}

void write_own_line(void*, LogLevel level, const char* text) {
  constexpr uint32_t kLevels[] = {ETB_LOG_DEBUG, ETB_LOG_INFO, ETB_LOG_WARNING, ETB_LOG_ERROR};
  write_line({kLevels[static_cast<uint8_t>(level) & 3], text, {}});
}

}  // namespace

Status set_process_log(const etb_log_service* service) {
  if (service != nullptr) {
    ETB_TRY(ETB_ACCEPT(etb_log_service, service, write));
    if (service->write == nullptr) return make_error(Code::INVALID_ARGUMENT, "log: write is NULL");
  }
  Log& to = log();
  const std::lock_guard lock(to.mutex);
  to.service = service == nullptr ? etb_log_service{} : copy_struct(*service);
  return {};
}

LogSink& process_log() {
  // Plugins pass every line, because the application may set its log, and the level, at any time.
  static LogSink* const sink = new LogSink(ETB_LOG_DEBUG, &write_line);
  return *sink;
}

void log_warning(const std::string& line) { write_own_line(nullptr, LogLevel::kWarning, line.c_str()); }

const PlatformHooks& logging_hooks() {
  static const PlatformHooks hooks{nullptr, kDefaultPlatformHooks.now_ns, &write_own_line};
  return hooks;
}

}  // namespace etb::host
