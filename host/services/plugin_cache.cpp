// SPDX-License-Identifier: Apache-2.0
#include "host/services/plugin_cache.hpp"

#include <cstring>

#include "etb/cpp/guard.hpp"

namespace etb::host {
namespace {

std::span<const uint8_t> as_numbers(etb_bytes bytes) {
  return {static_cast<const uint8_t*>(bytes.data), static_cast<size_t>(bytes.nbytes)};
}

}  // namespace

PluginCache::PluginCache(std::shared_ptr<const DiskCache> cache, const etb_plugin_ident& ident)
    : cache_(std::move(cache)), service_{ETB_INIT_SIZE(etb_cache_service), 0, this, &get, &put} {
  format::Sha256Sum sum;
  const auto add = [&](const auto& text) {  // with its NUL and the padding, which has no other bytes
    char padded[sizeof(text)] = {};
    std::memcpy(padded, text, strnlen(text, sizeof(text)));
    sum.add({reinterpret_cast<const uint8_t*>(padded), sizeof(padded)});
  };
  add(ident.id);
  add(ident.version);
  add(ident.build_id);
  owner_ = sum.finish();
}

format::Sha256 PluginCache::name_of(etb_bytes key) const {
  format::Sha256Sum sum;
  sum.add(owner_);
  sum.add(as_numbers(key));
  return sum.finish();
}

etb_status PluginCache::get(void* ctx, etb_bytes key, etb_payload_view* out, etb_error* error) {
  auto& self = *static_cast<PluginCache*>(ctx);
  return guard(error, [&]() -> Status {
    if (out == nullptr || !ETB_HAS_FIELD(etb_payload_view, out, release))
      return make_error(Code::INVALID_ARGUMENT, "cache: no view of the size of version 1.0");
    auto found = self.cache_->get(self.name_of(key));
    if (!found) return make_error(Code::NOT_FOUND, "cache: " + found.error().message);
    auto lent = std::make_unique<Lent>(Lent{self, std::move(*found)});
    const std::span<const std::byte> bytes = lent->value.bytes();
    out->data = bytes.empty() ? nullptr : bytes.data();
    out->nbytes = bytes.size();
    out->alignment = static_cast<uint64_t>(CacheValue::kAlignment);
    out->fd = -1;
    out->fd_offset_bytes = 0;
    out->release_ctx = lent.get();
    out->release = &release;
    const std::lock_guard lock(self.mutex_);
    self.lent_.emplace(lent.get(), std::move(lent));
    return {};
  });
}

etb_status PluginCache::put(void* ctx, etb_bytes key, etb_bytes value, etb_error* error) {
  auto& self = *static_cast<PluginCache*>(ctx);
  return guard(error, [&] { return self.cache_->put(self.name_of(key), std::as_bytes(as_numbers(value))); });
}

void PluginCache::release(void* lent) {
  PluginCache& self = static_cast<Lent*>(lent)->owner;
  const std::lock_guard lock(self.mutex_);
  self.lent_.erase(lent);
}

}  // namespace etb::host
