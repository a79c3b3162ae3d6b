// SPDX-License-Identifier: Apache-2.0
#include "tools/standard_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>

#include "tools/command.hpp"

namespace etb::tools {

namespace {

constexpr size_t kBlockNbytes = size_t{1} << 16;

bool is_plain_file_at_start(int descriptor) {
  struct stat info {};
  return ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && ::lseek(descriptor, 0, SEEK_CUR) == 0;
}

Status copy_input(format::OutputFile& to) {
  std::array<std::byte, kBlockNbytes> block;
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return make_error(Code::ACCESS_FAILED,
                        std::string("cannot read standard input: ") + std::strerror(errno));
    if (count == 0) return {};
    ETB_TRY(to.append(std::span(block).first(static_cast<size_t>(count))));
  }
}

}  // namespace

Result<StandardInput> StandardInput::open() {
  if (::isatty(STDIN_FILENO) != 0)
    return make_error(Code::INVALID_ARGUMENT,
                      "standard input is a terminal, expected a file or a pipe\nhint: append `< FILE`");
  StandardInput input;
  int descriptor = STDIN_FILENO;
  if (!is_plain_file_at_start(descriptor)) {
    std::error_code failed;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
    if (failed) return make_error(Code::ACCESS_FAILED, "no folder for temporary files: " + failed.message());
    ETB_ASSIGN(input.copy_, format::OutputFile::open_unnamed(folder.string()));
    ETB_TRY(copy_input(*input.copy_));
    descriptor = input.copy_->descriptor();
  }
  input.path_ = "/proc/self/fd/" + std::to_string(descriptor);
  return input;
}

Result<std::string> input_path(const std::string& path, Session& session) {
  if (path != kStandardFile) return path;
  if (session.input != nullptr)
    return make_error(Code::INVALID_ARGUMENT, "two inputs are '-', and standard input is read once");
  ETB_ASSIGN(StandardInput input, StandardInput::open());
  session.input = std::make_shared<StandardInput>(std::move(input));
  return session.input->path();
}

std::string with_input_named(std::string message, const Session& session) {
  if (session.input == nullptr) return message;
  const std::string& path = session.input->path();
  for (size_t at = message.find(path); at != std::string::npos; at = message.find(path, at)) {
    const bool is_quoted =
        at > 0 && message[at - 1] == '\'' && message.compare(at + path.size(), 1, "'") == 0;
    message.replace(is_quoted ? at - 1 : at, path.size() + (is_quoted ? 2 : 0), "standard input");
  }
  return message;
}

Result<bool> uses_standard_output(std::initializer_list<NamedOutput> outputs, const Session& session) {
  const NamedOutput* found = nullptr;
  for (const NamedOutput& output : outputs) {
    if (output.path != kStandardFile) continue;
    if (found != nullptr)
      return make_error(Code::INVALID_ARGUMENT, std::string(found->option) + " and " + output.option +
                                                    " both write to standard output, expected one");
    found = &output;
  }
  if (found != nullptr && found->is_binary && session.screen != nullptr)
    return make_error(Code::INVALID_ARGUMENT,
                      std::string(found->option) +
                          " -: standard output is a terminal, expected a file or a pipe for binary data");
  return found != nullptr;
}

Status write_output(const std::string& path, std::string_view bytes, Session& session) {
  if (path != kStandardFile) return format::write_file(path, bytes);
  session.out.flush();
  session.raw_out->write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return {};  // run_cli reports a failure of standard output
}

Status copy_to_output(int descriptor, Session& session) {
  std::array<char, kBlockNbytes> block;
  for (off_t offset = 0;;) {
    const ssize_t count = ::pread(descriptor, block.data(), block.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return make_error(Code::ACCESS_FAILED,
                        std::string("cannot read a temporary file: ") + std::strerror(errno));
    if (count == 0) return {};
    ETB_TRY(write_output(std::string(kStandardFile), {block.data(), static_cast<size_t>(count)}, session));
    offset += count;
  }
}

}  // namespace etb::tools
