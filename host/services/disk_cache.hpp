// SPDX-License-Identifier: Apache-2.0
// DiskCache: values by name in a folder of the user, shared by processes. A value that is read is the one that was written:
// damaged files are removed. Writers replace whole files. The least recently used go when there is no room.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "host/registry/trusted_file.hpp"
#include "host/services/cache_entry.hpp"

namespace etb::host {

// Bytes of a value, at a boundary of 64.
class CacheValue {
 public:
  explicit CacheValue(size_t file_nbytes)
      : memory_(static_cast<std::byte*>(::operator new(file_nbytes, kAlignment))),
        file_nbytes_(file_nbytes) {}
  std::span<std::byte> file() const { return {memory_.get(), file_nbytes_}; }
  std::span<const std::byte> bytes() const { return file().subspan(kCacheHeaderNbytes); }

  static constexpr std::align_val_t kAlignment{64};

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t file_nbytes_;
};

struct DiskCacheOptions {
  std::string folder;                       // an absolute path; made when the first value is written
  uint64_t max_nbytes = uint64_t{1} << 30;  // of all files
  TrustPolicy trust = {};                   // of the folder, those above it, and the files
};

// [any]
class DiskCache {
 public:
  explicit DiskCache(DiskCacheOptions options) : options_(std::move(options)) {}

  // Returns NOT_FOUND also for a value that was damaged or cannot be read.
  [[nodiscard]] Result<CacheValue> get(const format::Sha256& name) const;
  // Returns OUT_OF_RESOURCES for a value larger than the quota or a full disk, PERMISSION_DENIED for a folder that this user
  // cannot write, or that others can.
  [[nodiscard]] Status put(const format::Sha256& name, std::span<const std::byte> value) const;

  const DiskCacheOptions& options() const noexcept { return options_; }

 private:
  DiskCacheOptions options_;
};

// The folder that ETBACKEND_PLUGIN_CACHE names, else "etbackend/plugins" beneath XDG_CACHE_HOME or ~/.cache. "" if the variable
// is "off", or if no path is absolute. `environment` reads a variable.
std::string plugin_cache_folder(
    const std::function<std::optional<std::string>(const char* name)>& environment);

}  // namespace etb::host
