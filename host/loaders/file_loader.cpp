// SPDX-License-Identifier: Apache-2.0
#include "host/loaders/file_loader.hpp"

#include <algorithm>
#include <cstdlib>

#include "etb/cpp/fail.hpp"

namespace etb::host {

etb_status FileLoader::size(uint64_t* out_nbytes, etb_error* error) noexcept {
  ETB_CHECK(file_.check_range(0, 0, error));
  *out_nbytes = file_.nbytes();
  return ETB_OK;
}

etb_status FileLoader::load(uint64_t offset, uint64_t nbytes, uint64_t alignment, DataBlock* out,
                            etb_error* error) noexcept {
  ETB_CHECK(file_.check_range(offset, nbytes, error));
  void* memory = nullptr;
  // One page: keeps the file's own alignment up to that size, for any `offset`.
  constexpr uint64_t kPage = 4096;
  const uint64_t boundary = std::max(alignment, kPage);
  const uint64_t lead = offset % std::min(alignment, kPage);
  if (nbytes > SIZE_MAX - lead - boundary ||
      ::posix_memalign(&memory, static_cast<size_t>(boundary),
                       static_cast<size_t>(lead + nbytes + (nbytes == 0 ? 1 : 0))) != 0) {
    return fail(error, ETB_OUT_OF_MEMORY, "%llu bytes for a part of the file",
                static_cast<unsigned long long>(nbytes));
  }
  const std::span<std::byte> bytes(static_cast<std::byte*>(memory) + lead, static_cast<size_t>(nbytes));
  if (const etb_status status = file_.read(offset, bytes, error); status != ETB_OK) {
    std::free(memory);
    return status;
  }
  *out = DataBlock(
      bytes, [](void* start, const std::byte*, uint64_t) { std::free(start); }, memory);
  return ETB_OK;
}

etb_status FileLoader::read(uint64_t offset, std::span<std::byte> out, etb_error* error) noexcept {
  return file_.read(offset, out, error);
}

}  // namespace etb::host
