// SPDX-License-Identifier: Apache-2.0
// DiagCollector (diag/1): stores facts that plugins report for programs, until take().
#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "etb/host.h"
#include "host/services/field.hpp"

namespace etb::host {

struct DiagRecord {
  std::string topic;
  std::vector<Field> fields;
  std::thread::id thread;  // thread of the call
};

class DiagCollector {
 public:
  // Keeps at most `max_records`. Later ones are counted and dropped, so that a plugin cannot fill the memory.
  explicit DiagCollector(size_t max_records = 1024);
  DiagCollector(const DiagCollector&) = delete;
  DiagCollector& operator=(const DiagCollector&) = delete;

  const etb_diag_service* service() const noexcept { return &service_; }

  // Returns the records since the last call, in order. If records were dropped, a last one states it: topic
  // "diag.dropped", field "count".
  std::vector<DiagRecord> take();

 private:
  static void ETB_CALL report(void* ctx, const char* topic, const etb_option* fields, uint64_t field_count);

  const size_t max_records_;
  std::mutex mutex_;
  std::vector<DiagRecord> records_;
  uint64_t dropped_count_ = 0;
  etb_diag_service service_{};
};

}  // namespace etb::host
