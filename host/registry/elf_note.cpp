// SPDX-License-Identifier: Apache-2.0
#include "host/registry/elf_note.hpp"

#include <elf.h>

#include <optional>

namespace etb::host {
namespace {

// Limit for one segment of notes. Real ones have a few hundred bytes.
constexpr uint64_t kMaxNoteBytes = uint64_t{1} << 20;

struct FoundNote {
  uint64_t offset;  // in the file: overlapping segments may show one note twice
  std::vector<uint8_t> content;
};

uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Searches one PT_NOTE segment for the identity note.
Status search_segment(const ByteSource& source, const ElfSegment& segment, std::optional<FoundNote>& found) {
  if (segment.file_nbytes > kMaxNoteBytes)
    return make_error(Code::INVALID_DATA, "notes of " + std::to_string(segment.file_nbytes) +
                                              " bytes, expected at most " + std::to_string(kMaxNoteBytes));
  std::vector<uint8_t> notes(segment.file_nbytes);
  ETB_TRY(source.read(segment.offset, notes));
  // 32- and 64-bit files align notes to 4 in practice, and to 8 only where the segment has that alignment.
  const uint64_t alignment = segment.alignment == 8 ? 8 : 4;
  uint64_t at = 0;
  while (notes.size() - at >= sizeof(Elf32_Nhdr)) {
    Elf32_Nhdr header;
    std::memcpy(&header, notes.data() + at, sizeof(header));
    const uint64_t name_at = at + sizeof(header);
    const uint64_t content_at =
        align_up(name_at + header.n_namesz, alignment);  // 64-bit sums of 32-bit sizes cannot overflow
    if (content_at > notes.size() || header.n_descsz > notes.size() - content_at)
      return make_error(Code::INVALID_DATA, "note at byte " + std::to_string(segment.offset + at) +
                                                " reaches beyond its segment");
    const bool is_ours = header.n_type == ETB_NOTE_TYPE_IDENT && header.n_namesz == sizeof(ETB_NOTE_NAME) &&
                         std::memcmp(notes.data() + name_at, ETB_NOTE_NAME, sizeof(ETB_NOTE_NAME)) == 0;
    if (is_ours && found && found->offset != segment.offset + at)
      return make_error(Code::INVALID_DATA, "two identity notes, expected one");
    if (is_ours && !found) {
      const auto* content = notes.data() + content_at;
      found = FoundNote{segment.offset + at, {content, content + header.n_descsz}};
    }
    const uint64_t next = align_up(content_at + header.n_descsz, alignment);
    if (next > notes.size()) break;
    at = next;
  }
  return {};
}

}  // namespace

Result<PluginIdent> read_elf_note(const ByteSource& source, const ElfFile& file) {
  std::optional<FoundNote> found;
  for (const ElfSegment& segment : file.segments)
    if (segment.type == PT_NOTE) ETB_TRY(search_segment(source, segment, found));
  if (!found) return make_error(Code::INVALID_DATA, "no identity note; expected section " ETB_NOTE_SECTION);
  Result<PluginIdent> ident = verify_plugin_ident(found->content);
  if (!ident) return tl::make_unexpected(with_context(ident.error(), "identity note"));
  return ident;
}

}  // namespace etb::host
