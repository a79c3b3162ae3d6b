// SPDX-License-Identifier: Apache-2.0
#include "host/loaders/file_range.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "etb/cpp/fail.hpp"

namespace etb::host {

namespace {

using Count = unsigned long long;  // for printf

etb_status fail_errno(etb_error* error, int number, const char* what) noexcept {
  const etb_status status = fail(error, number == ENOENT ? ETB_NOT_FOUND : ETB_ACCESS_FAILED, "%s: %s", what,
                                 std::strerror(number));
  if (detail::can_write(error)) error->vendor_code = number;
  return status;
}

}  // namespace

FileRange::~FileRange() {
  if (is_open()) ::close(descriptor_);
}

etb_status FileRange::open(const char* path, etb_error* error) noexcept {
  if (is_open()) return fail(error, ETB_ALREADY_LOADED, "the loader has a file already");
  // O_NONBLOCK: opening a pipe would block until its other end is opened. open() below rejects a pipe.
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return fail_errno(error, errno, path);
  const etb_status status = open(descriptor, 0, 0, error);
  ::close(descriptor);
  return status == ETB_OK ? ETB_OK : fail_in(error, status, "%s", path);
}

etb_status FileRange::open(int descriptor, uint64_t offset, uint64_t nbytes, etb_error* error) noexcept {
  if (is_open()) return fail(error, ETB_ALREADY_LOADED, "the loader has a file already");
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return fail_errno(error, errno, "descriptor");
  if (!S_ISREG(info.st_mode)) return fail(error, ETB_ACCESS_FAILED, "not a regular file");
  const auto file_nbytes = static_cast<uint64_t>(info.st_size);
  if (offset > file_nbytes || nbytes > file_nbytes - offset) {
    return fail(error, ETB_ACCESS_FAILED, "%llu bytes at %llu of a file of %llu", static_cast<Count>(nbytes),
                static_cast<Count>(offset), static_cast<Count>(file_nbytes));
  }
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return fail_errno(error, errno, "descriptor");
  descriptor_ = own;
  offset_ = offset;
  nbytes_ = nbytes == 0 ? file_nbytes - offset : nbytes;
  return ETB_OK;
}

etb_status FileRange::check_range(uint64_t offset, uint64_t nbytes, etb_error* error) const noexcept {
  if (!is_open()) return fail(error, ETB_INVALID_STATE, "the loader has no file");
  if (offset <= nbytes_ && nbytes <= nbytes_ - offset) return ETB_OK;
  return fail(error, ETB_ACCESS_FAILED, "%llu bytes at %llu of a file of %llu", static_cast<Count>(nbytes),
              static_cast<Count>(offset), static_cast<Count>(nbytes_));
}

etb_status FileRange::read(uint64_t offset, std::span<std::byte> out, etb_error* error) const noexcept {
  ETB_CHECK(check_range(offset, out.size(), error));
  size_t done = 0;
  while (done < out.size()) {
    const auto at = static_cast<off_t>(offset_ + offset + done);
    const ssize_t count = ::pread(descriptor_, out.data() + done, out.size() - done, at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(error, errno, "read");
    if (count == 0) return fail(error, ETB_ACCESS_FAILED, "the file became shorter while it was read");
    done += static_cast<size_t>(count);
  }
  return ETB_OK;
}

}  // namespace etb::host
