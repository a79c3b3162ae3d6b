// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/emit/whole_file.hpp"

#include <sys/sendfile.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <vector>

namespace etb::emit {

namespace {

// Shorter pieces are gathered, to save system calls.
constexpr size_t kGatheredNbytes = size_t{64} << 10;

class FileWriter {
 public:
  FileWriter(int file, std::span<const ir::FileBytes> sources) : file_(file), sources_(sources) {}

  // Returns false, with errno set, if a write fails.
  bool append(std::span<const std::byte> bytes) {
    if (bytes.size() < kGatheredNbytes) {
      gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
      return gathered_.size() < kGatheredNbytes || flush();
    }
    return flush() && (copy_from_source(bytes) || write(bytes));
  }
  bool flush() {
    const bool is_written = write(gathered_);
    gathered_.clear();
    return is_written;
  }

 private:
  bool write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return true;
  }

  // Copies from file to file and removes the copied bytes from the front of `bytes`. Returns false if the
  // rest must be written.
  bool copy_from_source(std::span<const std::byte>& bytes) {
    for (const ir::FileBytes& source : sources_) {
      const std::byte* begin = source.bytes.data();
      const bool is_inside = std::less_equal<>()(begin, bytes.data()) &&
                             std::less_equal<>()(bytes.data() + bytes.size(), begin + source.bytes.size());
      if (source.descriptor < 0 || !is_inside) continue;
      off_t at = bytes.data() - begin;
      while (!bytes.empty()) {
        // Across file systems only the second one copies.
        ssize_t count = ::copy_file_range(source.descriptor, &at, file_, nullptr, bytes.size(), 0);
        if (count <= 0) count = ::sendfile(file_, source.descriptor, &at, bytes.size());
        if (count <= 0) return false;
        bytes = bytes.subspan(static_cast<size_t>(count));
      }
      return true;
    }
    return false;
  }

  int file_;
  std::span<const ir::FileBytes> sources_;
  std::vector<std::byte> gathered_;
};

}  // namespace

Status write_into(format::OutputFile& file, const std::function<Status(const format::ByteSink&)>& write,
                  std::span<const ir::FileBytes> files) {
  FileWriter writer(file.descriptor(), files);
  const auto failed = [&] { return tl::make_unexpected(file.write_error(errno)); };
  ETB_TRY(write([&](std::span<const std::byte> bytes) -> Status {
    if (writer.append(bytes)) return {};
    return failed();
  }));
  if (!writer.flush()) return failed();
  return {};
}

Status write_whole_file(const std::string& path, const std::function<Status(const format::ByteSink&)>& write,
                        std::span<const ir::FileBytes> files) {
  ETB_ASSIGN(format::OutputFile file, format::OutputFile::open(path));
  ETB_TRY(write_into(file, write, files));
  return file.commit();
}

}  // namespace etb::emit
