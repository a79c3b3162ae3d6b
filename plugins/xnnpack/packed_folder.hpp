// SPDX-License-Identifier: Apache-2.0
// The folder of packed weights, shared by several processes: file names, atomic writes, and removal.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace etb::xnnpack {

inline constexpr const char* kWeightsSuffix = ".xnnpack-weights";
// Returns the path of the note beside a file of weights (packed_file.cpp).
std::filesystem::path note_path(const std::filesystem::path& weights);

// Opens a regular file of this user that no other user can write. Returns -1 for any other file.
int open_own(const std::filesystem::path& path, int flags, struct stat& info);

// A file with a temporary name until it is complete. Its lock marks a live writer: a killed writer holds no
// lock.
class PartialFile {
 public:
  // Creates a file that only this user can read.
  explicit PartialFile(std::filesystem::path path);
  // Removes the file if it is not finished.
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  // Writes all bytes, or returns false.
  [[nodiscard]] bool write(const void* data, size_t nbytes);
  // Renames the file to its final name and replaces an older one.
  [[nodiscard]] bool finish();

 private:
  std::filesystem::path path_;
  std::string partial_;
  int fd_ = -1;
  bool is_finished_ = false;
};

// Removes files of killed writers and notes without a file. Then removes the oldest files until the rest,
// including files being written, needs at most `max_nbytes`. Ignores files with other names. Keeps files that
// cannot be read or removed.
void trim_folder(const std::string& folder, uint64_t max_nbytes);

}  // namespace etb::xnnpack
