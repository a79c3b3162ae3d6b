#include "conformance/report/text_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "host/registry/trusted_file.hpp"

namespace etb::conformance {
namespace {

tl::unexpected<Error> system_error(const std::string& path) {
  return make_error(errno == ENOENT || errno == ENOTDIR ? Code::NOT_FOUND : Code::ACCESS_FAILED,
                    "cannot read '" + path + "': " + std::strerror(errno));
}

Status expect_regular(const struct stat& info, const std::string& path) {
  if (S_ISREG(info.st_mode)) return {};
  return make_error(Code::INVALID_DATA, "cannot read '" + path + "': not a regular file");
}

}  // namespace

Status expect_regular_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return system_error(path);
  return expect_regular(info, path);
}

Result<std::string> read_text_file(const std::string& path, uint64_t most_bytes) {
  // Without waiting for the other end of a pipe.
  const host::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return system_error(path);
  ETB_TRY(expect_regular(info, path));
  Result<std::string> text = host::read_text_file(file.get(), most_bytes);
  if (!text) return tl::make_unexpected(with_context(std::move(text).error(), "'" + path + "'"));
  return text;
}

}  // namespace etb::conformance
