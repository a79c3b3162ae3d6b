// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/run/kernel_cache.hpp"

#include <cstring>
#include <vector>

namespace etb::gpu {

namespace {

format::Sha256 digest_of(const format::Sha256& key, std::span<const std::byte> bytes) {
  format::Sha256Sum sum;
  sum.add(key);
  sum.add({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  return sum.finish();
}

}  // namespace

std::optional<KernelCache::Entry> KernelCache::find(const format::Sha256& key) const {
  if (!is_there()) return std::nullopt;
  etb_payload_view view{};
  view.struct_size = ETB_INIT_SIZE(etb_payload_view);
  view.fd = -1;
  etb_error error = ETB_ERROR_INIT;
  if (cache_->get(cache_->ctx, {key.data(), key.size()}, &view, &error) != ETB_OK) return std::nullopt;
  auto made = Payload::make(&view);
  if (!made || made->bytes().size() <= key.size()) return std::nullopt;
  Entry entry(std::move(*made));
  const format::Sha256 digest = digest_of(key, entry.bytes());
  if (std::memcmp(entry.bytes().data() - digest.size(), digest.data(), digest.size()) != 0) {
    report_dropped("other bytes than were stored");
    return std::nullopt;
  }
  return entry;
}

void KernelCache::report_dropped(const char* why) const {
  const etb_option field = {
      ETB_INIT_SIZE(etb_option), 0, "why", ETB_OPTION_TEXT, 0, 0, 0, why, {nullptr, 0}, nullptr, nullptr};
  host_.report("gpu.cache-entry-dropped", {&field, 1});
}

void KernelCache::put(const format::Sha256& key, std::span<const std::byte> bytes) const {
  if (!is_there()) return;
  const format::Sha256 digest = digest_of(key, bytes);
  std::vector<std::byte> value(digest.size() + bytes.size());
  std::memcpy(value.data(), digest.data(), digest.size());
  if (!bytes.empty()) std::memcpy(value.data() + digest.size(), bytes.data(), bytes.size());
  etb_error error = ETB_ERROR_INIT;
  (void)cache_->put(cache_->ctx, {key.data(), key.size()}, {value.data(), value.size()}, &error);
}

}  // namespace etb::gpu
