// SPDX-License-Identifier: Apache-2.0
//
// The host and its services in C++. A service that the host lacks is no error (ABI-HOST-01): logging is
// dropped, parallel_for runs on the calling thread, the clock is the system's.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "etb/host.h"

namespace etb {

class Host {
 public:
  Host() = default;
  explicit Host(const etb_host* raw)
      : raw_(raw),
        log_(service<etb_log_service>(ETB_SERVICE_LOG)),
        parallel_(service<etb_parallel_service>(ETB_SERVICE_PARALLEL)),
        clock_(service<etb_clock_service>(ETB_SERVICE_CLOCK)) {}

  // Returns a service by id; NULL when the host lacks it or has an older, smaller one.
  template <class T>
  const T* service(const char* id) const {
    if (raw_ == nullptr || raw_->get_service == nullptr) return nullptr;
    const auto* table = static_cast<const T*>(raw_->get_service(raw_, id));
    return table != nullptr && table->struct_size >= sizeof(T) ? table : nullptr;
  }

  const char* plugin_dir() const { return raw_ != nullptr && raw_->plugin_dir ? raw_->plugin_dir : ""; }
  bool is_secure() const { return raw_ != nullptr && (raw_->flags & ETB_HOST_SECURE) != 0; }

  void log(uint32_t level, const char* text) const {
    if (log_ != nullptr && level >= log_->min_level) log_->write(log_->ctx, level, text, nullptr, 0);
  }

  // Reports facts about the current call, for programs. `topic` is a stable id, such as "my_npu.device-lost".
  void report(const char* topic, std::span<const etb_option> fields) const {
    if (const auto* diag = service<etb_diag_service>(ETB_SERVICE_DIAG); diag != nullptr)
      diag->report(diag->ctx, topic, fields.data(), fields.size());
  }

  // Returns nanoseconds on the clock of events and deadlines.
  uint64_t now_ns() const {
    if (clock_ != nullptr) return clock_->now_ns(clock_->ctx);
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
  }

  // Calls task(begin, end, worker) over [0, count) in pieces of at least `grain`. The task must not throw.
  template <class Task>
  void parallel_for(uint64_t count, uint64_t grain, Task&& task) const {
    if (parallel_ == nullptr) {
      if (count > 0) task(uint64_t{0}, count, uint32_t{0});
      return;
    }
    using Body = std::remove_reference_t<Task>;
    parallel_->parallel_for(
        parallel_->ctx, count, grain,
        [](void* arg, uint64_t begin, uint64_t end, uint32_t worker) {
          (*static_cast<Body*>(arg))(begin, end, worker);
        },
        const_cast<void*>(static_cast<const void*>(&task)));
  }

 private:
  const etb_host* raw_ = nullptr;
  const etb_log_service* log_ = nullptr;
  const etb_parallel_service* parallel_ = nullptr;
  const etb_clock_service* clock_ = nullptr;
};

}  // namespace etb
