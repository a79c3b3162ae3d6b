// SPDX-License-Identifier: Apache-2.0
#include "plugins/opencl/program_cache.hpp"

namespace etb::opencl {

std::optional<Payload> ProgramCache::find(const format::Sha256& key) const {
  if (!is_there()) return std::nullopt;
  etb_payload_view view{};
  view.struct_size = ETB_INIT_SIZE(etb_payload_view);
  etb_error error = ETB_ERROR_INIT;
  if (cache_->get(cache_->ctx, {key.data(), key.size()}, &view, &error) != ETB_OK) return std::nullopt;
  auto made = Payload::make(&view);
  if (!made || made->bytes().empty()) return std::nullopt;
  return std::move(*made);
}

void ProgramCache::put(const format::Sha256& key, std::span<const unsigned char> bytes) const {
  etb_error error = ETB_ERROR_INIT;
  if (is_there())
    (void)cache_->put(cache_->ctx, {key.data(), key.size()}, {bytes.data(), bytes.size()}, &error);
}

}  // namespace etb::opencl
