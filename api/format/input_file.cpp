// SPDX-License-Identifier: Apache-2.0
#include "api/format/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "api/format/printable_text.hpp"

namespace etb::format {

namespace {

std::string quoted(const std::string& path) { return '\'' + made_printable(path) + '\''; }

tl::unexpected<Error> system_error(const std::string& what, int number) {
  const bool is_missing = number == ENOENT || number == ENOTDIR;
  return make_error(is_missing ? Code::NOT_FOUND : Code::ACCESS_FAILED, what + ": " + std::strerror(number));
}

const char* describe_kind(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no plain file";
}

Status expect_plain_file(const struct stat& info, const std::string& path) {
  if (S_ISREG(info.st_mode)) return {};
  return make_error(Code::ACCESS_FAILED,
                    quoted(path) + ": found " + describe_kind(info.st_mode) + ", expected a plain file");
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  if (path.find('\0') != std::string::npos)
    return make_error(Code::INVALID_ARGUMENT,
                      quoted(path) + ": found a NUL byte, expected a path without one");
  struct stat info {};
  // Checks before the open, because the open itself could already disturb a device.
  if (::stat(path.c_str(), &info) != 0) return system_error("cannot open " + quoted(path), errno);
  ETB_TRY(expect_plain_file(info, path));
  // The name may become a pipe meanwhile. O_NONBLOCK does not wait for its other end.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return system_error("cannot open " + quoted(path), errno);
  InputFile file(descriptor, 0, path);
  if (::fstat(descriptor, &info) != 0) return system_error("cannot open " + quoted(path), errno);
  ETB_TRY(expect_plain_file(info, path));
  file.nbytes_ = static_cast<uint64_t>(info.st_size);
  return file;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status InputFile::read(uint64_t offset, std::span<std::byte> out) const {
  if (offset > nbytes_ || out.size() > nbytes_ - offset)
    return make_error(Code::INVALID_DATA, quoted(path_) + ": found " + std::to_string(nbytes_) +
                                              " bytes, expected " + std::to_string(out.size()) +
                                              " at offset " + std::to_string(offset));
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot read " + quoted(path_), errno);
    if (count == 0)
      return make_error(Code::INVALID_DATA, quoted(path_) + ": became shorter while it was read");
    offset += static_cast<uint64_t>(count);
    out = out.subspan(static_cast<size_t>(count));
  }
  return {};
}

Result<std::string> read_file_text(const std::string& path, uint64_t max_nbytes) {
  ETB_ASSIGN(const InputFile file, InputFile::open(path));
  if (file.nbytes() > max_nbytes)
    return make_error(Code::INVALID_DATA, quoted(path) + ": found " + std::to_string(file.nbytes()) +
                                              " bytes, expected at most " + std::to_string(max_nbytes));
  std::string text(static_cast<size_t>(file.nbytes()), '\0');
  ETB_TRY(file.read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace etb::format
