// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/zip_archive.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace etb::pt2 {

namespace {

// Layouts and signatures: APPNOTE.TXT 6.3, sections 4.3.7 (local header), 4.3.12 (central directory), 4.3.14
// to 4.3.16 (ends).
constexpr uint32_t kLocalSignature = 0x04034b50, kCentralSignature = 0x02014b50, kEndSignature = 0x06054b50,
                   kEnd64Signature = 0x06064b50, kLocatorSignature = 0x07064b50;
constexpr size_t kLocalNbytes = 30, kCentralNbytes = 46, kEndNbytes = 22, kEnd64Nbytes = 56,
                 kLocatorNbytes = 20;
constexpr size_t kMaxCommentNbytes = 0xFFFF;
constexpr uint64_t kMaxRecordCount = 1 << 20;

tl::unexpected<Error> fail(const std::string& why) { return make_error(Code::INVALID_DATA, "zip: " + why); }

class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> all) : all_(all) {}
  size_t size() const { return all_.size(); }
  bool has(uint64_t offset, uint64_t nbytes) const {
    return offset <= all_.size() && nbytes <= all_.size() - offset;
  }
  // Reads a little-endian number at an offset that has() has checked.
  template <class T>
  T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, all_.data() + offset, sizeof(value));
    return value;
  }
  std::string_view text(uint64_t offset, size_t nbytes) const {
    return {reinterpret_cast<const char*>(all_.data()) + offset, nbytes};
  }
  std::span<const std::byte> span(uint64_t offset, uint64_t nbytes) const {
    return all_.subspan(static_cast<size_t>(offset), static_cast<size_t>(nbytes));
  }

 private:
  std::span<const std::byte> all_;
};

struct Directory {
  uint64_t offset = 0;
  uint64_t nbytes = 0;
  uint64_t count = 0;
};

struct Entry {
  std::string name;
  uint64_t header_offset = 0;
  uint64_t data_offset = 0;
  uint64_t nbytes = 0;
};

std::optional<uint64_t> find_end(const Bytes& file) {
  if (file.size() < kEndNbytes) return std::nullopt;
  const size_t last = file.size() - kEndNbytes;
  const size_t first = last > kMaxCommentNbytes ? last - kMaxCommentNbytes : 0;
  for (size_t at = last + 1; at-- > first;) {
    // The comment must end with the file; otherwise bytes inside it could imitate another end.
    if (file.at<uint32_t>(at) == kEndSignature && file.at<uint16_t>(at + 20) == last - at) return at;
  }
  return std::nullopt;
}

Result<Directory> find_directory(const Bytes& file) {
  const auto end = find_end(file);
  if (!end) return fail("no end of central directory: the file is truncated, or not a zip archive");
  Directory directory{file.at<uint32_t>(*end + 16), file.at<uint32_t>(*end + 12),
                      file.at<uint16_t>(*end + 10)};
  const bool has_one_disk = file.at<uint16_t>(*end + 4) == 0 && file.at<uint16_t>(*end + 6) == 0;
  if (!has_one_disk || file.at<uint16_t>(*end + 8) != directory.count)
    return fail("the archive is split over several files");
  uint64_t limit = *end;
  if (*end >= kLocatorNbytes && file.at<uint32_t>(*end - kLocatorNbytes) == kLocatorSignature) {
    const uint64_t at = file.at<uint64_t>(*end - kLocatorNbytes + 8);
    if (!file.has(at, kEnd64Nbytes) || at + kEnd64Nbytes > *end - kLocatorNbytes ||
        file.at<uint32_t>(at) != kEnd64Signature) {
      return fail("the zip64 locator does not point at a zip64 end");
    }
    const Directory wide{file.at<uint64_t>(at + 48), file.at<uint64_t>(at + 40), file.at<uint64_t>(at + 32)};
    // Unless the narrow field means "see zip64", both must agree, so that readers of either see the same
    // file.
    if ((directory.count != 0xFFFF && directory.count != wide.count) ||
        (directory.nbytes != 0xFFFFFFFF && directory.nbytes != wide.nbytes) ||
        (directory.offset != 0xFFFFFFFF && directory.offset != wide.offset)) {
      return fail("zip64 end disagrees with the end of central directory");
    }
    directory = wide;
    limit = at;
  }
  if (directory.offset > limit || directory.nbytes > limit - directory.offset) {
    return fail("central directory reaches outside the file");
  }
  if (directory.count > kMaxRecordCount || directory.count > directory.nbytes / kCentralNbytes) {
    return fail("central directory too small for " + std::to_string(directory.count) + " records");
  }
  return directory;
}

// A zip64 extra field holds, in this order, only those of size, stored size and offset whose 32-bit field is
// all ones.
Status widen(const Bytes& file, uint64_t at, size_t nbytes, Entry& entry, uint64_t& stored_nbytes) {
  const uint64_t end = at + nbytes;
  while (end - at >= 4) {
    const auto id = file.at<uint16_t>(at);
    const auto length = file.at<uint16_t>(at + 2);
    at += 4;
    if (length > end - at) return fail("extra field of '" + entry.name + "' reaches outside");
    if (id == 1) {
      uint64_t field = at;
      for (uint64_t* value : {&entry.nbytes, &stored_nbytes, &entry.header_offset}) {
        if (*value != 0xFFFFFFFF) continue;
        if (at + length - field < 8) return fail("zip64 field of '" + entry.name + "' is too short");
        *value = file.at<uint64_t>(field);
        field += 8;
      }
      return {};
    }
    at += length;
  }
  return {};
}

