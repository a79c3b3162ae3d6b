// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/mapped_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "api/format/input_file.hpp"

namespace etb::pt2 {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  ETB_ASSIGN(format::InputFile file, format::InputFile::open(path));
  const auto nbytes = static_cast<size_t>(file.nbytes());
  if (nbytes == 0) return std::shared_ptr<const MappedFile>(new MappedFile({}, -1));
  void* address = ::mmap(nullptr, nbytes, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (address == MAP_FAILED)
    return make_error(Code::ACCESS_FAILED, "cannot map '" + path + "': " + std::strerror(errno));
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::byte*>(address), nbytes}, file.release()));
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
