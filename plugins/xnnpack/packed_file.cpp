// SPDX-License-Identifier: Apache-2.0
// The file of packed weights of one payload: PackedWeights stores it between processes. Little-endian:
//
//     0  "ETBXPW02"
//     8  32 bytes  digest of the fingerprint: processor, XNNPACK, layout of this file
//    40  u64       bytes of the table; the table follows at 64
//    48  u64       checksum of the table
//    64  table     an entry: u32 seed, u32 and bytes of the filter's name, the same of the bias's,
//                  u64 offset, u64 size, u64 checksum
//        weights   each at a multiple of 128
//
// The note NAME.verified beside it records that the whole file was read and its checksums matched. The note
// holds for the file as it was then (inode, size, times of the last changes) and until the next boot: after a
// crash of the machine, a damaged file may keep its times. So writers need no fsync: after a crash the
// checksums find the damage.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include "api/format/digest.hpp"
#include "api/format/hex.hpp"
#include "etb/cpp/bytes.hpp"
#include "plugins/xnnpack/checksum.hpp"
#include "plugins/xnnpack/packed_folder.hpp"
#include "plugins/xnnpack/packed_weights.hpp"

namespace etb::xnnpack {

namespace fs = std::filesystem;

namespace {

constexpr char kMagic[] = "ETBXPW02";
constexpr size_t kTableOffset = 64, kAlignment = 128;

// The processor determines XNNPACK's choice of kernels, and the kernels determine the packing.
format::Sha256 make_fingerprint() {
  std::string text = "2;";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line) && !line.empty();) {
    if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0 || line.rfind("model name", 0) == 0 ||
        line.rfind("CPU part", 0) == 0)
      text += line + ";";
  }
  const auto* build = static_cast<const char*>(xnn_experimental_get_build_identifier_data());
  text.append(build, xnn_experimental_get_build_identifier_size());
  return format::sha256({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

const format::Sha256& fingerprint() {
  static const format::Sha256 kFingerprint =
      make_fingerprint();  // computed once: the kernel formats /proc/cpuinfo slowly
  return kFingerprint;
}

fs::path path_of(const std::string& folder, const std::string& payload_digest, const format::Sha256& print) {
  return fs::path(folder) /
         (payload_digest.substr(0, 32) + "-" + format::to_hex({print.data(), 8}) + kWeightsSuffix);
}

struct Mapping {
  void* data = MAP_FAILED;
  size_t nbytes = 0;
  struct stat info {};
  ~Mapping() {
    if (data != MAP_FAILED) munmap(data, nbytes);
  }
};

// Maps a file. Returns NULL if it is not a file of this format.
std::shared_ptr<Mapping> map(const fs::path& path) {
  auto mapping = std::make_shared<Mapping>();
  const int fd = open_own(path, O_RDONLY, mapping->info);
  if (fd < 0) return nullptr;
  if (mapping->info.st_size > static_cast<off_t>(kTableOffset)) {
    mapping->nbytes = static_cast<size_t>(mapping->info.st_size);
    mapping->data = mmap(nullptr, mapping->nbytes, PROT_READ, MAP_PRIVATE, fd, 0);
  }
  close(fd);
  return mapping->data == MAP_FAILED ? nullptr : mapping;
}

// Returns the id of the current boot, or "" if the system has none.
const std::string& boot_id() {
  static const std::string kId = [] {
    std::string id;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
    return id;
  }();
  return kId;
}

// Returns the text of a note for the file in its current state, or "" if no note can be valid.
std::string make_note(const struct stat& info) {
  if (boot_id().empty()) return {};
  const auto text_of = [](const timespec& time) {
    return std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec) + " ";
  };
  return "1 " + boot_id() + " " + std::to_string(info.st_dev) + " " + std::to_string(info.st_ino) + " " +
         std::to_string(info.st_size) + " " + text_of(info.st_mtim) + text_of(info.st_ctim);
}

std::string read_note(const fs::path& path) {
  struct stat info {};
  const int fd = open_own(path, O_RDONLY, info);
  if (fd < 0) return {};
  char text[256];
  const ssize_t nbytes = read(fd, text, sizeof text);
  close(fd);
  return nbytes > 0 ? std::string(text, static_cast<size_t>(nbytes)) : std::string();
}

std::string read_text(ByteReader& table) {
  const auto nbytes = table.read<uint32_t>();
  const auto bytes = table.read_bytes(nbytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_text(ByteWriter& table, const std::string& text) {
  table.write(static_cast<uint32_t>(text.size())).write_bytes(std::as_bytes(std::span(text)));
}

// If the note cannot be written, the next load verifies again. Nothing else is lost.
void write_note(const fs::path& path, const std::string& note) {
  if (note.empty()) return;
  PartialFile file(note_path(path));
  if (file.write(note.data(), note.size())) (void)file.finish();
}

// The table of a file, and the offsets of the entries that it lists.
struct FileLayout {
  std::vector<std::byte> table;
  std::vector<uint64_t> offsets;  // by position in the table
  uint64_t end = 0;               // end of the file
};

// The table contains offsets that depend on its own size: two passes.
FileLayout lay_out(const PackedMap<size_t>& index_of,
                   const std::vector<std::shared_ptr<PackedEntry>>& entries) {
  std::vector<uint64_t> checksums;
  for (const auto& [key, index] : index_of)
    checksums.push_back(
        checksum(static_cast<const std::byte*>(entries[index]->bytes.get()), entries[index]->nbytes));
  FileLayout layout;
  layout.offsets.assign(index_of.size(), 0);
  for (int round = 0; round < 2; ++round) {
    ByteWriter writer;
    writer.write(static_cast<uint32_t>(index_of.size()));
    size_t i = 0;
    for (const auto& [key, index] : index_of) {
      writer.write(std::get<0>(key));
      write_text(writer, std::get<1>(key));
      write_text(writer, std::get<2>(key));
      writer.write(layout.offsets[i]).write(uint64_t{entries[index]->nbytes}).write(checksums[i]);
      ++i;
    }
    layout.table = writer.take();
    layout.end = kTableOffset + layout.table.size();
    i = 0;
    for (const auto& [key, index] : index_of) {
      layout.end = (layout.end + kAlignment - 1) / kAlignment * kAlignment;
      layout.offsets[i++] = layout.end;
      layout.end += entries[index]->nbytes + XNN_EXTRA_BYTES;
    }
  }
  return layout;
}

using Header = std::array<std::byte, kTableOffset>;

Header make_header(std::span<const std::byte> table, const format::Sha256& print) {
  Header header = {};
  const uint64_t nbytes = table.size(), sum = checksum(table.data(), table.size());
  std::memcpy(header.data(), kMagic, 8);
  std::memcpy(header.data() + 8, print.data(), print.size());
  std::memcpy(header.data() + 40, &nbytes, 8);
  std::memcpy(header.data() + 48, &sum, 8);
  return header;
}

}  // namespace

void PackedWeights::load(const std::string& folder, const std::string& payload_digest) {
  const format::Sha256& print = fingerprint();
  const fs::path path = path_of(folder, payload_digest, print);
  const std::shared_ptr<Mapping> mapping = map(path);
  if (!mapping) return;
  const auto* const first = static_cast<const std::byte*>(mapping->data);
  uint64_t table_nbytes = 0, table_checksum = 0;
  std::memcpy(&table_nbytes, first + 40, 8);
  std::memcpy(&table_checksum, first + 48, 8);
  if (std::memcmp(first, kMagic, 8) != 0 || std::memcmp(first + 8, print.data(), print.size()) != 0 ||
      table_nbytes > mapping->nbytes - kTableOffset ||
      checksum(first + kTableOffset, table_nbytes) != table_checksum)
    return;
  ByteReader table({first + kTableOffset, static_cast<size_t>(table_nbytes)});
  PackedMap<StoredEntry> found;
  const auto count = table.read<uint32_t>();
  for (uint32_t i = 0; i < count; ++i) {
    if (!table.fits(1, 36)) return;
    const auto seed = table.read<uint32_t>();
    std::string filter = read_text(table), bias = read_text(table);
    const auto offset = table.read<uint64_t>(), nbytes = table.read<uint64_t>(), sum = table.read<uint64_t>();
    if (offset % kAlignment != 0 || offset > mapping->nbytes || mapping->nbytes - offset < XNN_EXTRA_BYTES ||
        nbytes > mapping->nbytes - offset - XNN_EXTRA_BYTES)
      return;
    found[{seed, std::move(filter), std::move(bias)}] = {
        {std::shared_ptr<void>(mapping, const_cast<std::byte*>(first) + offset), static_cast<size_t>(nbytes)},
        sum};
  }
  loaded_ = std::move(found);
  is_loaded_ = true;
  note_ = make_note(mapping->info);
  is_verified_ = !note_.empty() && read_note(note_path(path)) == note_;
}

Status PackedWeights::save(const std::string& folder, const std::string& payload_digest,
                           uint64_t max_nbytes) const {
  const format::Sha256& print = fingerprint();
  const fs::path path = path_of(folder, payload_digest, print);
  if (!has_new_) {
    if (is_loaded_ && !is_verified_ && loaded_.empty()) write_note(path, note_);  // all entries were read
    return {};
  }
  const FileLayout layout = lay_out(index_of_, entries_);
  const std::vector<std::byte>& table = layout.table;
  const std::vector<uint64_t>& offsets = layout.offsets;
  const uint64_t end = layout.end;
  if (end > max_nbytes)
    return make_error(Code::UNAVAILABLE, "packed weights: " + std::to_string(end) +
                                             " bytes are not kept, packed_cache_max_bytes is " +
                                             std::to_string(max_nbytes));
  const Header header = make_header(table, print);
  std::error_code failed;
  fs::create_directories(folder, failed);
  const auto fail = [&](const std::string& where) {
    return make_error(Code::UNAVAILABLE,
                      "packed weights: cannot write to '" + where + "': " +
                          (failed ? failed : std::error_code(errno, std::generic_category())).message());
  };
  PartialFile file(path);
  if (!file.is_open()) return fail(folder);
  bool is_written = file.write(header.data(), header.size()) && file.write(table.data(), table.size());
  uint64_t position = kTableOffset + table.size();
  static constexpr std::byte kZeros[kAlignment + XNN_EXTRA_BYTES] = {};
  size_t i = 0;
  for (const auto& [key, index] : index_of_) {
    const PackedEntry& entry = *entries_[index];
    is_written = is_written && file.write(kZeros, offsets[i] - position) &&
                 file.write(entry.bytes.get(), entry.nbytes);
    position = offsets[i++] + entry.nbytes;
  }
  struct stat info {};
  if (!is_written || !file.write(kZeros, end - position) || !file.finish()) return fail(path.string());
  if (fstat(file.fd(), &info) == 0) write_note(path, make_note(info));
  trim_folder(folder, max_nbytes);
  return {};
}

}  // namespace etb::xnnpack
