#include "partitioner_sdk/import/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace etb::pt2 {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const auto fail = [&](const char* what) {
    return make_error(errno == ENOENT ? Code::NOT_FOUND : Code::ACCESS_FAILED,
                      std::string(what) + " '" + path + "': " + std::strerror(errno));
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail("cannot open");
  struct stat info = {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return make_error(Code::ACCESS_FAILED, "'" + path + "' is no regular file");
  }
  const auto nbytes = static_cast<size_t>(info.st_size);
  if (nbytes == 0) {
    ::close(fd);
    return std::shared_ptr<const MappedFile>(new MappedFile({}, -1));
  }
  void* address = ::mmap(nullptr, nbytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) {
    const auto error = fail("cannot map");
    ::close(fd);
    return error;
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::byte*>(address), nbytes}, fd));
}

std::shared_ptr<const MappedFile> MappedFile::borrow(std::span<const std::byte> bytes) {
  return std::shared_ptr<const MappedFile>(new MappedFile(bytes, -1));
}

MappedFile::~MappedFile() {
  if (descriptor_ < 0) return;
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  ::close(descriptor_);
}

}  // namespace etb::pt2