bool is_safe_name(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != name.npos || name.find('\\') != name.npos)
    return false;
  for (size_t start = 0; start <= name.size();) {
    const size_t end = std::min(name.find('/', start), name.size());
    if (name.substr(start, end - start) == "..") return false;
    start = end + 1;
  }
  return true;
}

// Reads the central entry at `at` and advances `at` past it.
Result<Entry> read_entry(const Bytes& file, const Directory& directory, uint64_t& at) {
  const uint64_t end = directory.offset + directory.nbytes;
  if (end - at < kCentralNbytes || file.at<uint32_t>(at) != kCentralSignature)
    return fail("the central directory is malformed");
  const size_t name_nbytes = file.at<uint16_t>(at + 28);
  const size_t extra_nbytes = file.at<uint16_t>(at + 30);
  const size_t comment_nbytes = file.at<uint16_t>(at + 32);
  if (end - at - kCentralNbytes < name_nbytes + extra_nbytes + comment_nbytes)
    return fail("the central directory is malformed");
  Entry entry;
  entry.name = file.text(at + kCentralNbytes, name_nbytes);
  if (!is_safe_name(entry.name)) return fail("a record has an unsafe name");
  const auto flags = file.at<uint16_t>(at + 8);
  if ((flags & (1u | 1u << 6 | 1u << 13)) != 0) return fail("record '" + entry.name + "' is encrypted");
  if (file.at<uint16_t>(at + 10) != 0)
    return fail("record '" + entry.name + "' is compressed, expected stored");
  uint64_t stored_nbytes = file.at<uint32_t>(at + 20);
  entry.nbytes = file.at<uint32_t>(at + 24);
  entry.header_offset = file.at<uint32_t>(at + 42);
  ETB_TRY(widen(file, at + kCentralNbytes + name_nbytes, extra_nbytes, entry, stored_nbytes));
  if (stored_nbytes != entry.nbytes)
    return fail("record '" + entry.name + "' is stored, but its two sizes differ");
  at += kCentralNbytes + name_nbytes + extra_nbytes + comment_nbytes;
  return entry;
}

// The local header only locates the data. Its sizes may be zero and are not used.
Status locate_data(const Bytes& file, const Directory& directory, Entry& entry) {
  if (!file.has(entry.header_offset, kLocalNbytes) ||
      file.at<uint32_t>(entry.header_offset) != kLocalSignature) {
    return fail("record '" + entry.name + "' has no local header");
  }
  const size_t name_nbytes = file.at<uint16_t>(entry.header_offset + 26);
  const size_t extra_nbytes = file.at<uint16_t>(entry.header_offset + 28);
  if (!file.has(entry.header_offset + kLocalNbytes, name_nbytes) ||
      file.text(entry.header_offset + kLocalNbytes, name_nbytes) != entry.name) {
    return fail("record '" + entry.name + "' has another name in its local header");
  }
  entry.data_offset = entry.header_offset + kLocalNbytes + name_nbytes + extra_nbytes;
  if (entry.data_offset > directory.offset || entry.nbytes > directory.offset - entry.data_offset) {
    return fail("record '" + entry.name + "' reaches outside the records");
  }
  return {};
}

Status check_overlaps(const std::vector<Entry>& entries) {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(),
            [](const Entry* a, const Entry* b) { return a->header_offset < b->header_offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->data_offset + order[i - 1]->nbytes > order[i]->header_offset) {
      return fail("records '" + order[i - 1]->name + "' and '" + order[i]->name + "' overlap");
    }
  }
  return {};
}

}  // namespace

Result<ZipArchive> ZipArchive::open(std::span<const std::byte> bytes) {
  const Bytes file(bytes);
  ETB_ASSIGN(const Directory directory, find_directory(file));
  std::vector<Entry> entries;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) {
    ETB_ASSIGN(Entry entry, read_entry(file, directory, at));
    ETB_TRY(locate_data(file, directory, entry));
    entries.push_back(std::move(entry));
  }
  if (at != directory.offset + directory.nbytes)
    return fail("the central directory has bytes after its records");
  ETB_TRY(check_overlaps(entries));
  ZipArchive archive;
  archive.nbytes_ = bytes.size();
  for (const Entry& entry : entries) {
    if (!archive.records_.emplace(entry.name, file.span(entry.data_offset, entry.nbytes)).second) {
      return fail("two records are named '" + entry.name + "'");
    }
  }
  if (!entries.empty()) archive.first_name_ = entries.front().name;
  return archive;
}

std::optional<std::span<const std::byte>> ZipArchive::find(std::string_view name) const {
  const auto found = records_.find(name);
  if (found == records_.end()) return std::nullopt;
  return found->second;
}

}  // namespace etb::pt2
