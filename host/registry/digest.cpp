#include "host/registry/digest.hpp"

#include <sodium/crypto_hash_sha256.h>

#include <algorithm>
#include <vector>

namespace etb::host {

Result<Sha256> sha256_of(const ByteSource& source) {
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  std::vector<uint8_t> piece(std::min<uint64_t>(source.nbytes(), 64 << 10));
  for (uint64_t at = 0; at < source.nbytes();) {
    const size_t nbytes = std::min<uint64_t>(piece.size(), source.nbytes() - at);
    ETB_TRY(source.read(at, {piece.data(), nbytes}));
    crypto_hash_sha256_update(&state, piece.data(), nbytes);
    at += nbytes;
  }
  Sha256 digest;
  crypto_hash_sha256_final(&state, digest.data());
  return digest;
}

}  // namespace etb::host
