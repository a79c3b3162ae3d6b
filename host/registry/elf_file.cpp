// SPDX-License-Identifier: Apache-2.0
#include "host/registry/elf_file.hpp"

#include <elf.h>
#include <unistd.h>

namespace etb::host {
namespace {

// Real libraries have about ten. The limit keeps a hostile count from using memory.
constexpr uint32_t kMaxSegments = 512;
// Larger than any library, smaller than the sizes that the kernel rejects late and with an unclear error.
constexpr uint64_t kMaxImageBytes = uint64_t{1} << 36;

std::string arch_name(uint16_t machine, bool is_64_bit) {
  switch (machine) {
    case EM_X86_64:
      return is_64_bit ? "x86_64" : "x32";
    case EM_386:
      return "x86";
    case EM_AARCH64:
      return "aarch64";
    case EM_ARM:
      return "arm";
    case EM_RISCV:
      return is_64_bit ? "riscv64" : "riscv32";
    case EM_PPC64:
      return "ppc64le";
    default:
      return "machine-" + std::to_string(machine);
  }
}

Status verify_identification(const unsigned char* ident) {
  if (std::memcmp(ident, ELFMAG, SELFMAG) != 0) return make_error(Code::INVALID_DATA, "not an ELF file");
  if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
    return make_error(Code::INVALID_DATA,
                      "elf class " + std::to_string(ident[EI_CLASS]) + ", expected 1 (32-bit) or 2 (64-bit)");
  if (ident[EI_DATA] == ELFDATA2MSB)
    return make_error(Code::INCOMPATIBLE, "big-endian, expected little-endian");
  if (ident[EI_DATA] != ELFDATA2LSB)
    return make_error(Code::INVALID_DATA,
                      "elf data encoding " + std::to_string(ident[EI_DATA]) + ", expected 1");
  return {};
}

Status verify_extent(const ElfSegment& segment, size_t index, uint64_t file_nbytes) {
  const std::string where = "segment " + std::to_string(index) + ": ";
  if (segment.offset > file_nbytes || segment.file_nbytes > file_nbytes - segment.offset)
    return make_error(Code::INVALID_DATA, where + "truncated, ends at byte " +
                                              std::to_string(segment.offset + segment.file_nbytes) +
                                              " of a file of " + std::to_string(file_nbytes));
  return {};
}

// The loader reserves the range from the first address to the last and maps each segment over it, in whole
// pages. Segments out of order or overlapping would unmap or overwrite other memory. A page that two segments
// share would contain the bytes of the second, also where the first has others.
Status verify_image(const std::vector<ElfSegment>& segments) {
  static const auto page_nbytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  uint64_t end = 0, first = 0;
  bool has_any = false;
  for (size_t i = 0; i < segments.size(); ++i) {
    const ElfSegment& segment = segments[i];
    if (segment.type != PT_LOAD) continue;
    const std::string where = "segment " + std::to_string(i) + ": ";
    if (segment.memory_nbytes < segment.file_nbytes)
      return make_error(Code::INVALID_DATA, where + "smaller in memory than in the file");
    if ((segment.address - segment.offset) % page_nbytes != 0)
      return make_error(Code::INVALID_DATA, where + "address and offset differ within a memory page");
    if (!has_any) first = segment.address;
    if (has_any && segment.address < end)
      return make_error(Code::INVALID_DATA, where + "overlaps an earlier one");
    if (segment.memory_nbytes > kMaxImageBytes || segment.address > UINT64_MAX - segment.memory_nbytes ||
        segment.address + segment.memory_nbytes - first > kMaxImageBytes)
      return make_error(Code::INVALID_DATA,
                        where + "image of more than " + std::to_string(kMaxImageBytes) + " bytes");
    if (has_any && end != 0 && segment.address / page_nbytes <= (end - 1) / page_nbytes)
      return make_error(Code::INVALID_DATA, where + "shares a memory page with an earlier one");
    end = segment.address + segment.memory_nbytes;
    has_any = true;
  }
  if (!has_any) return make_error(Code::INVALID_DATA, "no segment to load");
  return {};
}

template <class Header, class ProgramHeader>
Result<ElfFile> read_as(const ByteSource& source) {
  ETB_ASSIGN(const Header header, source.read_struct<Header>(0));
  ElfFile file;
  file.is_64_bit = sizeof(Header) == sizeof(Elf64_Ehdr);
  file.arch = arch_name(header.e_machine, file.is_64_bit);
  if (header.e_type != ET_DYN)
    return make_error(Code::INVALID_DATA,
                      "elf type " + std::to_string(header.e_type) + ", expected 3 (shared library)");
  if (header.e_phentsize != sizeof(ProgramHeader))
    return make_error(Code::INVALID_DATA, "program headers of " + std::to_string(header.e_phentsize) +
                                              " bytes, expected " + std::to_string(sizeof(ProgramHeader)));
  if (header.e_phnum > kMaxSegments)
    return make_error(Code::INVALID_DATA, std::to_string(header.e_phnum) + " segments, expected at most " +
                                              std::to_string(kMaxSegments));
  std::vector<ProgramHeader> headers(header.e_phnum);
  ETB_TRY(source.read(header.e_phoff,
                      {reinterpret_cast<uint8_t*>(headers.data()), headers.size() * sizeof(ProgramHeader)}));
  for (const ProgramHeader& one : headers) {
    file.segments.push_back({one.p_type, one.p_offset, one.p_vaddr, one.p_filesz, one.p_memsz, one.p_align});
    if (one.p_type == PT_NULL) continue;
    ETB_TRY(verify_extent(file.segments.back(), file.segments.size() - 1, source.nbytes()));
  }
  ETB_TRY(verify_image(file.segments));
  return file;
}

}  // namespace

Result<ElfFile::Range> ElfFile::to_range(uint64_t address) const {
  for (const ElfSegment& segment : segments) {
    const uint64_t skipped = address - segment.address;
    if (segment.type == PT_LOAD && address >= segment.address && skipped < segment.file_nbytes)
      return Range{segment.offset + skipped, segment.file_nbytes - skipped};
  }
  return make_error(Code::INVALID_DATA, "address " + std::to_string(address) + " is in no segment");
}

Result<uint64_t> ElfFile::to_offset(uint64_t address) const {
  ETB_ASSIGN(const Range range, to_range(address));
  return range.offset;
}

Result<ElfFile> read_elf(const ByteSource& source) {
  unsigned char ident[EI_NIDENT];
  if (source.nbytes() < sizeof(ident)) return make_error(Code::INVALID_DATA, "not an ELF file");
  ETB_TRY(source.read(0, ident));
  ETB_TRY(verify_identification(ident));
  return ident[EI_CLASS] == ELFCLASS64 ? read_as<Elf64_Ehdr, Elf64_Phdr>(source)
                                       : read_as<Elf32_Ehdr, Elf32_Phdr>(source);
}

std::string normalise_arch(std::string_view arch) {
  if (arch == "amd64") return "x86_64";
  if (arch == "arm64") return "aarch64";
  if (arch.substr(0, 3) == "arm") return "arm";
  if (arch.size() == 4 && arch[0] == 'i' && arch.substr(2) == "86") return "x86";
  return std::string(arch);
}

}  // namespace etb::host
