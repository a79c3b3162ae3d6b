// SPDX-License-Identifier: Apache-2.0
#include "api/format/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "api/format/printable_text.hpp"
#include "api/format/unfinished_files.hpp"

namespace etb::format {

namespace {

constexpr int kAttempts = 8;  // two equal names of 64 random bits are not chance

std::string quoted(const std::string& path) { return '\'' + made_printable(path) + '\''; }

class Descriptor {
 public:
  explicit Descriptor(int value = -1) noexcept : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const noexcept { return value_; }
  explicit operator bool() const noexcept { return value_ >= 0; }
  // Returns false, with errno, when the system could not write all of it.
  bool close() noexcept { return ::close(std::exchange(value_, -1)) == 0; }

 private:
  int value_;
};

tl::unexpected<Error> fail(const std::string& what, const std::string& path, int number) {
  return tl::make_unexpected(make_write_error(what + " " + quoted(path), number));
}

struct Target {
  std::string path;                // without symbolic links in its last part
  std::optional<struct stat> old;  // file that has the name now
};

// True for devices and pipes: a rename would replace them.
bool is_written_as_it_is(const Target& target) { return target.old && !S_ISREG(target.old->st_mode); }

Result<Target> find_target(const std::string& path, const OutputOptions& options) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return make_error(Code::INVALID_ARGUMENT,
                      "cannot write " + quoted(path) + ": expected the path of a file");
  struct stat link {
  }, info{};
  if (::lstat(path.c_str(), &link) != 0) {
    if (errno != ENOENT) return fail("cannot write", path, errno);
    return Target{path, std::nullopt};
  }
  if (options.must_be_new)
    return make_error(Code::ALREADY_EXISTS, "cannot write " + quoted(path) + ": the name is taken");
  if (::stat(path.c_str(), &info) != 0) {
    const int number = errno;
    if (number == ENOENT)
      return make_error(Code::ACCESS_FAILED,
                        "cannot write " + quoted(path) + ": a symbolic link to a file that does not exist");
    return fail("cannot write", path, number);
  }
  if (S_ISDIR(info.st_mode))
    return make_error(Code::ACCESS_FAILED,
                      "cannot write " + quoted(path) + ": found a folder, expected a file");
  // A rename needs no permission to write the old file. The caller must have it nevertheless.
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) return fail("cannot write", path, errno);
  if (!S_ISLNK(link.st_mode) || !S_ISREG(info.st_mode)) return Target{path, info};
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &std::free);
  struct stat found {};
  const bool is_same = real != nullptr && ::lstat(real.get(), &found) == 0 && found.st_dev == info.st_dev &&
                       found.st_ino == info.st_ino;
  if (!is_same)  // /proc/self/fd/3 of a file without a name
    return make_error(Code::ACCESS_FAILED,
                      "cannot write " + quoted(path) + ": the file behind the link has no name to replace");
  return Target{real.get(), info};
}

// Splits "folder/name" in two. The folder of a bare name is ".".
std::pair<std::string, std::string> split(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

bool fill_random(void* bytes, size_t nbytes) {
  return ::getrandom(bytes, nbytes, 0) == static_cast<ssize_t>(nbytes);
}

// Makes a hidden name that no other process can guess.
bool make_name(char (&name)[UnfinishedFile::kNameNbytes]) {
  uint64_t number = 0;
  if (!fill_random(&number, sizeof(number))) return false;
  std::snprintf(name, sizeof(name), ".etbackend-%016llx.part", static_cast<unsigned long long>(number));
  return true;
}

}  // namespace

struct OutputFile::State {
  std::string path;  // the caller's path, for messages
  OutputOptions options;
  Descriptor file;
  // Set for Visibility::kWhenWhole only.
  Descriptor folder;
  std::string name;
  std::optional<struct stat> old;
  char temporary[UnfinishedFile::kNameNbytes] = {};  // "" while the file has no name
  std::optional<UnfinishedFile> unfinished;

  ~State() { remove_temporary(); }

  void remove_temporary() noexcept {
    if (temporary[0] != '\0') ::unlinkat(folder.get(), temporary, 0);
    temporary[0] = '\0';
    unfinished.reset();
  }

  Status open_as_it_is(const Target& target) {
    file = Descriptor(::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!file) return fail("cannot write", path, errno);
    return {};
  }

  Status open_at_once(const Target& target) {
    const int exclusive = options.must_be_new ? O_EXCL : 0;
    file =
        Descriptor(::open(target.path.c_str(),
                          O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | exclusive, options.mode));
    if (!file) return fail("cannot write", path, errno);
    // Two logs in one file would mix. (A lock of fcntl would end when this process closes any other
    // descriptor of the file.)
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      return make_error(Code::BUSY, "cannot write " + quoted(path) + ": another process is writing it");
    if (options.keeps_content ? ::lseek(file.get(), 0, SEEK_END) < 0 : ::ftruncate(file.get(), 0) != 0)
      return fail("cannot write", path, errno);
    return {};
  }

