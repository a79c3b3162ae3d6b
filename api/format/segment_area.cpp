// SPDX-License-Identifier: Apache-2.0
#include "api/format/segment_area.hpp"

#include <bit>
#include <cstring>

#include "etb/cpp/fail.hpp"

namespace etb::format {

static_assert(std::endian::native == std::endian::little, "files are little-endian and are read in place");

namespace {

using Bytes = std::span<const std::byte>;

template <class T>
T read_at(Bytes bytes, size_t offset) noexcept {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

bool has_tag(Bytes bytes, size_t offset, const char* tag) noexcept {
  return bytes.size() >= offset + 4 && std::memcmp(bytes.data() + offset, tag, 4) == 0;
}

// A tag of the file as printable text.
struct PrintableTag {
  char text[5] = "????";
  PrintableTag(Bytes bytes, size_t offset) noexcept {
    for (size_t i = 0; i < 4 && offset + i < bytes.size(); ++i) {
      const char c = static_cast<char>(bytes[offset + i]);
      text[i] = c >= 0x20 && c < 0x7f ? c : '?';
    }
  }
};

etb_status check_identifier(Bytes head, const char* expected, const char* kind, etb_error* error) noexcept {
  if (head.size() < 8) {
    return fail(error, ETB_INVALID_PROGRAM, "%s: file of %zu bytes, expected at least 8", kind, head.size());
  }
  if (has_tag(head, 4, expected)) return ETB_OK;
  if (has_tag(head, 4, "BP08")) {
    return fail(error, ETB_INVALID_PROGRAM,
                "%s: found a bundled program (.bpte), expected '%s' at byte 4\nhint: `etbackend run FILE` "
                "runs its test "
                "cases, `etbackend bundle FILE --extract PROGRAM.pte` writes its program",
                kind, expected);
  }
  return fail(error, ETB_INVALID_PROGRAM, "%s: identifier '%s' at byte 4, expected '%s'", kind,
              PrintableTag(head, 4).text, expected);
}

// Checks of both headers: the flatbuffer comes first, the segments after it, all inside the file.
etb_status check_extent(const FileExtent& extent, uint64_t file_nbytes, const char* kind,
                        etb_error* error) noexcept {
  if (extent.flatbuffer_nbytes < 8 || extent.flatbuffer_nbytes > file_nbytes) {
    return fail(error, ETB_INVALID_PROGRAM, "%s: flatbuffer of %llu bytes in a file of %llu bytes", kind,
                static_cast<unsigned long long>(extent.flatbuffer_nbytes),
                static_cast<unsigned long long>(file_nbytes));
  }
  if (extent.segment_base == 0) {
    if (extent.segments_nbytes == 0) return ETB_OK;
    return fail(error, ETB_INVALID_PROGRAM, "%s: %llu segment bytes without a segment base", kind,
                static_cast<unsigned long long>(extent.segments_nbytes));
  }
  if (extent.segment_base < extent.flatbuffer_nbytes || extent.segment_base > file_nbytes) {
    return fail(error, ETB_INVALID_PROGRAM,
                "%s: segment base %llu, expected between %llu (end of flatbuffer) and %llu (end of file)",
                kind, static_cast<unsigned long long>(extent.segment_base),
                static_cast<unsigned long long>(extent.flatbuffer_nbytes),
                static_cast<unsigned long long>(file_nbytes));
  }
  if (extent.segments_nbytes > file_nbytes - extent.segment_base) {
    return fail(error, ETB_INVALID_PROGRAM,
                "%s: the header needs a file of %llu + %llu bytes, the file has %llu: truncated", kind,
                static_cast<unsigned long long>(extent.segment_base),
                static_cast<unsigned long long>(extent.segments_nbytes),
                static_cast<unsigned long long>(file_nbytes));
  }
  return ETB_OK;
}

}  // namespace

etb_status read_program_extent(Bytes head, uint64_t file_nbytes, FileExtent* out, etb_error* error) noexcept {
  *out = {};
  ETB_CHECK(check_identifier(head, "ET12", "program", error));
  if (!has_tag(head, 8, "eh00")) {
    out->flatbuffer_nbytes = file_nbytes;
    return ETB_OK;
  }
  // Releases before 1.0 wrote 24 bytes, without the size of the segment area, which then
  // ends at the end of the file.
  constexpr uint32_t kOldLength = 24;
  constexpr uint32_t kLength = 32;
  if (head.size() < 8 + kOldLength) {
    return fail(error, ETB_INVALID_PROGRAM, "program: extended header cut after %zu bytes", head.size());
  }
  const auto length = read_at<uint32_t>(head, 12);
  if (length < kOldLength) {
    return fail(error, ETB_INVALID_PROGRAM, "program: extended header of %u bytes, expected at least %u",
                length, kOldLength);
  }
  out->has_extended_header = true;
  out->flatbuffer_nbytes = read_at<uint64_t>(head, 16);
  out->segment_base = read_at<uint64_t>(head, 24);
  const bool states_size = length >= kLength && head.size() >= 8 + kLength;
  out->segments_nbytes = states_size ? read_at<uint64_t>(head, 32) : 0;
  if (out->segments_nbytes == 0 && out->segment_base != 0 && out->segment_base <= file_nbytes) {
    out->segments_nbytes = file_nbytes - out->segment_base;
  }
  return check_extent(*out, file_nbytes, "program", error);
}

etb_status read_data_extent(Bytes head, uint64_t file_nbytes, FileExtent* out, etb_error* error) noexcept {
  *out = {};
  ETB_CHECK(check_identifier(head, "FT01", "data file", error));
  constexpr uint32_t kLength = 40;
  if (!has_tag(head, 8, "FH01") || head.size() < 8 + kLength) {
    return fail(error, ETB_INVALID_PROGRAM, "data file: '%s' at byte 8, expected the 40-byte header 'FH01'",
                PrintableTag(head, 8).text);
  }
  const auto length = read_at<uint32_t>(head, 12);
  if (length < kLength) {
    return fail(error, ETB_INVALID_PROGRAM, "data file: header of %u bytes, expected at least %u", length,
                kLength);
  }
  // The header was inserted after byte 8, so the flatbuffer ends `offset` bytes later than its size.
  const auto inserted = read_at<uint64_t>(head, 16);
  const auto nbytes = read_at<uint64_t>(head, 24);
  if (inserted > file_nbytes || nbytes > file_nbytes - inserted) {
    return fail(error, ETB_INVALID_PROGRAM,
                "data file: flatbuffer of %llu bytes at %llu, the file has %llu bytes",
                static_cast<unsigned long long>(nbytes), static_cast<unsigned long long>(inserted),
                static_cast<unsigned long long>(file_nbytes));
  }
  out->has_extended_header = true;
  out->flatbuffer_nbytes = inserted + nbytes;
  out->segment_base = read_at<uint64_t>(head, 32);
  out->segments_nbytes = read_at<uint64_t>(head, 40);
  return check_extent(*out, file_nbytes, "data file", error);
}

}  // namespace etb::format
