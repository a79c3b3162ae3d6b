// SPDX-License-Identifier: Apache-2.0
#include "host/registry/trusted_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "host/registry/diagnostic.hpp"

namespace etb::host {
namespace {

constexpr int kMaxLinks = 40;  // same as the kernel's limit

tl::unexpected<Error> system_error(const std::string& what, int number) {
  const Code code = number == ENOENT || number == ENOTDIR ? Code::NOT_FOUND : Code::ACCESS_FAILED;
  return make_error(code, what + ": " + std::generic_category().message(number));
}

// The system ends a path at a NUL and would open another file than the text names.
bool has_nul(std::string_view path) { return path.find('\0') != std::string_view::npos; }

enum class Position { kParent, kLeaf };

Status verify_trust(const struct stat& status, Position position, const TrustPolicy& policy,
                    const std::string& where) {
  const bool is_owner_fine =
      status.st_uid == policy.root || (!policy.root_only && status.st_uid == policy.user);
  if (!is_owner_fine)
    return make_error(Code::PERMISSION_DENIED,
                      where + ": owned by user " + std::to_string(status.st_uid) + ", expected root" +
                          (policy.root_only ? "" : " or user " + std::to_string(policy.user)));
  const bool is_sticky_parent = position == Position::kParent && S_ISDIR(status.st_mode) &&
                                (status.st_mode & S_ISVTX) != 0 && !policy.root_only;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_sticky_parent) {
    char mode[8];
    std::snprintf(mode, sizeof(mode), "%04o", static_cast<unsigned>(status.st_mode & 07777));
    return make_error(Code::PERMISSION_DENIED, where + ": writable by " +
                                                   ((status.st_mode & S_IWOTH) ? "everybody" : "its group") +
                                                   " (mode " + mode + ")");
  }
  return {};
}

// Opens one name beneath a folder, without following a link and without blocking (opening a fifo would
// block).
Result<FileDescriptor> open_beneath(int directory, const std::string& name, const std::string& where,
                                    bool is_last, const TrustPolicy& policy) {
  const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (is_last ? 0 : O_DIRECTORY);
  struct stat status {};
  // Checks before the open, because the open itself could already disturb a device.
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return system_error(where, errno);
  if (S_ISLNK(status.st_mode))
    return make_error(Code::PERMISSION_DENIED, where + ": a symbolic link, expected the file itself");
  if (is_last ? !S_ISREG(status.st_mode) : !S_ISDIR(status.st_mode))
    return make_error(Code::INVALID_DATA, where + ": not a " + (is_last ? "regular file" : "folder"));
  FileDescriptor fd(::openat(directory, name.c_str(), flags));
  if (!fd) return system_error(where, errno);
  if (::fstat(fd.get(), &status) != 0) return system_error(where, errno);
  if (is_last ? !S_ISREG(status.st_mode) : !S_ISDIR(status.st_mode))  // it may have been replaced in between
    return make_error(Code::INVALID_DATA, where + ": not a " + (is_last ? "regular file" : "folder"));
  ETB_TRY(verify_trust(status, Position::kLeaf, policy, where));
  return fd;
}

enum class Leaf { kFolder, kFile };

// Walks a path from "/" one name at a time, and checks every folder on the way through its own descriptor.
class Walk {
 public:
  Walk(const TrustPolicy& policy, Leaf leaf) : policy_(policy), leaf_(leaf) {}

  Result<SystemFile> run(const std::string& path) {
    push(path);
    ETB_TRY(restart());
    while (!names_.empty()) {
      const std::string name = std::move(names_.back());
      names_.pop_back();
      ETB_TRY(step(name));
    }
    if (leaf_ == Leaf::kFile && !has_file_)
      return make_error(Code::INVALID_DATA, path + ": a folder, expected a file");
    return SystemFile{std::move(at_), where_};
  }

 private:
  // Names are stored last first, so that a link's target can be added in front.
  void push(const std::string& path) {
    std::vector<std::string> names;
    for (size_t begin = 0; begin <= path.size();) {
      const size_t end = std::min(path.find('/', begin), path.size());
      if (end > begin && path.compare(begin, end - begin, ".") != 0)
        names.push_back(path.substr(begin, end - begin));
      begin = end + 1;
    }
    names_.insert(names_.end(), names.rbegin(), names.rend());
  }

  Status restart() {
    at_ = FileDescriptor(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!at_) return system_error("/", errno);
    where_.clear();
    return verify(at_.get(), "/");
  }

  Status verify(int fd, const std::string& where) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return system_error(where, errno);
    return verify_trust(status, names_.empty() ? Position::kLeaf : Position::kParent, policy_, where);
  }

