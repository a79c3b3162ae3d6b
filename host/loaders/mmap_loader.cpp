// SPDX-License-Identifier: Apache-2.0
#include "host/loaders/mmap_loader.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "etb/cpp/fail.hpp"

namespace etb::host {

namespace {

constexpr uint64_t kLeastGivenBack = 64 << 10;
constexpr size_t kLeastResting = size_t{1} << 20;  // less is not worth the call

// Drops pages that no other block uses. The next access reads them from the file.
void give_back(void*, const std::byte* data, uint64_t nbytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t first = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + nbytes) / page * page;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace

MmapLoader::~MmapLoader() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_nbytes_);
}

etb_status MmapLoader::open(const char* path, Lock lock, etb_error* error) noexcept {
  ETB_CHECK(file_.open(path, error));
  return map(lock, error);
}

etb_status MmapLoader::open(int descriptor, uint64_t offset, uint64_t nbytes, Lock lock,
                            etb_error* error) noexcept {
  ETB_CHECK(file_.open(descriptor, offset, nbytes, error));
  return map(lock, error);
}

etb_status MmapLoader::map(Lock lock, etb_error* error) noexcept {
  if (file_.nbytes() == 0) return ETB_OK;  // nothing to map; the reader rejects an empty file by itself
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t lead = file_.offset() % page;
  mapping_nbytes_ = static_cast<size_t>(lead + file_.nbytes());
  void* mapping = ::mmap(nullptr, mapping_nbytes_, PROT_READ, MAP_PRIVATE, file_.get(),
                         static_cast<off_t>(file_.offset() - lead));
  if (mapping == MAP_FAILED) {
    return fail(error, ETB_ACCESS_FAILED, "mapping %zu bytes: %s", mapping_nbytes_, std::strerror(errno));
  }
  mapping_ = static_cast<std::byte*>(mapping);
  bytes_ = {mapping_ + lead, static_cast<size_t>(file_.nbytes())};
  is_locked_ = lock != Lock::kNone;
  if (is_locked_ && ::mlock(mapping_, mapping_nbytes_) != 0 && lock == Lock::kRequire) {
    return fail(error, ETB_OUT_OF_RESOURCES, "locking %zu bytes in memory: %s", mapping_nbytes_,
                std::strerror(errno));
  }
  return ETB_OK;
}

etb_status MmapLoader::size(uint64_t* out_nbytes, etb_error* error) noexcept {
  ETB_CHECK(file_.check_range(0, 0, error));
  *out_nbytes = file_.nbytes();
  return ETB_OK;
}

etb_status MmapLoader::load(uint64_t offset, uint64_t nbytes, uint64_t, DataBlock* out,
                            etb_error* error) noexcept {
  ETB_CHECK(file_.check_range(offset, nbytes, error));
  const auto bytes = bytes_.subspan(static_cast<size_t>(offset), static_cast<size_t>(nbytes));
  *out = nbytes < kLeastGivenBack || is_locked_ ? DataBlock(bytes) : DataBlock(bytes, &give_back, nullptr);
  return ETB_OK;
}

etb_status MmapLoader::read(uint64_t offset, std::span<std::byte> out, etb_error* error) noexcept {
  ETB_CHECK(file_.check_range(offset, out.size(), error));
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  return ETB_OK;
}

void MmapLoader::rest() noexcept {
  if (mapping_nbytes_ >= kLeastResting && !is_locked_) ::madvise(mapping_, mapping_nbytes_, MADV_DONTNEED);
}

}  // namespace etb::host
