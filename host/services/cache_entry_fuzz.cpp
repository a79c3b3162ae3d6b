// SPDX-License-Identifier: Apache-2.0
// Fuzzes arbitrary bytes as the file of a cache entry, and as a value: a file that was written is read back, and is not read
// with one bit changed, a byte missing, or under another name.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "host/services/cache_entry.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace etb::host;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const etb::format::Sha256 name{1, 2, 3}, other{1, 2, 4};
  if (const auto value = read_cache_entry(name, bytes); value && value->size() + kCacheHeaderNbytes != size)
    std::abort();
  const auto header = make_cache_header(name, bytes);
  std::vector<std::byte> file(header.begin(), header.end());
  file.insert(file.end(), bytes.begin(), bytes.end());
  const auto value = read_cache_entry(name, file);
  if (!value || value->size() != size || (size != 0 && std::memcmp(value->data(), data, size) != 0))
    std::abort();
  if (read_cache_entry(other, file) || read_cache_entry(name, std::span(file).first(file.size() - 1)))
    std::abort();
  size_t at = 0;
  for (size_t i = 0; i < size && i < 4; ++i) at = at * 256 + data[i];
  file[at % file.size()] ^= std::byte{1} << (size & 7);
  if (read_cache_entry(name, file)) std::abort();
  return 0;
}
