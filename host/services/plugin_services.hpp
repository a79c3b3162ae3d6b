// SPDX-License-Identifier: Apache-2.0
// PluginServices: the services of one plugin: its own accounted memory and cache, and the host's log,
// threads, clock and diagnostics.
#pragma once

#include "host/services/accounted_allocator.hpp"
#include "host/services/clock.hpp"
#include "host/services/diag_collector.hpp"
#include "host/services/log_sink.hpp"
#include "host/services/plugin_cache.hpp"
#include "host/services/service_table.hpp"
#include "host/services/thread_pool.hpp"

namespace etb::host {

// Services that all plugins of one host share. Any may be NULL: plugins work without it (ABI-HOST-01).
struct SharedServices {
  LogSink* log = nullptr;
  ThreadPool* pool = nullptr;
  DiagCollector* diag = nullptr;
  std::shared_ptr<const DiskCache> cache = {};
};

class PluginServices {
 public:
  // `ident`: of the plugin, needed for a cache.
  explicit PluginServices(const SharedServices& shared,
                          uint64_t memory_cap_bytes = AccountedAllocator::kUnbounded,
                          const etb_host* application = nullptr, const etb_plugin_ident* ident = nullptr)
      : memory_(memory_cap_bytes), table_(application) {
    table_.add(ETB_SERVICE_ALLOC, memory_.service());
    table_.add(ETB_SERVICE_CLOCK, clock_service());
    if (shared.log != nullptr) table_.add(ETB_SERVICE_LOG, shared.log->service());
    if (shared.pool != nullptr) table_.add(ETB_SERVICE_PARALLEL, shared.pool->service());
    if (shared.diag != nullptr) table_.add(ETB_SERVICE_DIAG, shared.diag->service());
    if (shared.cache != nullptr && ident != nullptr)
      table_.add(ETB_SERVICE_CACHE, cache_.emplace(shared.cache, *ident).service());
  }
  PluginServices(const PluginServices&) = delete;
  PluginServices& operator=(const PluginServices&) = delete;

  AccountedAllocator& memory() noexcept { return memory_; }

  // For the application's own services. Add them before init.
  ServiceTable& table() noexcept { return table_; }

 private:
  AccountedAllocator memory_;
  std::optional<PluginCache> cache_;
  ServiceTable table_;
};

}  // namespace etb::host