  Status step(const std::string& name) {
    const std::string where = where_ + '/' + name;
    FileDescriptor next(::openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return system_error(where, errno);
    struct stat status {};
    if (::fstat(next.get(), &status) != 0) return system_error(where, errno);
    if (S_ISLNK(status.st_mode)) return follow(next.get(), status, where);
    if (names_.empty() && leaf_ == Leaf::kFile && !S_ISDIR(status.st_mode)) return open_file(name, where);
    if (!S_ISDIR(status.st_mode)) return make_error(Code::NOT_FOUND, where + ": not a folder");
    ETB_TRY(verify_trust(status, names_.empty() ? Position::kLeaf : Position::kParent, policy_, where));
    at_ = std::move(next);
    where_ = where;
    return {};
  }

  Status open_file(const std::string& name, const std::string& where) {
    ETB_ASSIGN(at_, open_beneath(at_.get(), name, where, true, policy_));
    where_ = where;
    has_file_ = true;
    return {};
  }

  Status follow(int link, const struct stat& status, const std::string& where) {
    if (++link_count_ > kMaxLinks)
      return make_error(Code::ACCESS_FAILED, where + ": more than 40 symbolic links");
    // A link has no mode of its own. Its folder, which is checked already, determines who may replace it.
    if (status.st_uid != policy_.root && (policy_.root_only || status.st_uid != policy_.user))
      return make_error(Code::PERMISSION_DENIED,
                        where + ": symbolic link owned by user " + std::to_string(status.st_uid));
    std::string target(4096, '\0');
    const ssize_t nbytes = ::readlinkat(link, "", target.data(), target.size());
    if (nbytes < 0) return system_error(where, errno);
    target.resize(static_cast<size_t>(nbytes));
    push(target);
    return !target.empty() && target[0] == '/' ? restart() : Status();
  }

  const TrustPolicy& policy_;
  const Leaf leaf_;
  bool has_file_ = false;
  FileDescriptor at_;
  std::string where_;
  std::vector<std::string> names_;
  int link_count_ = 0;
};

int64_t to_ns(const struct timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

Result<FileDescriptor> open_trusted_directory(const std::string& path, const TrustPolicy& policy) {
  if (path.empty() || path[0] != '/' || has_nul(path))
    return make_error(Code::INVALID_ARGUMENT, in_quotes(path) + ": not an absolute path");
  ETB_ASSIGN(const SystemFile folder, Walk(policy, Leaf::kFolder).run(path));
  FileDescriptor readable(::openat(folder.file.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable) return system_error(path, errno);
  return readable;
}

Result<FileDescriptor> provide_trusted_directory(const std::string& path, const TrustPolicy& policy,
                                                 int depth) {
  Result<FileDescriptor> found = open_trusted_directory(path, policy);
  if (found || found.error().code != Code::NOT_FOUND || depth == 0) return found;
  const size_t slash = path.rfind('/');
  ETB_ASSIGN(const FileDescriptor above, provide_trusted_directory(path.substr(0, slash), policy, depth - 1));
  ::mkdirat(above.get(), path.c_str() + slash + 1, 0700);
  return open_trusted_directory(path, policy);
}

std::string user_cache_folder(
    const std::function<std::optional<std::string>(const char* name)>& environment) {
  std::string cache = environment("XDG_CACHE_HOME").value_or("");
  if (cache.empty() || cache[0] != '/') {
    const std::string home = environment("HOME").value_or("");
    if (home.empty() || home[0] != '/') return {};
    cache = home + "/.cache";
  }
  return cache + "/etbackend";
}

Result<SystemFile> open_system_file(const std::string& path, const TrustPolicy& policy) {
  if (path.empty() || path[0] != '/' || has_nul(path))
    return make_error(Code::INVALID_ARGUMENT, in_quotes(path) + ": not an absolute path");
  return Walk(policy, Leaf::kFile).run(path);
}

Result<FileInFolder> open_trusted_file_and_folder(int directory, std::string_view relative_path,
                                                  const TrustPolicy& policy) {
  FileDescriptor folder(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return system_error(std::string(relative_path), errno);
  for (size_t begin = 0;;) {
    const size_t end = relative_path.find('/', begin);
    const bool is_last = end == std::string_view::npos;
    const std::string name(relative_path.substr(begin, is_last ? end : end - begin));
    const std::string where(relative_path.substr(0, end));
    if (name.empty() || name == "." || name == ".." || has_nul(name))
      return make_error(Code::INVALID_ARGUMENT, in_quotes(relative_path) + ": not a path beneath a folder");
    ETB_ASSIGN(FileDescriptor next, open_beneath(folder.get(), name, where, is_last, policy));
    if (is_last) return FileInFolder{std::move(folder), std::move(next)};
    folder = std::move(next);
    begin = end + 1;
  }
}

Result<FileDescriptor> open_trusted_file(int directory, std::string_view relative_path,
                                         const TrustPolicy& policy) {
  ETB_ASSIGN(FileInFolder found, open_trusted_file_and_folder(directory, relative_path, policy));
  return std::move(found.file);
}

bool is_process_secure() { return getauxval(AT_SECURE) != 0; }

Result<std::vector<std::string>> list_directory(int directory, std::string_view suffix, size_t max_count) {
  FileDescriptor copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copy) return system_error("folder", errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy.get()), ::closedir);
  if (!stream) return system_error("folder", errno);
  (void)copy.release();
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() <= suffix.size() || name[0] == '.' || name.substr(name.size() - suffix.size()) != suffix)
      continue;
    if (names.size() == max_count)
      return make_error(Code::OUT_OF_RESOURCES, "more than " + std::to_string(max_count) +
                                                    " files that end with '" + std::string(suffix) + '\'');
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<FileState> file_state(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_error("file", errno);
  return FileState{status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size), to_ns(status.st_mtim),
                   to_ns(status.st_ctim)};
}

Status FileBytes::read_within(uint64_t offset, std::span<uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("file", errno);
    if (count == 0) return make_error(Code::INVALID_DATA, "truncated while it was read");
    offset += static_cast<uint64_t>(count);
    out = out.subspan(static_cast<size_t>(count));
  }
  return {};
}

Result<std::string> read_text_file(int fd, uint64_t max_nbytes) {
  ETB_ASSIGN(const FileState state, file_state(fd));
  if (state.nbytes > max_nbytes)
    return make_error(Code::INVALID_DATA, "found " + std::to_string(state.nbytes) +
                                              " bytes, expected at most " + std::to_string(max_nbytes));
  std::string text(state.nbytes, '\0');
  ETB_TRY(FileBytes(fd, state.nbytes).read(0, {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  return text;
}

}  // namespace etb::host
