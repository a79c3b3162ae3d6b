// diag/1: facts that plugins report for programs, kept until someone takes them.
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
  std::thread::id thread;  // whose call it belongs to
};

class DiagCollector {
 public:
  // Keeps at most `max_records`; later ones are counted and dropped, so that a plugin cannot fill the memory.
  explicit DiagCollector(size_t max_records = 1024);
  DiagCollector(const DiagCollector&) = delete;
  DiagCollector& operator=(const DiagCollector&) = delete;

  const etb_diag_service* service() const noexcept { return &service_; }

  // Hands over what was reported since the last time, in order.
  std::vector<DiagRecord> take();

  uint64_t dropped_count() const;

 private:
  static void ETB_CALL report(void* ctx, const char* topic, const etb_option* fields, uint64_t field_count);

  const size_t max_records_;
  mutable std::mutex mutex_;
  std::vector<DiagRecord> records_;
  uint64_t dropped_count_ = 0;
  etb_diag_service service_{};
};

}  // namespace etb::host
