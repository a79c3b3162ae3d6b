// Writes files: whole or not at all, under the name that the caller gave. The one way in which commands and libraries write.
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
  kWhenWhole,  // the name means the old file, or none, until commit()
  kAtOnce      // a log that is read while it grows; another writer of the same name is refused
};

struct OutputOptions {
  Visibility visibility = Visibility::kWhenWhole;
  mode_t mode = 0666;          // of a new file, less the umask
  bool must_be_new = false;    // an existing name is an error (ALREADY_EXISTS)
  bool keeps_content = false;  // kAtOnce: goes on after the bytes that are there
};

// Where the bytes go:
// - A plain file, or a name that is free: a file without a name in the same folder, which gets the name in commit(). Where the file
//   system has no files without a name, one with an unpredictable name. Mode and, where allowed, owner of a replaced file are kept.
// - A symbolic link: the file behind it, as `cp` does. A link to nothing is an error.
// - A device or a named pipe: written to as it is, never replaced.
// - A folder, or a file that the caller may not write to: an error.
class OutputFile {
 public:
  [[nodiscard]] static Result<OutputFile> open(const std::string& path, const OutputOptions& options = {});
  // A file in this folder that never gets a name: for bytes that live as long as this object and the descriptors of it.
  [[nodiscard]] static Result<OutputFile> open_unnamed(const std::string& folder);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  // Without a commit() nothing is left of a file that was to be visible when whole.
  ~OutputFile();

  // OUT_OF_RESOURCES for a full disk or a reader that has gone.
  [[nodiscard]] Status append(std::span<const std::byte> bytes);
  [[nodiscard]] Status append(std::string_view text) { return append(std::as_bytes(std::span(text))); }
  // For copies that the system makes from file to file. The caller reports their errors with write_error().
  int descriptor() const noexcept;
  Error write_error(int error_number) const;

  // Gives the file its name. What replaces an old file is on the disk before the old one goes.
  [[nodiscard]] Status commit();

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

// The whole of it in one call.
[[nodiscard]] Status write_file(const std::string& path, std::span<const std::byte> bytes,
                                const OutputOptions& options = {});
[[nodiscard]] Status write_file(const std::string& path, std::string_view text,
                                const OutputOptions& options = {});

// The error that write_file() would have now, without a write: for a long job before it starts. A pipe is not opened, since its reader
// would take the end of that for the end of the file.
[[nodiscard]] Status expect_writable(const std::string& path);

// The error of a write, by its errno.
Error make_write_error(const std::string& what, int error_number);

// Removes files that no commit() has named yet. For a signal handler that ends the process: calls only functions that such
// handlers may call.
void remove_unfinished_files() noexcept;

}  // namespace etb::format
