// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/packed_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace etb::xnnpack {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kNoteSuffix = ".verified";
constexpr std::string_view kUnique = "XXXXXX";  // replaced by mkostemp

enum class Kind { kNone, kWeights, kNote, kPartial };

Kind kind_of(std::string_view name) {
  const size_t at = name.rfind(kWeightsSuffix);
  if (at == std::string_view::npos) return Kind::kNone;
  std::string_view rest = name.substr(at + std::string_view(kWeightsSuffix).size());
  if (rest.empty()) return Kind::kWeights;
  if (rest == kNoteSuffix) return Kind::kNote;
  if (rest.substr(0, kNoteSuffix.size()) == kNoteSuffix) rest.remove_prefix(kNoteSuffix.size());
  const bool is_unique =
      rest.size() == 1 + kUnique.size() && rest[0] == '.' &&
      std::all_of(rest.begin() + 1, rest.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  return is_unique ? Kind::kPartial : Kind::kNone;
}

// Removes a partial file without a writer. Returns false if it has a writer or its state is unknown. A writer
// that loses the race for the lock finds its file removed and creates another.
bool remove_dead(const fs::path& path) {
  struct stat info {};
  const int fd = open_own(path, O_RDWR, info);
  if (fd < 0) return false;
  const bool is_removed = flock(fd, LOCK_EX | LOCK_NB) == 0 && unlink(path.c_str()) == 0;
  close(fd);
  return is_removed;
}

// Returns 0 if there is no file.
uint64_t nbytes_of(const fs::path& path) {
  std::error_code failed;
  const uint64_t nbytes = fs::file_size(path, failed);
  return failed ? 0 : nbytes;
}

bool is_missing(const fs::path& path) {
  std::error_code failed;
  return fs::symlink_status(path, failed).type() == fs::file_type::not_found;
}

}  // namespace

fs::path note_path(const fs::path& weights) { return weights.string().append(kNoteSuffix); }

int open_own(const fs::path& path, int flags, struct stat& info) {
  // Without O_NONBLOCK, opening a pipe of that name would block.
  const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return -1;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 022) == 0)
    return fd;
  close(fd);
  return -1;
}

PartialFile::PartialFile(fs::path path) : path_(std::move(path)) {
  constexpr int kAttempts = 8;
  for (int i = 0; i < kAttempts && fd_ < 0; ++i) {
    partial_ = path_.string().append(".").append(kUnique);
    fd_ = mkostemp(partial_.data(), O_CLOEXEC);
    if (fd_ < 0) return;
    struct stat info {};
    const bool is_taken = flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!is_taken && fstat(fd_, &info) == 0 && info.st_nlink > 0) return;
    close(fd_);  // another process has removed the file, or is about to
    fd_ = -1;
  }
}

PartialFile::~PartialFile() {
  if (fd_ < 0) return;
  if (!is_finished_) unlink(partial_.c_str());
  close(fd_);
}

bool PartialFile::write(const void* data, size_t nbytes) {
  const auto* at = static_cast<const char*>(data);
  while (nbytes > 0) {
    const ssize_t count = fd_ < 0 ? -1 : ::write(fd_, at, nbytes);
    if (count < 0 && errno == EINTR && fd_ >= 0) continue;
    if (count <= 0) return false;
    at += count;
    nbytes -= static_cast<size_t>(count);
  }
  return fd_ >= 0;
}

bool PartialFile::finish() {
  is_finished_ = fd_ >= 0 && rename(partial_.c_str(), path_.c_str()) == 0;
  return is_finished_;
}

void trim_folder(const std::string& folder, uint64_t max_nbytes) {
  std::error_code failed;
  std::vector<std::tuple<fs::file_time_type, uint64_t, fs::path>> files;
  uint64_t total = 0;
  for (fs::directory_iterator item(folder, failed), end; !failed && item != end; item.increment(failed)) {
    const fs::path& path = item->path();
    const Kind kind = kind_of(path.filename().native());
    std::error_code ignored;
    if (kind == Kind::kNone || item->symlink_status(ignored).type() != fs::file_type::regular) continue;
    if (kind == Kind::kPartial && remove_dead(path)) continue;
    if (kind == Kind::kNote) {
      const std::string& name = path.native();
      if (is_missing(name.substr(0, name.size() - kNoteSuffix.size())) && fs::remove(path, ignored)) continue;
    }
    const uint64_t nbytes = nbytes_of(path);
    total += nbytes;
    if (kind == Kind::kWeights) files.emplace_back(fs::last_write_time(path, ignored), nbytes, path);
  }
  std::sort(files.begin(), files.end());
  for (const auto& [time, nbytes, path] : files) {
    if (total <= max_nbytes) return;
    const uint64_t note_nbytes = nbytes_of(note_path(path));
    if (fs::remove(note_path(path), failed)) total -= std::min(total, note_nbytes);
    if (fs::remove(path, failed)) total -= std::min(total, nbytes);
  }
}

}  // namespace etb::xnnpack
