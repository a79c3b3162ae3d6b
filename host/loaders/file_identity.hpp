// SPDX-License-Identifier: Apache-2.0
// FileIdentity: what shows that a path still names the same file with the same contents.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

namespace etb::host {

struct FileIdentity {
  uint64_t device = 0, number = 0;
  int64_t nbytes = 0, changed_s = 0, changed_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

// Returns nothing if the path names no file that the process can reach.
inline std::optional<FileIdentity> identify_file(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

}  // namespace etb::host
