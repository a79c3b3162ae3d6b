// SPDX-License-Identifier: Apache-2.0
#include "host/registry/elf_dynamic.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "etb/plugin.h"

namespace etb::host {
namespace {

constexpr uint64_t kMaxDynamicEntries = 4096;
constexpr uint64_t kMaxNeeded = 256;
constexpr uint64_t kMaxNameBytes = 512;
constexpr uint64_t kMaxRunPathBytes = 1 << 14;
constexpr uint64_t kMaxBuckets = 1 << 20;
// Limit of symbols. A plugin exports one. Each symbol is read, so this also limits the time for a hostile
// file.
constexpr uint64_t kMaxSymbols = 1 << 16;
constexpr uint64_t kMaxNamesKept = 8;

constexpr std::pair<uint64_t, const char*> kFilterTags[] = {{DT_AUXILIARY, "DT_AUXILIARY"},
                                                            {DT_FILTER, "DT_FILTER"},
                                                            {DT_AUDIT, "DT_AUDIT"},
                                                            {DT_DEPAUDIT, "DT_DEPAUDIT"}};

struct Elf32 {
  using Dyn = Elf32_Dyn;
  using Sym = Elf32_Sym;
  using Rel = Elf32_Rel;
  using Rela = Elf32_Rela;
  static constexpr uint64_t kBloomWordBytes = 4;
  static constexpr int kSymbolShift = 8;  // position of the symbol in r_info
};
struct Elf64 {
  using Dyn = Elf64_Dyn;
  using Sym = Elf64_Sym;
  using Rel = Elf64_Rel;
  using Rela = Elf64_Rela;
  static constexpr uint64_t kBloomWordBytes = 8;
  static constexpr int kSymbolShift = 32;
};

struct SymbolRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct RelocationTable {
  std::optional<uint64_t> address;
  std::optional<uint64_t> nbytes;
};

// Reads one library's dynamic section. The members are the offsets found so far.
template <class Elf>
class DynamicReader {
 public:
  DynamicReader(const ByteSource& source, const ElfFile& file) : source_(source), file_(file) {}

  Result<ElfDynamic> read() {
    ETB_TRY(read_dynamic_section());
    ElfDynamic out;
    if (soname_) {
      ETB_ASSIGN(out.soname, name(*soname_));
    }
    for (const uint64_t at : needed_) {
      ETB_ASSIGN(std::string library, name(at));
      out.needed.push_back(std::move(library));
    }
    for (const std::optional<uint64_t>& at : {run_path_old_, run_path_}) {
      if (!at) continue;
      ETB_ASSIGN(const std::string list, name(*at, kMaxRunPathBytes));
      split(list, out.run_paths);
    }
    for (const auto& [tag, at] : filters_) {
      ETB_ASSIGN(const std::string library, name(at));
      out.filters.push_back(std::string(tag) + ' ' + library);
    }
    ETB_ASSIGN(const SymbolRange range, symbol_range());
    ETB_TRY(each_symbol(range, [&](const typename Elf::Sym& symbol) { return note_export(symbol, out); }));
    return out;
  }

  Result<std::vector<std::string>> read_imports() {
    ETB_TRY(read_dynamic_section());
    ETB_ASSIGN(const SymbolRange range, import_range());
    std::vector<std::string> out;
    ETB_TRY(each_symbol(range, [&](const typename Elf::Sym& symbol) -> Status {
      if (symbol.st_shndx != SHN_UNDEF || symbol.st_info >> 4 != STB_GLOBAL) return {};
      ETB_ASSIGN(std::string text, name(symbol.st_name));
      out.push_back(std::move(text));
      return {};
    }));
    return out;
  }

 private:
  Status read_dynamic_section() {
    const ElfSegment* found = nullptr;
    for (const ElfSegment& segment : file_.segments) {
      if (segment.type != PT_DYNAMIC) continue;
      if (found != nullptr) return make_error(Code::INVALID_DATA, "two dynamic sections, expected one");
      found = &segment;
    }
    if (found == nullptr) return make_error(Code::INVALID_DATA, "no dynamic section");
    return read_entries(*found);
  }

