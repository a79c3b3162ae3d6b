// SPDX-License-Identifier: Apache-2.0
// PluginCache: the service cache/1 of one plugin, in the DiskCache that plugins share. Keys belong to a plugin's id, version and
// build, so no plugin reads what another one, or another version, wrote.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "etb/ext/cache.h"
#include "etb/plugin.h"
#include "host/services/disk_cache.hpp"

namespace etb::host {

class PluginCache {
 public:
  PluginCache(std::shared_ptr<const DiskCache> cache, const etb_plugin_ident& ident);
  PluginCache(const PluginCache&) = delete;
  PluginCache& operator=(const PluginCache&) = delete;

  const etb_cache_service* service() const noexcept { return &service_; }

 private:
  // A value that the plugin has not released yet.
  struct Lent {
    PluginCache& owner;
    CacheValue value;
  };

  static etb_status ETB_CALL get(void* ctx, etb_bytes key, etb_payload_view* out, etb_error* error);
  static etb_status ETB_CALL put(void* ctx, etb_bytes key, etb_bytes value, etb_error* error);
  static void ETB_CALL release(void* lent);
  format::Sha256 name_of(etb_bytes key) const;

  std::shared_ptr<const DiskCache> cache_;
  format::Sha256 owner_;  // digest of the plugin's identity
  etb_cache_service service_;
  std::mutex mutex_;
  std::map<const void*, std::unique_ptr<Lent>> lent_;
};

}  // namespace etb::host
