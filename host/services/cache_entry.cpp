// SPDX-License-Identifier: Apache-2.0
#include "host/services/cache_entry.hpp"

#include <cstdint>
#include <cstring>

namespace etb::host {
namespace {

constexpr char kMagic[8] = {'E', 'T', 'B', 'C', 'A', 'C', 'H', 'E'};
constexpr uint64_t kVersion = 1;
constexpr size_t kDigestOffset = 56;

void write_number(std::byte* to, uint64_t number) {
  for (int i = 0; i < 8; ++i) to[i] = static_cast<std::byte>(number >> (8 * i));
}

std::span<const uint8_t> as_numbers(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace

std::array<std::byte, kCacheHeaderNbytes> make_cache_header(const format::Sha256& name,
                                                            std::span<const std::byte> value) {
  std::array<std::byte, kCacheHeaderNbytes> header{};
  std::memcpy(header.data(), kMagic, sizeof(kMagic));
  write_number(&header[8], kVersion);
  write_number(&header[16], value.size());
  std::memcpy(&header[24], name.data(), name.size());
  format::Sha256Sum sum;
  sum.add(as_numbers({header.data(), kDigestOffset}));
  sum.add(as_numbers(value));
  const format::Sha256 digest = sum.finish();
  std::memcpy(&header[kDigestOffset], digest.data(), digest.size());
  return header;
}

std::optional<std::span<const std::byte>> read_cache_entry(const format::Sha256& name,
                                                           std::span<const std::byte> file) {
  if (file.size() < kCacheHeaderNbytes) return std::nullopt;
  const std::span<const std::byte> value = file.subspan(kCacheHeaderNbytes);
  const auto expected = make_cache_header(name, value);
  if (std::memcmp(file.data(), expected.data(), expected.size()) != 0) return std::nullopt;
  return value;
}

}  // namespace etb::host