  Status read_entries(const ElfSegment& segment) {
    ETB_ASSIGN(const ElfFile::Range range, file_.to_range(segment.address));
    if (range.offset != segment.offset || range.nbytes < segment.file_nbytes)
      return make_error(Code::INVALID_DATA, "the dynamic section's address leads to byte " +
                                                std::to_string(range.offset) + ", its offset to byte " +
                                                std::to_string(segment.offset));
    const uint64_t count = std::min(segment.file_nbytes / sizeof(typename Elf::Dyn), kMaxDynamicEntries);
    std::vector<typename Elf::Dyn> entries(count);
    ETB_TRY(source_.read(segment.offset,
                         {reinterpret_cast<uint8_t*>(entries.data()), count * sizeof(typename Elf::Dyn)}));
    for (const auto& entry : entries) {
      if (entry.d_tag == DT_NULL) return {};
      ETB_TRY(read_entry(static_cast<uint64_t>(entry.d_tag), entry.d_un.d_val));
    }
    return make_error(Code::INVALID_DATA,
                      "no end of the dynamic section within its first " + std::to_string(count) + " entries");
  }

  Status read_entry(uint64_t tag, uint64_t value) {
    switch (tag) {
      case DT_STRTAB:
        return set_once("DT_STRTAB", strings_address_, value);
      case DT_STRSZ:
        return set_once("DT_STRSZ", strings_nbytes_, value);
      case DT_SYMTAB:
        return set_once("DT_SYMTAB", symbols_address_, value);
      case DT_GNU_HASH:
        return set_once("DT_GNU_HASH", gnu_hash_address_, value);
      case DT_HASH:
        return set_once("DT_HASH", hash_address_, value);
      case DT_RELA:
        return set_once("DT_RELA", rela_.address, value);
      case DT_RELASZ:
        return set_once("DT_RELASZ", rela_.nbytes, value);
      case DT_REL:
        return set_once("DT_REL", rel_.address, value);
      case DT_RELSZ:
        return set_once("DT_RELSZ", rel_.nbytes, value);
      case DT_JMPREL:
        return set_once("DT_JMPREL", plt_.address, value);
      case DT_PLTRELSZ:
        return set_once("DT_PLTRELSZ", plt_.nbytes, value);
      case DT_PLTREL:
        return set_once("DT_PLTREL", plt_kind_, value);
      case DT_SONAME:
        return set_once("DT_SONAME", soname_, value);
      case DT_RPATH:
        return set_once("DT_RPATH", run_path_old_, value);
      case DT_RUNPATH:
        return set_once("DT_RUNPATH", run_path_, value);
      case DT_NEEDED:
        if (needed_.size() == kMaxNeeded)
          return make_error(Code::INVALID_DATA, "needs more than 256 libraries");
        needed_.push_back(value);
        return {};
      default:
        return read_filter(tag, value);
    }
  }

  // glibc stores these entries by the low 31 bits of their tag, so all tags with the same low bits match.
  Status read_filter(uint64_t tag, uint64_t value) {
    for (const auto& [known, name] : kFilterTags) {
      if ((tag & 0x7fffffff) != (known & 0x7fffffff)) continue;
      if (filters_.size() == kMaxNeeded)
        return make_error(Code::INVALID_DATA, "filters more than 256 libraries");
      filters_.emplace_back(name, value);
    }
    return {};
  }

  Status set_once(const char* tag, std::optional<uint64_t>& out, uint64_t value) {
    if (out) return make_error(Code::INVALID_DATA, std::string(tag) + " is given twice");
    out = value;
    return {};
  }

  static void split(const std::string& list, std::vector<std::string>& out) {
    for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
      end = list.find(':', begin);
      out.push_back(list.substr(begin, end == std::string::npos ? end : end - begin));
    }
  }

