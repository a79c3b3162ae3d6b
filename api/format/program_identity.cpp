// SPDX-License-Identifier: Apache-2.0
#include "api/format/program_identity.hpp"

#include <algorithm>
#include <vector>

#include "api/format/digest.hpp"
#include "api/format/hex.hpp"
#include "api/format/input_file.hpp"

namespace etb::format {

Result<ProgramIdentity> identify_program(const std::string& path) {
  constexpr uint64_t kPieceNbytes = uint64_t{1} << 20;
  ETB_ASSIGN(const InputFile file, InputFile::open(path));
  Sha256Sum sum;
  std::vector<std::byte> piece(static_cast<size_t>(std::min(file.nbytes(), kPieceNbytes)));
  for (uint64_t at = 0; at < file.nbytes(); at += piece.size()) {
    piece.resize(static_cast<size_t>(std::min(file.nbytes() - at, kPieceNbytes)));
    ETB_TRY(file.read(at, piece));
    sum.add({reinterpret_cast<const uint8_t*>(piece.data()), piece.size()});
  }
  return ProgramIdentity{path.substr(path.rfind('/') + 1), to_hex(sum.finish())};
}

}  // namespace etb::format
