// SPDX-License-Identifier: Apache-2.0
#include "host/services/diag_collector.hpp"

#include <utility>

namespace etb::host {

DiagCollector::DiagCollector(size_t max_records) : max_records_(max_records) {
  service_.struct_size = sizeof(service_);
  service_.ctx = this;
  service_.report = &DiagCollector::report;
}

void ETB_CALL DiagCollector::report(void* ctx, const char* topic, const etb_option* fields,
                                    uint64_t field_count) try {
  auto& self = *static_cast<DiagCollector*>(ctx);
  DiagRecord record{topic == nullptr ? "" : topic, to_fields(fields, field_count),
                    std::this_thread::get_id()};
  const std::lock_guard lock(self.mutex_);
  if (self.records_.size() < self.max_records_)
    self.records_.push_back(std::move(record));
  else
    ++self.dropped_count_;
} catch (...) {
  // No exception may leave a function of the ABI (ABI-CALL-03). A record that does not fit in memory is lost.
}

std::vector<DiagRecord> DiagCollector::take() {
  const std::lock_guard lock(mutex_);
  if (const uint64_t count = std::exchange(dropped_count_, 0); count != 0)
    records_.push_back({"diag.dropped", {{"count", std::to_string(count)}}, std::this_thread::get_id()});
  return std::exchange(records_, {});
}

}  // namespace etb::host
