// SPDX-License-Identifier: Apache-2.0
#include "host/services/log_sink.hpp"

#include <utility>

#include "api/format/printable_text.hpp"

namespace etb::host {

LogSink::LogSink(uint32_t min_level, Write write) : write_(std::move(write)) {
  service_.struct_size = sizeof(service_);
  service_.ctx = this;
  service_.min_level = min_level;
  service_.write = &LogSink::write_line;
}

void ETB_CALL LogSink::write_line(void* ctx, uint32_t level, const char* text, const etb_option* fields,
                                  uint64_t field_count) try {
  auto& self = *static_cast<LogSink*>(ctx);
  if (level < self.service_.min_level) return;
  const LogLine line{level, text == nullptr ? "" : text, to_fields(fields, field_count)};
  const std::lock_guard lock(self.mutex_);
  self.write_(line);
} catch (...) {
  // No exception may leave a function of the ABI (ABI-CALL-03). A line that cannot be written is lost.
}

std::string format_text(const LogLine& line) {
  std::string out = format::made_printable(line.text);
  for (const Field& field : line.fields)
    out += (&field == line.fields.data() ? " (" : ", ") + format::made_printable(field.key) + "=" +
           format::made_printable(field.value);
  if (!line.fields.empty()) out += ")";
  return out;
}

std::string format_line(const LogLine& line) {
  const std::string level = line.level >= ETB_LOG_ERROR     ? "error: "
                            : line.level >= ETB_LOG_WARNING ? "warning: "
                            : line.level >= ETB_LOG_INFO    ? "info: "
                                                            : "debug: ";
  return level + format_text(line);
}

}  // namespace etb::host
