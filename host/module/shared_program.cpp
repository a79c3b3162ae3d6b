// SPDX-License-Identifier: Apache-2.0
#include "host/module/shared_program.hpp"

#include <algorithm>
#include <vector>

namespace etb::host {

Result<format::Sha256> SharedProgram::digest() const {
  constexpr uint64_t kPieceNbytes = uint64_t{1} << 20;
  etb_error error = ETB_ERROR_INIT;
  uint64_t nbytes = 0;
  if (const etb_status status = loader_->size(&nbytes, &error); status != ETB_OK)
    return make_error(static_cast<Code>(status), error.text);
  format::Sha256Sum sum;
  std::vector<std::byte> piece(static_cast<size_t>(std::min(nbytes, kPieceNbytes)));
  for (uint64_t at = 0; at < nbytes; at += piece.size()) {
    piece.resize(static_cast<size_t>(std::min(nbytes - at, kPieceNbytes)));
    if (const etb_status status = loader_->read(at, piece, &error); status != ETB_OK)
      return make_error(static_cast<Code>(status), error.text);
    sum.add({reinterpret_cast<const uint8_t*>(piece.data()), piece.size()});
  }
  return sum.finish();
}

FileMapping SharedProgram::mapped_file() const noexcept {
  const auto* const mapped = dynamic_cast<const MmapLoader*>(loader_.get());
  return mapped == nullptr ? FileMapping() : mapped->file();
}

}  // namespace etb::host
