// SPDX-License-Identifier: Apache-2.0
// Opens files that only root and the user could have written. Uses file descriptors throughout, so that the
// checked file is the one that is used.
//
// Trusted means, for the file and every folder above it up to "/": owned by root or by the user, and not
// writable by group or others. Above the last folder a sticky directory such as /tmp is also allowed, because
// users cannot replace each other's entries there. With `root_only` (secure mode) the owner must be root and
// sticky directories are rejected.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etb/cpp/result.hpp"
#include "host/registry/byte_source.hpp"

namespace etb::host {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// True if this process runs with more rights than its caller has (setuid, setgid, file capabilities).
bool is_process_secure();

struct TrustPolicy {
  uid_t user = ::geteuid();
  bool root_only = false;
  // The id that root's files appear with: another one inside a user namespace that does not map root.
  uid_t root = 0;
};

// Opens a folder by absolute path. Follows symbolic links on the way if they are trusted themselves.
[[nodiscard]] Result<FileDescriptor> open_trusted_directory(const std::string& path,
                                                            const TrustPolicy& policy);

// The same; makes the folder, and up to `depth` - 1 above it, when they are missing. Only this user can use them.
[[nodiscard]] Result<FileDescriptor> provide_trusted_directory(const std::string& path,
                                                               const TrustPolicy& policy, int depth);

// The folder for files that can be made again: "etbackend" beneath XDG_CACHE_HOME or ~/.cache; "" when neither is an absolute
// path. `environment` reads a variable.
std::string user_cache_folder(const std::function<std::optional<std::string>(const char* name)>& environment);

// Opens a regular file beneath a trusted folder, by a path without "..". Follows no symbolic link.
[[nodiscard]] Result<FileDescriptor> open_trusted_file(int directory, std::string_view relative_path,
                                                       const TrustPolicy& policy);

// Like open_trusted_file, and returns the folder of the file. One walk finds both, so renames in
// between cannot mix two folders.
struct FileInFolder {
  FileDescriptor folder;
  FileDescriptor file;
};
[[nodiscard]] Result<FileInFolder> open_trusted_file_and_folder(int directory, std::string_view relative_path,
                                                                const TrustPolicy& policy);

// Opens a regular file of the system by absolute path. Follows trusted symbolic links, also for the last
// name.
struct SystemFile {
  FileDescriptor file;
  std::string path;  // without links
};
[[nodiscard]] Result<SystemFile> open_system_file(const std::string& path, const TrustPolicy& policy);

// Lists the names in a folder that end with `suffix`, sorted bytewise.
[[nodiscard]] Result<std::vector<std::string>> list_directory(int directory, std::string_view suffix,
                                                              size_t max_count);

// Identifies the content of an open file, unless a user manipulates clocks.
struct FileState {
  dev_t device = 0;
  ino_t inode = 0;
  uint64_t nbytes = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;
  bool operator==(const FileState&) const = default;
};
[[nodiscard]] Result<FileState> file_state(int fd);

class FileBytes final : public ByteSource {
 public:
  FileBytes(int fd, uint64_t nbytes) : fd_(fd), nbytes_(nbytes) {}
  uint64_t nbytes() const override { return nbytes_; }
  int fd() const { return fd_; }

 private:
  Status read_within(uint64_t offset, std::span<uint8_t> out) const override;

  int fd_;
  uint64_t nbytes_;
};

// Reads a whole file of at most max_nbytes.
[[nodiscard]] Result<std::string> read_text_file(int fd, uint64_t max_nbytes);

}  // namespace etb::host
