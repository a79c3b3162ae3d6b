// SPDX-License-Identifier: Apache-2.0
// Compiled kernels in the host's cache, for the next process. A host may have none.
#pragma once

#include <optional>
#include <span>

#include "api/format/digest.hpp"
#include "etb/cpp/host.hpp"
#include "etb/cpp/payload.hpp"
#include "etb/ext/cache.h"

namespace etb::gpu {

class KernelCache {
 public:
  explicit KernelCache(const Host& host)
      : host_(host), cache_(host.service<etb_cache_service>(ETB_SERVICE_CACHE)) {}

  bool is_there() const { return cache_ != nullptr; }

  // The bytes of an entry.
  class Entry {
   public:
    explicit Entry(Payload payload) : payload_(std::move(payload)) {}
    std::span<const std::byte> bytes() const { return payload_.bytes().subspan(sizeof(format::Sha256)); }

   private:
    Payload payload_;  // a digest of the bytes, then the bytes
  };
  // Returns nothing if the cache has no such entry, or one with other bytes than were put. A driver may load them as code, so
  // the plugin does not rely on the host alone.
  std::optional<Entry> find(const format::Sha256& key) const;
  // Reports the fact "gpu.cache-entry-dropped". `why` is the field.
  void report_dropped(const char* why) const;
  // A cache that is full or read-only is no error.
  void put(const format::Sha256& key, std::span<const std::byte> bytes) const;

 private:
  Host host_;
  const etb_cache_service* cache_;
};

}  // namespace etb::gpu
