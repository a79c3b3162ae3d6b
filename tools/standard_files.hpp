// SPDX-License-Identifier: Apache-2.0
// Files that the user names "-": standard input and standard output.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "api/format/output_file.hpp"
#include "etb/cpp/result.hpp"

namespace etb::tools {

struct Session;

constexpr std::string_view kStandardFile = "-";

// The bytes of standard input as a file with a path, because commands map their files and read them at any
// offset. A pipe is copied to a file without a name.
class StandardInput {
 public:
  [[nodiscard]] static Result<StandardInput> open();
  const std::string& path() const noexcept { return path_; }  // in /proc/self/fd

 private:
  StandardInput() = default;
  std::string path_;
  std::optional<format::OutputFile> copy_;
};

// Returns `path`, or the path of standard input for "-". A command may read standard input once.
[[nodiscard]] Result<std::string> input_path(const std::string& path, Session& session);

// Replaces paths of standard input in a message by "standard input".
std::string with_input_named(std::string message, const Session& session);

// An option that names a file to write; "-" is standard output.
struct NamedOutput {
  const char* option;
  std::string_view path;
  bool is_binary = false;
};

// Returns true if one of the outputs is "-"; messages then go to standard error. Two of them are an error,
// and binary data for a terminal.
[[nodiscard]] Result<bool> uses_standard_output(std::initializer_list<NamedOutput> outputs,
                                                const Session& session);

// Writes to the file, or for "-" to standard output, without escapes.
[[nodiscard]] Status write_output(const std::string& path, std::string_view bytes, Session& session);
// Writes the bytes of an open file to standard output.
[[nodiscard]] Status copy_to_output(int descriptor, Session& session);

}  // namespace etb::tools
