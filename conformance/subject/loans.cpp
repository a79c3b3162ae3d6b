// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/loans.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace etb::conformance {
namespace {

constexpr uint64_t kAlignment = 16;
constexpr uint64_t kMostAlignment = 4096;  // a host may store named data with less than a plugin asks for
constexpr off_t kFileOffset = 4096 + 48;

// Returns a file with the bytes behind a gap, or -1.
int make_file(std::span<const std::byte> bytes) {
  const int file = ::memfd_create("loan", MFD_CLOEXEC);
  if (file < 0) return file;
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        ::pwrite(file, bytes.data() + done, bytes.size() - done, kFileOffset + static_cast<off_t>(done));
    if (count <= 0) {
      ::close(file);
      return -1;
    }
    done += static_cast<size_t>(count);
  }
  return file;
}

// Returns a copy at a multiple of `alignment` that is none of twice as much.
std::span<const std::byte> copy_barely_aligned(std::span<const std::byte> bytes, uint64_t alignment,
                                               std::vector<std::byte>& out_memory) {
  out_memory.resize(bytes.size() + 3 * alignment);
  const auto address = reinterpret_cast<uintptr_t>(out_memory.data());
  const uint64_t gap = (2 * alignment - address % (2 * alignment)) % (2 * alignment) + alignment;
  std::byte* const copy = out_memory.data() + gap;
  std::copy(bytes.begin(), bytes.end(), copy);
  return {copy, bytes.size()};
}

}  // namespace

void ReusedMemory::lend(std::span<const std::byte> bytes, etb_payload_view& out) {
  const uint64_t nbytes = bytes.size() + 2 * kAlignment;
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& block) {
    return !block.is_lent && block.memory.size() == nbytes;
  });
  Block& block = found != blocks_.end() ? *found : blocks_.emplace_back();
  block.memory.resize(nbytes);
  block.is_lent = true;
  const auto address = reinterpret_cast<uintptr_t>(block.memory.data());
  std::byte* const copy = block.memory.data() + (kAlignment - address % kAlignment) % kAlignment;
  std::copy(bytes.begin(), bytes.end(), copy);
  out.data = bytes.empty() ? nullptr : copy;
  out.nbytes = bytes.size();
  out.alignment = kAlignment;
  out.fd = -1;
  out.release_ctx = &block;
  out.release = [](void* ctx) {
    Block& released = *static_cast<Block*>(ctx);
    std::fill(released.memory.begin(), released.memory.end(), std::byte{0x5b});
    released.is_lent = false;
  };
}

Lender::~Lender() {
  for (const File& file : files_) ::close(file.fd);
}

std::string Lender::file_damage() const {
  for (const File& file : files_) {
    struct stat now {};
    if (::fstat(file.fd, &now) != 0 || now.st_ino != file.inode) return "closed";
    if (::lseek(file.fd, 0, SEEK_CUR) != 0) return "moved to another position";
  }
  return {};
}

void Lender::lend(std::span<const std::byte> bytes, etb_payload_view& out, uint64_t alignment) {
  if (loans_.reused != nullptr) return loans_.reused->lend(bytes, out);
  alignment = std::clamp(alignment, kAlignment, kMostAlignment);
  if (loans_.has_least_alignment && !bytes.empty())
    bytes = copy_barely_aligned(bytes, alignment, copies_.emplace_back());
  out.data = bytes.empty() ? nullptr : bytes.data();
  out.nbytes = bytes.size();
  out.alignment = loans_.has_least_alignment ? alignment : kAlignment;
  out.fd = -1;
  // Nothing to release, but the validate layer protects released memory.
  out.release = loans_.has_release ? [](void*) {} : static_cast<void(ETB_CALL*)(void*)>(nullptr);
  if (!loans_.has_file) return;
  const int file = make_file(bytes);
  struct stat info {};
  if (file < 0 || ::fstat(file, &info) != 0) return;
  files_.push_back({file, info.st_ino});
  out.fd = file;
  out.fd_offset_bytes = static_cast<uint64_t>(kFileOffset);
  if (!loans_.has_bytes) out.data = nullptr;
}

}  // namespace etb::conformance