  Result<std::string> name(uint64_t at, uint64_t max_nbytes = kMaxNameBytes) const {
    const uint64_t table = strings_address_.value_or(0), table_nbytes = strings_nbytes_.value_or(0);
    if (at >= table_nbytes || table > UINT64_MAX - at)
      return make_error(Code::INVALID_DATA, "name at " + std::to_string(at) + " is outside the string table");
    ETB_ASSIGN(const ElfFile::Range range, file_.to_range(table + at));
    std::string text(std::min({table_nbytes - at, max_nbytes, range.nbytes}), '\0');
    ETB_TRY(source_.read(range.offset, {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
    const size_t nbytes = text.find('\0');
    if (nbytes == std::string::npos)
      return make_error(Code::INVALID_DATA,
                        "a name is longer than " + std::to_string(max_nbytes) + " bytes or not ended");
    text.resize(nbytes);
    return text;
  }

  // Returns the range of symbol table entries that may be exports. No field stores the table's length;
  // the hash tables imply it.
  Result<SymbolRange> symbol_range() const {
    if (gnu_hash_address_) return gnu_hash_range();
    if (!hash_address_) return make_error(Code::INVALID_DATA, "no symbol hash table");
    ETB_ASSIGN(const uint64_t at, file_.to_offset(*hash_address_));
    ETB_ASSIGN(const auto head, (source_.read_struct<std::array<uint32_t, 2>>(at)));
    if (head[1] > kMaxSymbols) return make_error(Code::INVALID_DATA, "more than 65536 symbols");
    return SymbolRange{1, head[1]};
  }

  Result<SymbolRange> gnu_hash_range() const {
    ETB_ASSIGN(const uint64_t at, file_.to_offset(*gnu_hash_address_));
    ETB_ASSIGN(const auto head, (source_.read_struct<std::array<uint32_t, 4>>(at)));
    const uint64_t bucket_count = head[0], first = head[1], bloom_count = head[2];
    if (bucket_count > kMaxBuckets || bloom_count > kMaxBuckets)
      return make_error(Code::INVALID_DATA, "symbol hash table of absurd size");
    const uint64_t buckets_at = at + sizeof(head) + bloom_count * Elf::kBloomWordBytes;
    std::vector<uint32_t> buckets(bucket_count);
    ETB_TRY(source_.read(buckets_at,
                         {reinterpret_cast<uint8_t*>(buckets.data()), bucket_count * sizeof(uint32_t)}));
    uint64_t last = buckets.empty() ? 0 : *std::max_element(buckets.begin(), buckets.end());
    if (last < first) return SymbolRange{first, first};  // no exports
    const uint64_t chains_at = buckets_at + bucket_count * sizeof(uint32_t);
    for (uint64_t walked = 0; walked < kMaxSymbols; ++walked, ++last) {
      ETB_ASSIGN(const uint32_t link,
                 source_.read_struct<uint32_t>(chains_at + (last - first) * sizeof(uint32_t)));
      if (link & 1) return SymbolRange{first, last + 1};
    }
    return make_error(Code::INVALID_DATA, "more than 65536 symbols");
  }

  // Returns the range of symbol table entries that may be imports. The GNU hash table covers the defined symbols,
  // which follow the undefined ones. Entry 0 is unused.
  Result<SymbolRange> import_range() const {
    ETB_ASSIGN(const SymbolRange range, symbol_range());
    if (!gnu_hash_address_) return range;
    if (range.begin < range.end) return SymbolRange{1, range.begin};
    // In a file without exports, GNU ld writes a table that begins at symbol 1, for any number of symbols. The
    // loader looks up the symbols that relocations name.
    uint64_t end = range.begin;
    const bool has_plt_addends = plt_kind_ == uint64_t{DT_RELA};
    ETB_TRY(extend_by_relocations(rela_, sizeof(typename Elf::Rela), end));
    ETB_TRY(extend_by_relocations(rel_, sizeof(typename Elf::Rel), end));
    ETB_TRY(extend_by_relocations(
        plt_, has_plt_addends ? sizeof(typename Elf::Rela) : sizeof(typename Elf::Rel), end));
    return SymbolRange{1, end};
  }

  // Raises `end` above each symbol of the table. An entry with an addend begins as one without.
  Status extend_by_relocations(const RelocationTable& table, uint64_t entry_nbytes, uint64_t& end) const {
    const uint64_t nbytes = table.nbytes.value_or(0);
    if (nbytes == 0) return {};
    ETB_ASSIGN(const ElfFile::Range range, file_.to_range(table.address.value_or(0)));
    if (range.nbytes < nbytes)
      return make_error(Code::INVALID_DATA, "relocations of " + std::to_string(nbytes) +
                                                " bytes, their segment has " + std::to_string(range.nbytes));
    std::vector<uint8_t> bytes(256 * entry_nbytes);
    for (uint64_t at = 0; at < nbytes; at += bytes.size()) {
      const uint64_t count = std::min<uint64_t>(bytes.size(), nbytes - at) / entry_nbytes;
      ETB_TRY(source_.read(range.offset + at, {bytes.data(), count * entry_nbytes}));
      for (uint64_t i = 0; i < count; ++i) {
        typename Elf::Rel relocation;
        std::memcpy(&relocation, bytes.data() + i * entry_nbytes, sizeof(relocation));
        end = std::max<uint64_t>(end, (uint64_t{relocation.r_info} >> Elf::kSymbolShift) + 1);
      }
    }
    return {};
  }

  template <class Visit>
  Status each_symbol(SymbolRange range, Visit visit) const {
    if (range.end <= range.begin) return {};
    if (range.end - range.begin > kMaxSymbols)
      return make_error(Code::INVALID_DATA, "more than 65536 symbols");
    ETB_ASSIGN(const uint64_t table, file_.to_offset(symbols_address_.value_or(0)));
    std::vector<typename Elf::Sym> symbols(256);
    for (uint64_t at = range.begin; at < range.end; at += symbols.size()) {
      const uint64_t count = std::min<uint64_t>(symbols.size(), range.end - at);
      ETB_TRY(source_.read(table + at * sizeof(symbols[0]),
                           {reinterpret_cast<uint8_t*>(symbols.data()), count * sizeof(symbols[0])}));
      for (uint64_t i = 0; i < count; ++i) ETB_TRY(visit(symbols[i]));
    }
    return {};
  }

  Status note_export(const typename Elf::Sym& symbol, ElfDynamic& out) const {
    const unsigned binding = symbol.st_info >> 4, visibility = symbol.st_other & 3;
    if (symbol.st_shndx == SHN_UNDEF || binding == STB_LOCAL || visibility == STV_HIDDEN ||
        visibility == STV_INTERNAL)
      return {};
    ++out.export_count;
    if (out.export_count > kMaxNamesKept && out.has_query) return {};
    ETB_ASSIGN(std::string text, name(symbol.st_name));
    if (text == ETB_PLUGIN_QUERY_SYMBOL) out.has_query = true;
    if (out.exports.size() < kMaxNamesKept) out.exports.push_back(std::move(text));
    return {};
  }

  const ByteSource& source_;
  const ElfFile& file_;
  std::optional<uint64_t> strings_address_;
  std::optional<uint64_t> strings_nbytes_;
  std::optional<uint64_t> symbols_address_;
  std::optional<uint64_t> gnu_hash_address_;
  std::optional<uint64_t> hash_address_;
  RelocationTable rela_;
  RelocationTable rel_;
  RelocationTable plt_;  // relocations of functions (DT_JMPREL)
  std::optional<uint64_t> plt_kind_;
  std::optional<uint64_t> soname_;
  std::optional<uint64_t> run_path_old_;
  std::optional<uint64_t> run_path_;
  std::vector<uint64_t> needed_;
  std::vector<std::pair<const char*, uint64_t>> filters_;
};

}  // namespace

Result<ElfDynamic> read_elf_dynamic(const ByteSource& source, const ElfFile& file) {
  return file.is_64_bit ? DynamicReader<Elf64>(source, file).read()
                        : DynamicReader<Elf32>(source, file).read();
}

Result<std::vector<std::string>> read_elf_imports(const ByteSource& source, const ElfFile& file) {
  return file.is_64_bit ? DynamicReader<Elf64>(source, file).read_imports()
                        : DynamicReader<Elf32>(source, file).read_imports();
}

}  // namespace etb::host
