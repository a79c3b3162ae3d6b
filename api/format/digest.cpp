#include "api/format/digest.hpp"

#include <sodium/crypto_hash_sha256.h>

#include "api/format/digest_x86.hpp"

namespace etb::format {

Sha256 sha256(std::span<const uint8_t> bytes) noexcept {
#if defined(__x86_64__)
  static const bool has_instructions = has_sha_instructions();
  if (has_instructions) return sha256_with_instructions(bytes);
#endif
  static_assert(crypto_hash_sha256_BYTES == std::tuple_size_v<Sha256>);
  Sha256 digest;
  crypto_hash_sha256(digest.data(), bytes.data(), bytes.size());
  return digest;
}

}  // namespace etb::format
