// SPDX-License-Identifier: Apache-2.0
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

Status compare_digests(const std::string& name, const Sha256& found, const Sha256& expected) {
  if (found == expected) return {};
  return refuse(Reason::kLibraryDigest,
                name + ": sha256 " + format::to_hex(found) + ", expected " + format::to_hex(expected));
}

}  // namespace etb::host
