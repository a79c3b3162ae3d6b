#include "host/registry/digest.hpp"

#include <algorithm>
#include <vector>

#include "api/format/digest.hpp"
#include "api/format/hex.hpp"
#include "host/registry/reason.hpp"

namespace etb::host {

Result<Sha256> sha256_of(const ByteSource& source) {
  format::Sha256Sum sum;
  std::vector<uint8_t> piece(std::min<uint64_t>(source.nbytes(), 64 << 10));
  for (uint64_t at = 0; at < source.nbytes();) {
    const size_t nbytes = std::min<uint64_t>(piece.size(), source.nbytes() - at);
    ETB_TRY(source.read(at, {piece.data(), nbytes}));
    sum.add({piece.data(), nbytes});
    at += nbytes;
  }
  return sum.finish();
}

Status verify_digest(const std::string& name, const std::optional<Sha256>& expected,
                     const ByteSource& source) {
  if (!expected) return {};
  ETB_ASSIGN(const Sha256 digest, sha256_of(source));
  if (digest == *expected) return {};
  return refuse(Reason::kLibraryDigest,
                name + ": sha256 " + format::to_hex(digest) + ", expected " + format::to_hex(*expected));
}

}  // namespace etb::host
