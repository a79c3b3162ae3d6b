// SPDX-License-Identifier: Apache-2.0
// A host for tests with the services cache/1, in memory, and diag/1.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "etb/etbackend.h"
#include "etb/ext/cache.h"

namespace etb::gpu {

struct MemoryCache {
  std::map<std::string, std::string> entries;
  int get_count = 0, found_count = 0, put_count = 0;

  static std::string text_of(etb_bytes bytes) { return {static_cast<const char*>(bytes.data), bytes.nbytes}; }
  static etb_status ETB_CALL get(void* ctx, etb_bytes key, etb_payload_view* out, etb_error*) {
    auto& self = *static_cast<MemoryCache*>(ctx);
    ++self.get_count;
    const auto entry = self.entries.find(text_of(key));
    if (entry == self.entries.end()) return ETB_NOT_FOUND;
    ++self.found_count;
    out->data = entry->second.data();
    out->nbytes = entry->second.size();
    return ETB_OK;
  }
  static etb_status ETB_CALL put(void* ctx, etb_bytes key, etb_bytes value, etb_error*) {
    auto& self = *static_cast<MemoryCache*>(ctx);
    ++self.put_count;
    self.entries[text_of(key)] = text_of(value);
    return ETB_OK;
  }
};

struct CacheHost {
  MemoryCache cache;
  std::vector<std::string> facts;  // "topic: text" or "topic: key=number key=number"
  etb_cache_service cache_service = {ETB_INIT_SIZE(etb_cache_service), 0, &cache, MemoryCache::get,
                                     MemoryCache::put};
  etb_diag_service diag_service = {ETB_INIT_SIZE(etb_diag_service), 0, &facts, take_fact};
  etb_host raw{};

  CacheHost() {
    raw.struct_size = ETB_INIT_SIZE(etb_host);
    raw.abi_version = ETB_ABI_VERSION;
    raw.name = "test";
    raw.version = "0";
    raw.plugin_dir = "";
    raw.ctx = this;
    raw.get_service = [](const etb_host* host, const char* id) -> const void* {
      const auto& self = *static_cast<const CacheHost*>(host->ctx);
      if (std::string_view(id) == ETB_SERVICE_DIAG) return &self.diag_service;
      return std::string_view(id) == ETB_SERVICE_CACHE ? &self.cache_service : nullptr;
    };
  }
  CacheHost(const CacheHost&) = delete;
  CacheHost& operator=(const CacheHost&) = delete;

  static void ETB_CALL take_fact(void* ctx, const char* topic, const etb_option* fields, uint64_t count) {
    std::string fact = std::string(topic) + ":";
    for (uint64_t i = 0; i < count; ++i)
      fact += fields[i].type == ETB_OPTION_TEXT
                  ? std::string(" ") + fields[i].text
                  : std::string(" ") + fields[i].key + "=" + std::to_string(fields[i].i64);
    static_cast<std::vector<std::string>*>(ctx)->push_back(fact);
  }
};

}  // namespace etb::gpu
