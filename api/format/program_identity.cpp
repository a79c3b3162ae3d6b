// SPDX-License-Identifier: Apache-2.0
#include "api/format/program_identity.hpp"

#include <algorithm>
#include <vector>

#include "api/format/bundled_program_view.hpp"
#include "api/format/digest.hpp"
#include "api/format/hex.hpp"
#include "api/format/input_file.hpp"

namespace etb::format {

namespace {

constexpr uint64_t kHeadNbytes = 8;

std::string digest_of(std::span<const std::byte> bytes) {
  return to_hex(sha256({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
}

Result<std::string> digest_of_bundle(const InputFile& file) {
  struct alignas(16) Block {
    std::byte bytes[16];
  };
  std::vector<Block> blocks(static_cast<size_t>(file.nbytes() / sizeof(Block) + 1));
  const auto bytes = std::as_writable_bytes(std::span(blocks)).first(static_cast<size_t>(file.nbytes()));
  ETB_TRY(file.read(0, bytes));
  BundledProgramView view;
  etb_error error{};
  error.struct_size = ETB_INIT_SIZE(etb_error);
  if (read_bundled_program(bytes, &view, &error) != ETB_OK) return make_error(Code::INVALID_DATA, error.text);
  return digest_of(view.program());
}

}  // namespace

Result<ProgramIdentity> identify_program(const std::string& path) {
  constexpr uint64_t kPieceNbytes = uint64_t{1} << 20;
  ETB_ASSIGN(const InputFile file, InputFile::open(path));
  const std::string name = path.substr(path.rfind('/') + 1);
  std::byte head[kHeadNbytes] = {};
  if (file.nbytes() >= kHeadNbytes) ETB_TRY(file.read(0, head));
  if (file.nbytes() >= kHeadNbytes && is_bundled_program(head)) {
    ETB_ASSIGN(std::string sha, digest_of_bundle(file));
    return ProgramIdentity{name, std::move(sha)};
  }
  Sha256Sum sum;
  std::vector<std::byte> piece(static_cast<size_t>(std::min(file.nbytes(), kPieceNbytes)));
  for (uint64_t at = 0; at < file.nbytes(); at += piece.size()) {
    piece.resize(static_cast<size_t>(std::min(file.nbytes() - at, kPieceNbytes)));
    ETB_TRY(file.read(at, piece));
    sum.add({reinterpret_cast<const uint8_t*>(piece.data()), piece.size()});
  }
  return ProgramIdentity{name, to_hex(sum.finish())};
}

}  // namespace etb::format
