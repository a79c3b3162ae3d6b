// SPDX-License-Identifier: Apache-2.0
// OutputFile: writes files, whole or not at all, under the caller's name. All commands and
// libraries write with it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "etb/cpp/result.hpp"

namespace etb::format {

enum class Visibility : uint8_t {
  kWhenWhole,  // the name refers to the old file, or none, until commit()
  kAtOnce      // a log that is read while it grows; a second writer fails
};

struct OutputOptions {
  Visibility visibility = Visibility::kWhenWhole;
  mode_t mode = 0666;          // mode of a new file, less the umask
  bool must_be_new = false;    // an existing name is an error (ALREADY_EXISTS)
  bool keeps_content = false;  // kAtOnce: appends to the present bytes
};

// Destination of the bytes:
// - A plain file, or a free name: a file without a name in the same folder, which commit() names. Where the
//   file system has no files without a name, one with an unpredictable name. A replacement keeps the old
//   file's mode and, where allowed, its owner.
// - A symbolic link: its target file, like `cp`. A link to nothing is an error.
// - A device or a named pipe: written directly, never replaced.
// - A folder, or a file that the caller may not write to: an error.
class OutputFile {
 public:
  [[nodiscard]] static Result<OutputFile> open(const std::string& path, const OutputOptions& options = {});
  // Opens a file in this folder that never gets a name: its bytes exist as long as this
  // object and its descriptors.
  [[nodiscard]] static Result<OutputFile> open_unnamed(const std::string& folder);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  // Without commit() a file of kWhenWhole is removed.
  ~OutputFile();

  // Returns OUT_OF_RESOURCES for a full disk or a closed pipe.
  [[nodiscard]] Status append(std::span<const std::byte> bytes);
  [[nodiscard]] Status append(std::string_view text) { return append(std::as_bytes(std::span(text))); }
  // For copies that the system makes from file to file. The caller reports their errors with write_error().
  int descriptor() const noexcept;
  Error write_error(int error_number) const;

  // Names the file. The contents of a replacement are on the disk before the old file is removed.
  [[nodiscard]] Status commit();

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

// Writes a whole file in one call.
[[nodiscard]] Status write_file(const std::string& path, std::span<const std::byte> bytes,
                                const OutputOptions& options = {});
[[nodiscard]] Status write_file(const std::string& path, std::string_view text,
                                const OutputOptions& options = {});

// Returns the error that write_file() would return now, without writing: called before a long job. Does not
// open a pipe, because its reader would see the close as the end of the file.
[[nodiscard]] Status expect_writable(const std::string& path);

// Returns the error of a write by its errno.
Error make_write_error(const std::string& what, int error_number);

// Removes files without a commit(). For a signal handler that ends the process: calls only
// async-signal-safe functions.
void remove_unfinished_files() noexcept;

}  // namespace etb::format
