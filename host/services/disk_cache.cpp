// SPDX-License-Identifier: Apache-2.0
#include "host/services/disk_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <tuple>
#include <vector>

#include "api/format/hex.hpp"

namespace etb::host {
namespace {

constexpr char kSuffix[] = ".entry";
constexpr char kUnfinishedSuffix[] = ".unfinished";
constexpr size_t kMaxFiles = 1 << 20;
constexpr int64_t kMaxWriteSeconds = 3600;  // an unfinished file that is older has no writer

std::string file_name(const format::Sha256& name) { return format::to_hex(name) + kSuffix; }

tl::unexpected<Error> write_error(const char* what, int number) {
  const bool is_full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  return make_error(is_full ? Code::OUT_OF_RESOURCES : Code::PERMISSION_DENIED,
                    std::string(what) + ": " + std::generic_category().message(number));
}

// Removes what writers left that were killed, then the least recently used files, until the rest needs at most so many bytes.
void trim(int folder, uint64_t max_nbytes) {
  struct stat status {};
  const auto old = list_directory(folder, kUnfinishedSuffix, kMaxFiles);
  for (const std::string& name : old ? *old : std::vector<std::string>())
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_mtim.tv_sec < ::time(nullptr) - kMaxWriteSeconds)
      ::unlinkat(folder, name.c_str(), 0);
  const auto names = list_directory(folder, kSuffix, kMaxFiles);
  if (!names) return;
  std::vector<std::tuple<int64_t, int64_t, uint64_t, const std::string*>> files;
  uint64_t total = 0;
  for (const std::string& name : *names) {
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const auto nbytes = static_cast<uint64_t>(status.st_size);
    total += nbytes;
    files.emplace_back(status.st_mtim.tv_sec, status.st_mtim.tv_nsec, nbytes, &name);
  }
  std::sort(files.begin(), files.end());
  for (const auto& [seconds, ns, nbytes, name] : files) {
    if (total <= max_nbytes) return;
    if (::unlinkat(folder, name->c_str(), 0) == 0) total -= nbytes;
  }
}

Status write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return write_error("write", count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

// Writes a file that only this user can read, with a temporary name until it is whole. No fsync: after a loss of power the
// file may be damaged, and then it is not found.
Status write_file(int folder, const std::string& name, std::span<const std::byte> header,
                  std::span<const std::byte> value) {
  static std::atomic<uint32_t> count{0};
  const std::string temporary =
      name + '.' + std::to_string(::getpid()) + '-' + std::to_string(count++) + kUnfinishedSuffix;
  ::unlinkat(folder, temporary.c_str(), 0);  // of a process that had this number before
  const FileDescriptor file(
      ::openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return write_error("new file", errno);
  Status written = write_all(file.get(), header);
  if (written) written = write_all(file.get(), value);
  if (written && ::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0)
    written = write_error("rename", errno);
  if (!written) ::unlinkat(folder, temporary.c_str(), 0);
  return written;
}

}  // namespace

Result<CacheValue> DiskCache::get(const format::Sha256& name) const {
  ETB_ASSIGN(const FileDescriptor folder, open_trusted_directory(options_.folder, options_.trust));
  const std::string path = file_name(name);
  const auto file = open_trusted_file(folder.get(), path, options_.trust);
  if (!file && file.error().code == Code::NOT_FOUND) return tl::make_unexpected(file.error());
  if (file) {
    const auto state = file_state(file->get());
    if (state && state->nbytes >= kCacheHeaderNbytes && state->nbytes <= options_.max_nbytes) {
      CacheValue value(state->nbytes);
      const std::span<std::byte> bytes = value.file();
      const Status read = FileBytes(file->get(), state->nbytes)
                              .read(0, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
      if (read && read_cache_entry(name, bytes)) {
        (void)::futimens(file->get(), nullptr);  // the time of its last use
        return value;
      }
    }
  }
  (void)::unlinkat(folder.get(), path.c_str(), 0);
  return make_error(Code::NOT_FOUND, "cache entry was damaged, removed");
}

Status DiskCache::put(const format::Sha256& name, std::span<const std::byte> value) const {
  const uint64_t nbytes = kCacheHeaderNbytes + value.size();
  if (nbytes > options_.max_nbytes)
    return make_error(Code::OUT_OF_RESOURCES, "cache entry of " + std::to_string(value.size()) +
                                                  " bytes, the quota is " +
                                                  std::to_string(options_.max_nbytes));
  const auto folder = provide_trusted_directory(options_.folder, options_.trust, 3);
  if (!folder) return make_error(Code::PERMISSION_DENIED, "cache folder: " + folder.error().message);
  trim(folder->get(), options_.max_nbytes - nbytes);
  return write_file(folder->get(), file_name(name), make_cache_header(name, value), value);
}

std::string plugin_cache_folder(
    const std::function<std::optional<std::string>(const char* name)>& environment) {
  if (!environment) return {};
  const std::string chosen = environment("ETBACKEND_PLUGIN_CACHE").value_or("");
  if (!chosen.empty()) return chosen[0] == '/' ? chosen : "";
  const std::string cache = user_cache_folder(environment);
  return cache.empty() ? "" : cache + "/plugins";
}

}  // namespace etb::host
