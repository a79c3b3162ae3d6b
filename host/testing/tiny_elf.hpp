// SPDX-License-Identifier: Apache-2.0
// For tests: the smallest shared library with an identity note, needed libraries and
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
  std::string soname = "tiny.so";
  std::vector<std::pair<Elf64_Sxword, std::string>> further;  // entries whose value is a text

  // Offsets in the file, equal to the addresses.
  static constexpr uint64_t kNotesAt = 0x200;
  static constexpr uint64_t kDynamicAt = 0x800;
  static constexpr uint64_t kSymbolsAt = 0xa00;
  static constexpr uint64_t kHashAt = 0xc00;
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
    for (const std::string& name : exports) {
      Elf64_Sym symbol{};
      symbol.st_name = static_cast<uint32_t>(add_string(name));
      symbol.st_info = STB_GLOBAL << 4 | STT_FUNC;
      symbol.st_shndx = 1;
      symbols.push_back(symbol);
    }
    const uint32_t hash[] = {0, static_cast<uint32_t>(symbols.size())};
    dynamic.insert(dynamic.end(), {{DT_STRTAB, {kStringsAt}},
                                   {DT_STRSZ, {strings.size()}},
                                   {DT_SYMTAB, {kSymbolsAt}},
                                   {DT_HASH, {kHashAt}},
                                   {DT_NULL, {0}}});
    put(out, kDynamicAt, dynamic.data(), dynamic.size() * sizeof(Elf64_Dyn));
    put(out, kSymbolsAt, symbols.data(), symbols.size() * sizeof(Elf64_Sym));
    put(out, kHashAt, hash, sizeof(hash));
    put(out, kStringsAt, strings.data(), strings.size());
    return out;
  }

 private:
  static void put(std::vector<uint8_t>& out, uint64_t at, const void* data, size_t nbytes) {
    // A modified offset may be at the end or outside: bytes that do not fit are cut off.
    if (at < out.size()) std::memcpy(out.data() + at, data, std::min(nbytes, out.size() - at));
  }
};

}  // namespace etb::host
