#include "api/format/digest.hpp"

#include <sodium/crypto_hash_sha256.h>

namespace etb::format {

Sha256 sha256(std::span<const uint8_t> bytes) noexcept {
  static_assert(crypto_hash_sha256_BYTES == std::tuple_size_v<Sha256>);
  Sha256 digest;
  crypto_hash_sha256(digest.data(), bytes.data(), bytes.size());
  return digest;
}

}  // namespace etb::format
