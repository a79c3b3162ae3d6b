// SPDX-License-Identifier: Apache-2.0
// Compiled programs in the host's cache, for the next process. A host may have none.
#pragma once

#include <optional>
#include <span>

#include "api/format/digest.hpp"
#include "etb/cpp/host.hpp"
#include "etb/cpp/payload.hpp"
#include "etb/ext/draft/cache.h"

namespace etb::opencl {

class ProgramCache {
 public:
  explicit ProgramCache(const Host& host) : cache_(host.service<etb_cache_service>(ETB_SERVICE_CACHE)) {}

  bool is_there() const { return cache_ != nullptr; }
  // Returns nothing if the cache has no such entry, or cannot read it.
  std::optional<Payload> find(const format::Sha256& key) const;
  // A cache that is full or read-only is no error.
  void put(const format::Sha256& key, std::span<const unsigned char> bytes) const;

 private:
  const etb_cache_service* cache_;
};

}  // namespace etb::opencl