  Status open_when_whole(Target target) {
    old = target.old;
    std::string folder_path;
    std::tie(folder_path, name) = split(target.path);
    if (name.empty()) return fail("cannot write", path, EISDIR);
    folder = Descriptor(::open(folder_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return fail("cannot write", path, errno);
    // Without /proc a file without a name cannot be given one.
    if (::access("/proc/self/fd", X_OK) == 0)
      file = Descriptor(::openat(folder.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, options.mode));
    if (!file) ETB_TRY(open_temporary());
    keep_owner_and_mode();
    return {};
  }

  Status open_unnamed() {
    folder = Descriptor(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return fail("cannot make a file in", path, errno);
    file = Descriptor(::openat(folder.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, options.mode));
    if (!file) ETB_TRY(open_temporary());
    remove_temporary();
    return {};
  }

  Status open_temporary() {
    for (int i = 0; i < kAttempts && !file; ++i) {
      if (!make_name(temporary)) return fail("cannot write", path, errno);
      unfinished.emplace(folder.get(), temporary);
      file = Descriptor(::openat(folder.get(), temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 options.mode));
      if (file) return {};
      const int number = errno;
      temporary[0] = '\0';
      unfinished.reset();
      if (number != EEXIST) return fail("cannot write", path, number);
    }
    return fail("cannot write", path, EEXIST);
  }

  void keep_owner_and_mode() const {
    if (!old) return;
    mode_t mode = old->st_mode & 07777;
    const bool is_same_owner = old->st_uid == ::geteuid() && old->st_gid == ::getegid();
    // Without the old owner, the file must not keep the setuid and setgid rights.
    if (!is_same_owner && ::fchown(file.get(), old->st_uid, old->st_gid) != 0) mode &= 01777;
    (void)::fchmod(file.get(), mode);
  }

  // Links the file without a name to a temporary name beside the target.
  Status link_temporary() {
    const std::string self = "/proc/self/fd/" + std::to_string(file.get());
    for (int i = 0; i < kAttempts; ++i) {
      if (!make_name(temporary)) return fail("cannot write", path, errno);
      unfinished.emplace(folder.get(), temporary);
      if (::linkat(AT_FDCWD, self.c_str(), folder.get(), temporary, AT_SYMLINK_FOLLOW) == 0) return {};
      const int number = errno;
      temporary[0] = '\0';
      unfinished.reset();
      if (number != EEXIST) return fail("cannot write", path, number);
    }
    return fail("cannot write", path, EEXIST);
  }

  Status commit() {
    if (!folder) {
      if (!file.close()) return fail("cannot write", path, errno);
      return {};
    }
    // A new file that a power failure destroys can be made again. An old file replaced by an empty one
    // cannot, so replacing needs fsync.
    if (old && ::fsync(file.get()) != 0) return fail("cannot write", path, errno);
    if (temporary[0] == '\0') ETB_TRY(link_temporary());
    if (!file.close()) return fail("cannot write", path, errno);
    const int renamed = options.must_be_new ? ::linkat(folder.get(), temporary, folder.get(), name.c_str(), 0)
                                            : ::renameat(folder.get(), temporary, folder.get(), name.c_str());
    if (renamed != 0 && errno == EEXIST)
      return make_error(Code::ALREADY_EXISTS, "cannot write " + quoted(path) + ": the name is taken");
    if (renamed != 0) return fail("cannot write", path, errno);
    if (!options.must_be_new) temporary[0] = '\0';  // the temporary name no longer exists
    remove_temporary();
    return {};
  }
};

OutputFile::OutputFile(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

Result<OutputFile> OutputFile::open(const std::string& path, const OutputOptions& options) {
  ETB_ASSIGN(Target target, find_target(path, options));
  auto state = std::make_unique<State>();
  state->path = path;
  state->options = options;
  if (is_written_as_it_is(target))
    ETB_TRY(state->open_as_it_is(target));
  else if (options.visibility == Visibility::kAtOnce)
    ETB_TRY(state->open_at_once(target));
  else
    ETB_TRY(state->open_when_whole(std::move(target)));
  return OutputFile(std::move(state));
}

Result<OutputFile> OutputFile::open_unnamed(const std::string& folder) {
  auto state = std::make_unique<State>();
  state->path = folder;
  state->options.mode = 0600;
  ETB_TRY(state->open_unnamed());
  return OutputFile(std::move(state));
}

int OutputFile::descriptor() const noexcept { return state_->file.get(); }

Error OutputFile::write_error(int error_number) const {
  return make_write_error("cannot write " + quoted(state_->path), error_number);
}

Status OutputFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return tl::make_unexpected(write_error(errno));
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Status OutputFile::commit() { return state_->commit(); }

Status write_file(const std::string& path, std::span<const std::byte> bytes, const OutputOptions& options) {
  ETB_ASSIGN(OutputFile file, OutputFile::open(path, options));
  ETB_TRY(file.append(bytes));
  return file.commit();
}

Status write_file(const std::string& path, std::string_view text, const OutputOptions& options) {
  return write_file(path, std::as_bytes(std::span(text)), options);
}

Status expect_writable(const std::string& path) {
  ETB_ASSIGN(const Target target, find_target(path, {}));
  if (is_written_as_it_is(target)) return {};
  ETB_ASSIGN(const OutputFile file, OutputFile::open(path));
  (void)file;
  return {};
}

Error make_write_error(const std::string& what, int error_number) {
  Code code = Code::ACCESS_FAILED;
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      code = Code::NOT_FOUND;
      break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EPIPE:
    case EIO:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      code = Code::OUT_OF_RESOURCES;
      break;
    default:
      break;
  }
  return Error{code, what + ": " + std::strerror(error_number), {}, error_number};
}

}  // namespace etb::format
