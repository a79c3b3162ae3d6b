// Opening files that nobody but root and the user could have written, by file descriptor all the way, so that what was
// checked is what is used.
//
// Trusted means, for the file and every folder above it up to "/": owned by root or by the user, and writable by neither
// group nor others. Above the last folder a sticky directory such as /tmp is allowed too, since nobody can replace another's
// entries there. With `root_only` (secure mode) the owner must be root and sticky directories do not count.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

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
  uid_t root =
      0;  // how the owner of root's files appears: another id inside a user namespace that does not map root
};

// A folder by absolute path. Symbolic links on the way are followed when they are trusted themselves.
[[nodiscard]] Result<FileDescriptor> open_trusted_directory(const std::string& path,
                                                            const TrustPolicy& policy);

// A regular file beneath a trusted folder, by a path without "..". No symbolic link on the way is followed.
[[nodiscard]] Result<FileDescriptor> open_trusted_file(int directory, std::string_view relative_path,
                                                       const TrustPolicy& policy);

// The same with the folder that holds the file, both found in one walk: renames in between cannot mix two folders.
struct FileInFolder {
  FileDescriptor folder;
  FileDescriptor file;
};
[[nodiscard]] Result<FileInFolder> open_trusted_file_and_folder(int directory, std::string_view relative_path,
                                                                const TrustPolicy& policy);

// A regular file of the system by absolute path. Trusted symbolic links are followed, also as the last name.
struct SystemFile {
  FileDescriptor file;
  std::string path;  // without links
};
[[nodiscard]] Result<SystemFile> open_system_file(const std::string& path, const TrustPolicy& policy);

// Names in a folder that end with `suffix`, sorted bytewise.
[[nodiscard]] Result<std::vector<std::string>> list_directory(int directory, std::string_view suffix,
                                                              size_t max_count);

// What identifies the content of an open file for as long as nobody cheats with clocks.
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

// All of a file that is at most max_nbytes long.
[[nodiscard]] Result<std::string> read_text_file(int fd, uint64_t max_nbytes);

}  // namespace etb::host
