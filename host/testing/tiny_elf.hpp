// SPDX-License-Identifier: Apache-2.0
// For tests: the smallest shared library with an identity note, needed libraries, imports and
// exports, as bytes to modify.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "etb/plugin.h"

namespace etb::host {

struct TinyElf {
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> segments;
  std::vector<etb_plugin_note> notes;
  std::vector<std::string> needed{"libc.so.6"};
  std::string run_path;  // left out when empty
  std::vector<std::string> exports{ETB_PLUGIN_QUERY_SYMBOL};
  std::vector<std::string> imports;
  Elf64_Sxword relocations_tag =
      DT_RELA;                  // tag of the table that names the imports: DT_REL, DT_RELA or DT_JMPREL
  uint64_t plt_kind = DT_RELA;  // entries of DT_JMPREL
  // Writes a GNU hash table as GNU ld does for a file without exports, in place of DT_HASH.
  bool has_empty_gnu_hash = false;
  std::string soname = "tiny.so";
  std::vector<std::pair<Elf64_Sxword, std::string>> further;  // entries whose value is a text

  // Offsets in the file, equal to the addresses.
  static constexpr uint64_t kNotesAt = 0x200;
  static constexpr uint64_t kDynamicAt = 0x800;
  static constexpr uint64_t kSymbolsAt = 0xa00;
  static constexpr uint64_t kHashAt = 0xc00;
  static constexpr uint64_t kRelocationsAt = 0xd00;
  static constexpr uint64_t kStringsAt = 0xe00;
  static constexpr uint64_t kFileBytes = 0x1000;

  TinyElf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof(Elf64_Ehdr);
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_phentsize = sizeof(Elf64_Phdr);
    ETB_DEFINE_PLUGIN_NOTE(note, "com.example.tiny", "Example", "1.0.0", "b1", ETB_PROFILE_RUNTIME, 0);
    notes.push_back(note);
    segments = {segment(PT_LOAD, 0, kFileBytes), segment(PT_NOTE, kNotesAt, sizeof(etb_plugin_note)),
                segment(PT_DYNAMIC, kDynamicAt, kSymbolsAt - kDynamicAt)};
  }

  etb_plugin_ident& ident() { return notes[0].ident; }

  static Elf64_Phdr segment(uint32_t type, uint64_t at, uint64_t nbytes) {
    Elf64_Phdr out{};
    out.p_type = type;
    out.p_offset = out.p_vaddr = out.p_paddr = at;
    out.p_filesz = out.p_memsz = nbytes;
    out.p_align = 4;
    return out;
  }

  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> out(kFileBytes);
    Elf64_Ehdr head = header;
    head.e_phnum = static_cast<uint16_t>(segments.size());
    put(out, 0, &head, sizeof(head));
    put(out, header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr));
    put(out, kNotesAt, notes.data(), notes.size() * sizeof(etb_plugin_note));
    std::string strings(1, '\0');
    std::vector<Elf64_Dyn> dynamic;
    const auto add_string = [&](const std::string& text) {
      strings += text + '\0';
      return strings.size() - text.size() - 1;
    };
    for (const std::string& library : needed) dynamic.push_back({DT_NEEDED, {add_string(library)}});
    if (!run_path.empty()) dynamic.push_back({DT_RUNPATH, {add_string(run_path)}});
    dynamic.push_back({DT_SONAME, {add_string(soname)}});
    for (const auto& [tag, text] : further) dynamic.push_back({tag, {add_string(text)}});
    std::vector<Elf64_Sym> symbols(1);
    const auto add_symbol = [&](const std::string& name, uint16_t section) {
      Elf64_Sym symbol{};
      symbol.st_name = static_cast<uint32_t>(add_string(name));
      symbol.st_info = STB_GLOBAL << 4 | STT_FUNC;
      symbol.st_shndx = section;
      symbols.push_back(symbol);
    };
    for (const std::string& name : imports) add_symbol(name, SHN_UNDEF);
    for (const std::string& name : exports) add_symbol(name, 1);
    put_relocations(out, dynamic);
    put_hash(out, dynamic, static_cast<uint32_t>(symbols.size()));
    dynamic.insert(
        dynamic.end(),
        {{DT_STRTAB, {kStringsAt}}, {DT_STRSZ, {strings.size()}}, {DT_SYMTAB, {kSymbolsAt}}, {DT_NULL, {0}}});
    put(out, kDynamicAt, dynamic.data(), dynamic.size() * sizeof(Elf64_Dyn));
    put(out, kSymbolsAt, symbols.data(), symbols.size() * sizeof(Elf64_Sym));
    put(out, kStringsAt, strings.data(), strings.size());
    return out;
  }

 private:
  void put_hash(std::vector<uint8_t>& out, std::vector<Elf64_Dyn>& dynamic, uint32_t symbol_count) const {
    const uint32_t all[] = {0, symbol_count};
    const uint32_t none[] = {1, 1, 1, 0,
                             0, 0, 0};  // one empty bucket, symbols from 1, one empty word of the filter
    dynamic.push_back({has_empty_gnu_hash ? DT_GNU_HASH : DT_HASH, {kHashAt}});
    if (has_empty_gnu_hash)
      put(out, kHashAt, none, sizeof(none));
    else
      put(out, kHashAt, all, sizeof(all));
  }

  // One relocation of each import.
  void put_relocations(std::vector<uint8_t>& out, std::vector<Elf64_Dyn>& dynamic) const {
    if (imports.empty()) return;
    const bool is_plt = relocations_tag == DT_JMPREL;
    const bool has_addend = relocations_tag == DT_RELA || (is_plt && plt_kind == DT_RELA);
    const uint64_t entry_nbytes = has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    for (uint64_t i = 0; i < imports.size(); ++i) {
      const Elf64_Rela relocation{kFileBytes, ELF64_R_INFO(i + 1, R_X86_64_GLOB_DAT), 0};
      put(out, kRelocationsAt + i * entry_nbytes, &relocation, entry_nbytes);
    }
    const Elf64_Sxword size_tag = is_plt ? DT_PLTRELSZ : has_addend ? DT_RELASZ : DT_RELSZ;
    dynamic.push_back({relocations_tag, {kRelocationsAt}});
    dynamic.push_back({size_tag, {imports.size() * entry_nbytes}});
    if (is_plt) dynamic.push_back({DT_PLTREL, {plt_kind}});
  }

  static void put(std::vector<uint8_t>& out, uint64_t at, const void* data, size_t nbytes) {
    // A modified offset may be at the end or outside: bytes that do not fit are cut off.
    if (at < out.size()) std::memcpy(out.data() + at, data, std::min(nbytes, out.size() - at));
  }
};

}  // namespace etb::host
