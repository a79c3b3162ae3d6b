// SPDX-License-Identifier: Apache-2.0
// InputFile: reads files that a user names: plain files of limited size. A folder, pipe or device is an
// error, so no read blocks or is endless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "etb/cpp/result.hpp"

namespace etb::format {

class InputFile {
 public:
  // Follows symbolic links. Errors: NOT_FOUND; ACCESS_FAILED when it cannot be opened or is not a plain
  // file. Each names the path.
  [[nodiscard]] static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        nbytes_(other.nbytes_),
        path_(std::move(other.path_)) {}
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  uint64_t nbytes() const noexcept { return nbytes_; }  // at the time of open
  int descriptor() const noexcept { return descriptor_; }
  // Moves the descriptor to the caller, who closes it.
  int release() noexcept { return std::exchange(descriptor_, -1); }

  // Fills `out` from `offset`. INVALID_DATA when the file ends before, also when it was truncated after open.
  [[nodiscard]] Status read(uint64_t offset, std::span<std::byte> out) const;

 private:
  InputFile(int descriptor, uint64_t nbytes, std::string path)
      : descriptor_(descriptor), nbytes_(nbytes), path_(std::move(path)) {}

  int descriptor_ = -1;
  uint64_t nbytes_ = 0;
  std::string path_;
};

// Reads all bytes of a file. INVALID_DATA when it has more than max_nbytes; no memory is allocated then.
[[nodiscard]] Result<std::string> read_file_text(const std::string& path, uint64_t max_nbytes);

}  // namespace etb::format
