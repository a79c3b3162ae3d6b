// SPDX-License-Identifier: Apache-2.0
#include "host/registry/digest_records.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "api/format/hex.hpp"

namespace etb::host {
namespace {

constexpr char kSuffix[] = ".sha256";
constexpr size_t kMaxRecordNbytes = 512;
constexpr size_t kMaxRecords = 256;  // then all go: each new version of a library leaves one behind

// True if the file system of an open file sets the time of change at every write, by magic numbers of linux/magic.h and of
// ZFS. Not tmpfs: writing through a mapping changes no time there.
bool keeps_change_times(int fd) {
  struct statfs status {};
  if (::fstatfs(fd, &status) != 0) return false;
  constexpr uint32_t kLocal[] = {
      0xef53 /* ext4 */,          0x58465342 /* XFS */, 0x9123683e /* Btrfs */,    0xf2f52010 /* F2FS */,
      0x794c7630 /* overlayfs */, 0x2fc12fc1 /* ZFS */, 0x73717368 /* SquashFS */, 0xe0f5e1e2 /* EROFS */};
  return std::find(std::begin(kLocal), std::end(kLocal), static_cast<uint32_t>(status.f_type)) !=
         std::end(kLocal);
}

std::string read_boot_id() {
  const FileDescriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[36];
  if (!file || ::read(file.get(), text, sizeof(text)) != static_cast<ssize_t>(sizeof(text))) return {};
  return {text, sizeof(text)};
}

int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// All of a record but the digest, which follows.
std::string describe(const FileState& state, const std::string& boot_id) {
  std::string out = "etbackend-digest 1\nboot " + boot_id;
  const auto add = [&out](const char* name, auto value) { out.append(name).append(std::to_string(value)); };
  add("\ndevice ", state.device);
  add("\ninode ", state.inode);
  add("\nsize ", state.nbytes);
  add("\nmodified ", state.modified_ns);
  add("\nchanged ", state.changed_ns);
  return out + "\nsha256 ";
}

std::string record_name(const FileState& state) {
  return std::to_string(state.device) + '-' + std::to_string(state.inode) + kSuffix;
}

std::optional<Sha256> read_record(int folder, const FileState& state, const std::string& description,
                                  const TrustPolicy& trust) {
  const Result<FileDescriptor> file = open_trusted_file(folder, record_name(state), trust);
  if (!file) return std::nullopt;
  const Result<std::string> text = read_text_file(file->get(), kMaxRecordNbytes);
  constexpr size_t kDigestNbytes = 64;
  if (!text || text->size() != description.size() + kDigestNbytes + 1 || text->back() != '\n' ||
      text->compare(0, description.size(), description) != 0)
    return std::nullopt;
  return format::parse_hex<32>(std::string_view(*text).substr(description.size(), kDigestNbytes));
}

void remove_old_records(int folder) {
  constexpr size_t kNoLimit = 1 << 20;
  const Result<std::vector<std::string>> names = list_directory(folder, kSuffix, kNoLimit);
  if (!names || names->size() < kMaxRecords) return;
  for (const std::string& name : *names) ::unlinkat(folder, name.c_str(), 0);
}

// Another process reads the old record or the new one, never a part.
void write_record(int folder, const FileState& state, const std::string& text) {
  remove_old_records(folder);
  const std::string name = record_name(state), temporary = '.' + name + '.' + std::to_string(::getpid());
  const FileDescriptor file(
      ::openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return;
  const bool is_whole = ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!is_whole || ::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0)
    ::unlinkat(folder, temporary.c_str(), 0);
}

}  // namespace

Result<Sha256> DigestRecords::digest_of(const FileBytes& file) const {
  if (folder_.empty() || !keeps_change_times(file.fd())) return sha256_of(file);
  const std::string boot_id = read_boot_id();
  if (boot_id.empty()) return sha256_of(file);
  ETB_ASSIGN(const FileState state, file_state(file.fd()));
  const std::string description = describe(state, boot_id);
  if (const Result<FileDescriptor> folder = open_trusted_directory(folder_, trust_)) {
    if (const std::optional<Sha256> known = read_record(folder->get(), state, description, trust_))
      return *known;
  }
  const bool is_old = state.changed_ns <= now_ns() - min_age_ns_;
  ETB_ASSIGN(const Sha256 digest, sha256_of(file));
  ETB_ASSIGN(const FileState after, file_state(file.fd()));
  if (!is_old || after != state || file.nbytes() != state.nbytes) return digest;
  if (const Result<FileDescriptor> folder = provide_trusted_directory(folder_, trust_, 3))
    write_record(folder->get(), state, description + format::to_hex(digest) + '\n');
  return digest;
}

std::string digest_record_folder(
    const std::function<std::optional<std::string>(const char* name)>& environment) {
  const std::string cache = environment ? user_cache_folder(environment) : "";
  return cache.empty() ? "" : cache + "/digests";
}

}  // namespace etb::host
