// The folder that keeps packed weights, which several processes use at once: what its files are called, how one gets there whole, and
// what is removed.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace etb::xnnpack {

inline constexpr const char* kWeightsSuffix = ".xnnpack-weights";
// Of the note beside a file of weights (packed_file.cpp).
std::filesystem::path note_path(const std::filesystem::path& weights);

// Opens a regular file of this user that nobody else can write; -1 for anything else.
int open_own(const std::filesystem::path& path, int flags, struct stat& info);

// A file that has another name until it is whole. Its lock says that somebody writes it: a writer that was killed has none.
class PartialFile {
 public:
  // Readable by this user alone.
  explicit PartialFile(std::filesystem::path path);
  // Removes what is not finished.
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  // All of it, or false.
  [[nodiscard]] bool write(const void* data, size_t nbytes);
  // Gives it its name, instead of the file that had it.
  [[nodiscard]] bool finish();

 private:
  std::filesystem::path path_;
  std::string partial_;
  int fd_ = -1;
  bool is_finished_ = false;
};

// Removes what killed writers left and notes without a file, then the oldest files until all that is left, what others are writing
// included, takes at most `max_nbytes`. Files of other names are not looked at; what cannot be read or removed stays.
void trim_folder(const std::string& folder, uint64_t max_nbytes);

}  // namespace etb::xnnpack
