// SPDX-License-Identifier: Apache-2.0
#include "host/bundle/bundle_file.hpp"

#include <cstdlib>

#include "host/loaders/file_range.hpp"
#include "host/loaders/mmap_loader.hpp"
#include "host/module/core_error.hpp"

namespace etb::host {

namespace {

constexpr size_t kBoundary = 64;

struct Bytes {
  std::shared_ptr<const void> memory;
  std::span<const std::byte> bytes;
};

Result<Bytes> read_all(const std::string& path) {
  FileRange file;
  ETB_TRY(checked([&](etb_error* error) { return file.open(path.c_str(), error); }));
  const uint64_t capacity = (file.nbytes() / kBoundary + 1) * kBoundary;
  std::shared_ptr<void> memory(std::aligned_alloc(kBoundary, static_cast<size_t>(capacity)), &std::free);
  if (memory == nullptr)
    return make_error(Code::OUT_OF_MEMORY, std::to_string(file.nbytes()) + " bytes of a file in memory");
  const std::span<std::byte> bytes(static_cast<std::byte*>(memory.get()), static_cast<size_t>(file.nbytes()));
  ETB_TRY(checked([&](etb_error* error) { return file.read(0, bytes, error); }));
  return Bytes{std::move(memory), bytes};
}

Result<Bytes> map(const std::string& path, LoadMode mode) {
  const auto lock = mode == LoadMode::kMmapLock      ? MmapLoader::Lock::kRequire
                    : mode == LoadMode::kMmapTryLock ? MmapLoader::Lock::kTry
                                                     : MmapLoader::Lock::kNone;
  auto loader = std::make_shared<MmapLoader>();
  ETB_TRY(checked([&](etb_error* error) { return loader->open(path.c_str(), lock, error); }));
  const std::span<const std::byte> bytes = loader->bytes();
  return Bytes{std::move(loader), bytes};
}

}  // namespace

Result<BundleFile> BundleFile::open(const std::string& path, LoadMode mode) {
  BundleFile file;
  ETB_ASSIGN(Bytes opened, mode == LoadMode::kFile ? read_all(path) : map(path, mode));
  if (Status read = file.read(opened.bytes); !read)
    return tl::make_unexpected(with_context(std::move(read).error(), path));
  file.memory_ = std::move(opened.memory);
  return file;
}

Result<BundleFile> BundleFile::from_bytes(std::span<const std::byte> bytes) {
  BundleFile file;
  ETB_TRY(file.read(bytes));
  return file;
}

Status BundleFile::read(std::span<const std::byte> bytes) {
  return checked([&](etb_error* error) { return format::read_bundled_program(bytes, &view_, error); });
}

}  // namespace etb::host
