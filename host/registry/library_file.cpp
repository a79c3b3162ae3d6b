// SPDX-License-Identifier: Apache-2.0
#include "host/registry/library_file.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace etb::host {

Result<LibraryFile> LibraryFile::open(const std::string& path) {
  LibraryFile out;
  out.file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!out.file)
    return make_error(errno == ENOENT ? Code::NOT_FOUND : Code::ACCESS_FAILED, std::strerror(errno));
  ETB_ASSIGN(const FileState state, file_state(out.file.get()));
  out.nbytes = state.nbytes;
  ETB_ASSIGN(out.elf, read_elf(out.bytes()));
  return out;
}

}  // namespace etb::host
