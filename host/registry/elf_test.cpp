// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "host/registry/code_file.hpp"
#include "host/registry/elf_dynamic.hpp"
#include "host/registry/elf_note.hpp"
#include "host/registry/open_library.hpp"
#include "host/testing/tiny_elf.hpp"

namespace etb::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Reads all parts of a file. Returns the message of the first error, or "ok".
std::string read_all(const std::vector<uint8_t>& bytes) {
  const MemoryBytes source(bytes);
  const Result<ElfFile> file = read_elf(source);
  if (!file) return file.error().message;
  const Result<PluginIdent> ident = read_elf_note(source, *file);
  if (!ident) return ident.error().message;
  const Result<ElfDynamic> dynamic = read_elf_dynamic(source, *file);
  return dynamic ? "ok" : dynamic.error().message;
}

std::string read_all(const TinyElf& elf) { return read_all(elf.bytes()); }

TEST(Elf, ReadsIdentityNeedsAndExports) {
  const std::vector<uint8_t> bytes = TinyElf().bytes();
  const MemoryBytes source(bytes);
  const Result<ElfFile> file = read_elf(source);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->arch, "x86_64");
  const Result<PluginIdent> ident = read_elf_note(source, *file);
  ASSERT_TRUE(ident) << ident.error().message;
  EXPECT_EQ(ident->id, "com.example.tiny");
  EXPECT_EQ(ident->version, "1.0.0");
  EXPECT_EQ(ident->abi_min, ETB_ABI_MAKE(1, 0));
  EXPECT_EQ(ident->bytes.size(), sizeof(etb_plugin_ident));
  const Result<ElfDynamic> dynamic = read_elf_dynamic(source, *file);
  ASSERT_TRUE(dynamic) << dynamic.error().message;
  EXPECT_THAT(dynamic->needed, ElementsAre("libc.so.6"));
  EXPECT_EQ(dynamic->soname, "tiny.so");
  EXPECT_TRUE(dynamic->has_query);
  EXPECT_EQ(dynamic->export_count, 1u);
}

// The test program itself imports malloc from the C library and does not export it.
TEST(Elf, NamesWhatOtherFilesMustGive) {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const MemoryBytes source(bytes);
  const Result<ElfFile> file = read_elf(source);
  ASSERT_TRUE(file) << file.error().message;
  const Result<std::vector<std::string>> imports = read_elf_imports(source, *file);
  ASSERT_TRUE(imports) << imports.error().message;
  EXPECT_THAT(*imports, testing::Contains("memcmp"));
  EXPECT_THAT(*imports, testing::Not(testing::Contains("etb_plugin_query")));
}

Result<std::vector<std::string>> imports_of(const TinyElf& elf) {
  const std::vector<uint8_t> bytes = elf.bytes();
  const MemoryBytes source(bytes);
  const Result<ElfFile> file = read_elf(source);
  EXPECT_TRUE(file) << file.error().message;
  return read_elf_imports(source, *file);
}

TEST(Elf, NamesImportsBesideExports) {
  TinyElf elf;
  elf.imports = {"malloc", "free"};
  const auto imports = imports_of(elf);
  ASSERT_TRUE(imports) << imports.error().message;
  EXPECT_THAT(*imports, ElementsAre("malloc", "free"));
}

// The hash table of GNU ld has no number of symbols then.
TEST(Elf, NamesImportsOfAFileWithoutExports) {
  TinyElf elf;
  elf.exports.clear();
  elf.imports = {"malloc", "free"};
  elf.has_empty_gnu_hash = true;
  for (const auto& [tag, plt_kind] :
       {std::pair{DT_RELA, DT_RELA}, {DT_REL, DT_RELA}, {DT_JMPREL, DT_RELA}, {DT_JMPREL, DT_REL}}) {
    elf.relocations_tag = tag;
    elf.plt_kind = static_cast<uint64_t>(plt_kind);
    const auto imports = imports_of(elf);
    ASSERT_TRUE(imports) << imports.error().message;
    EXPECT_THAT(*imports, ElementsAre("malloc", "free")) << tag << " of kind " << plt_kind;
  }
}

TEST(Elf, RefusesRelocationsBeyondTheirSegment) {
  TinyElf elf;
  elf.exports.clear();
  elf.imports = {"malloc", "free"};
  elf.has_empty_gnu_hash = true;
  elf.segments[0].p_filesz = elf.segments[0].p_memsz = TinyElf::kRelocationsAt + sizeof(Elf64_Rela);
  const auto imports = imports_of(elf);
  ASSERT_FALSE(imports);
  EXPECT_EQ(imports.error().message, "relocations of 48 bytes, their segment has 24");
}

struct Spoiled {
  const char* name;
  std::function<void(TinyElf&)> spoil;
  const char* reason;
};

class SpoiledElf : public testing::TestWithParam<Spoiled> {};

TEST_P(SpoiledElf, IsRefusedWithAReason) {
  TinyElf elf;
  GetParam().spoil(elf);
  EXPECT_THAT(read_all(elf), HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    Elf, SpoiledElf,
    testing::Values(
        Spoiled{"Magic", [](TinyElf& e) { e.header.e_ident[0] = 0; }, "not an ELF file"},
        Spoiled{"Class", [](TinyElf& e) { e.header.e_ident[EI_CLASS] = 3; }, "elf class 3"},
        Spoiled{"BigEndian", [](TinyElf& e) { e.header.e_ident[EI_DATA] = ELFDATA2MSB; }, "big-endian"},
        Spoiled{"Executable", [](TinyElf& e) { e.header.e_type = ET_EXEC; }, "elf type 2, expected 3"},
        Spoiled{"EntrySize", [](TinyElf& e) { e.header.e_phentsize = 8; }, "program headers of 8 bytes"},
        Spoiled{"HeadersOutside",
                [](TinyElf& e) {
                  e.header.e_phoff = TinyElf::kFileBytes - 8;
                  e.segments.resize(1);
                },
                "truncated"},
        Spoiled{"SegmentTruncated",
                [](TinyElf& e) {
                  e.segments[0].p_filesz += 1;
                  e.segments[0].p_memsz += 1;
                },
                "segment 0: truncated"},
        Spoiled{"SegmentOffsetHuge", [](TinyElf& e) { e.segments[1].p_offset = UINT64_MAX - 4; },
                "segment 1: truncated"},
        Spoiled{"SegmentSizeWraps",
                [](TinyElf& e) {
                  e.segments[0].p_offset = 16;
                  e.segments[0].p_filesz = UINT64_MAX - 8;
                },
                "segment 0: truncated"},
        Spoiled{"SegmentsOverlap",
                [](TinyElf& e) { e.segments.push_back(TinyElf::segment(PT_LOAD, 0x100, 0x100)); },
                "segment 3: overlaps"},
        Spoiled{"MemorySmaller", [](TinyElf& e) { e.segments[0].p_memsz = 1; }, "smaller in memory"},
        Spoiled{"ImageHuge", [](TinyElf& e) { e.segments[0].p_memsz = uint64_t{1} << 60; },
                "image of more than"},
        Spoiled{"NothingToLoad", [](TinyElf& e) { e.segments[0].p_type = PT_NULL; }, "no segment to load"},
        Spoiled{"NoNote", [](TinyElf& e) { e.segments[1].p_type = PT_NULL; }, "no identity note"},
        Spoiled{"ForeignNote", [](TinyElf& e) { e.notes[0].name[0] = 'x'; }, "no identity note"},
        Spoiled{"ForeignNoteType", [](TinyElf& e) { e.notes[0].type = 2; }, "no identity note"},
        Spoiled{"TwoNotes",
                [](TinyElf& e) {
                  e.notes.push_back(e.notes[0]);
                  e.segments[1].p_filesz *= 2;
                },
                "two identity notes"},
        Spoiled{"NoteNameHuge", [](TinyElf& e) { e.notes[0].name_nbytes = 0xffffffff; },
                "reaches beyond its segment"},
        Spoiled{"NoteContentHuge", [](TinyElf& e) { e.notes[0].desc_nbytes = 0xfffffffd; },
                "reaches beyond its segment"},
        Spoiled{"NoteContentShort",
                [](TinyElf& e) {
                  e.notes[0].desc_nbytes = 16;
                  e.segments[1].p_filesz = 40;
                },
                "struct_size 288, expected 288 to 16"},
        Spoiled{"IdentTooSmall", [](TinyElf& e) { e.ident().struct_size = 32; }, "struct_size 32"},
        Spoiled{"IdentTooLarge", [](TinyElf& e) { e.ident().struct_size = 100000; }, "struct_size 100000"},
        Spoiled{"UnknownFlags", [](TinyElf& e) { e.ident().flags = 0x80; }, "flags 0x80, known are 0x7"},
        Spoiled{"Reserved", [](TinyElf& e) { e.ident().reserved = 1; }, "reserved field is not zero"},
        Spoiled{"Candidate", [](TinyElf& e) { e.ident().abi_candidate = 77; }, "release candidate 77"},
        Spoiled{"NoProfile", [](TinyElf& e) { e.ident().profiles = 0; }, "profiles 0x0"},
        Spoiled{"UnknownSanitizer", [](TinyElf& e) { e.ident().sanitizers = 0x100; }, "sanitizers 0x100"},
        Spoiled{"AbiBackwards", [](TinyElf& e) { e.ident().abi_min = ETB_ABI_MAKE(2, 0); },
                "abi 2.0 to 1.0 is no range"},
        Spoiled{"AbiZero", [](TinyElf& e) { e.ident().abi_min = 0; }, "abi 0.0 to 1.0"},
        Spoiled{"IdNotEnded", [](TinyElf& e) { std::memset(e.ident().id, 'a', sizeof(e.ident().id)); },
                "id: no NUL within 96 bytes"},
        Spoiled{"IdBad", [](TinyElf& e) { e.ident().id[0] = 'C'; }, "id: found 'Com.example.tiny'"},
        Spoiled{"VendorEscapes", [](TinyElf& e) { e.ident().vendor[0] = '\x1b'; },
                "vendor: found '\\x1bxample'"},
        Spoiled{"VersionBad", [](TinyElf& e) { e.ident().version[1] = 0; }, "version: found '1'"},
        Spoiled{"NoDynamic", [](TinyElf& e) { e.segments[2].p_type = PT_NULL; }, "no dynamic section"},
        Spoiled{"DynamicEmpty", [](TinyElf& e) { e.segments[2].p_filesz = 0; },
                "no end of the dynamic section within its first 0 entries"},
        Spoiled{"DynamicNotEnded", [](TinyElf& e) { e.segments[2].p_filesz = 2 * sizeof(Elf64_Dyn); },
                "no end of the dynamic section within its first 2 entries"},
        Spoiled{"DynamicTwice", [](TinyElf& e) { e.segments.push_back(e.segments[2]); },
                "two dynamic sections, expected one"},
        Spoiled{"DynamicElsewhere", [](TinyElf& e) { e.segments[2].p_vaddr = TinyElf::kSymbolsAt; },
                "the dynamic section's address leads to byte 2560, its offset to byte 2048"},
        Spoiled{"DynamicReachesBeyondItsSegment",
                [](TinyElf& e) { e.segments[0].p_filesz = TinyElf::kDynamicAt + 32; },
                "the dynamic section's address leads to byte 2048"},
        Spoiled{"SegmentsShareAPage",
                [](TinyElf& e) {
                  e.segments[0].p_filesz = e.segments[0].p_memsz = TinyElf::kSymbolsAt;
                  e.segments.push_back(TinyElf::segment(PT_LOAD, TinyElf::kSymbolsAt, 0x100));
                },
                "segment 3: shares a memory page with an earlier one"},
        Spoiled{"AddressAndOffsetDisagree", [](TinyElf& e) { e.segments[0].p_vaddr += 0x100; },
                "segment 0: address and offset differ within a memory page"},
        Spoiled{"SonameTwice",
                [](TinyElf& e) {
                  e.further.push_back({DT_SONAME, "other.so"});
                },
                "DT_SONAME is given twice"},
        Spoiled{"RunPathTwice",
                [](TinyElf& e) {
                  e.run_path = "$ORIGIN";
                  e.further.push_back({DT_RUNPATH, "/opt"});
                },
                "DT_RUNPATH is given twice"},
        Spoiled{"StringTableTwice",
                [](TinyElf& e) {
                  e.further.push_back({DT_STRTAB, "x"});
                },
                "DT_STRTAB is given twice"},
        Spoiled{"StringsInNoSegment", [](TinyElf& e) { e.segments[0].p_filesz = TinyElf::kStringsAt; },
                "is in no segment"}),
    [](const testing::TestParamInfo<Spoiled>& one) { return std::string(one.param.name); });

TEST(Elf, EveryTruncationIsRefused) {
  const std::vector<uint8_t> whole = TinyElf().bytes();
  for (size_t nbytes = 0; nbytes < whole.size(); nbytes += nbytes < 0x400 ? 1 : 37)
    EXPECT_NE(read_all({whole.begin(), whole.begin() + static_cast<long>(nbytes)}), "ok") << nbytes;
}

TEST(Elf, NoteOfANewerHostIsReadAndKeptWhole) {
  TinyElf elf;
  elf.notes.resize(1);
  elf.ident().struct_size = sizeof(etb_plugin_ident) + 64;
  elf.notes[0].desc_nbytes = sizeof(etb_plugin_ident) + 64;
  elf.segments[1].p_filesz += 64;
  const std::vector<uint8_t> bytes = elf.bytes();
  const MemoryBytes source(bytes);
  const Result<PluginIdent> ident = read_elf_note(source, *read_elf(source));
  ASSERT_TRUE(ident) << ident.error().message;
  EXPECT_EQ(ident->bytes.size(), sizeof(etb_plugin_ident) + 64);
}

TEST(Elf, OverlappingNoteSegmentsShowOneNote) {
  TinyElf elf;
  elf.segments.push_back(elf.segments[1]);
  EXPECT_EQ(read_all(elf), "ok");
}

TEST(Elf, RunPathsAreReadOneByOne) {
  TinyElf elf;
  elf.run_path = "$ORIGIN:/opt/x::lib";
  const std::vector<uint8_t> bytes = elf.bytes();
  const MemoryBytes source(bytes);
  const Result<ElfDynamic> dynamic = read_elf_dynamic(source, *read_elf(source));
  ASSERT_TRUE(dynamic) << dynamic.error().message;
  EXPECT_THAT(dynamic->run_paths, ElementsAre("$ORIGIN", "/opt/x", "", "lib"));
}

TEST(Elf, ALibraryMayNotLetTheLoaderSearch) {
  const auto refusal = [](std::vector<std::string> needed, std::vector<std::string> run_paths,
                          std::vector<std::string> filters = {}) {
    ElfDynamic dynamic;
    dynamic.needed = std::move(needed);
    dynamic.run_paths = std::move(run_paths);
    dynamic.filters = std::move(filters);
    const Status status = verify_library_search(dynamic, "npu.so");
    return status ? "" : status.error().reason + ": " + status.error().message;
  };
  EXPECT_EQ(refusal({"libc.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6"}, {"$ORIGIN"}), "");
  for (const char* needed : {"lib/helper.so", "/helper.so", "$ORIGIN", "${LIB}x", "..", "", "a:b", "a\nb"})
    EXPECT_THAT(refusal({needed}, {}), HasSubstr("expected a name without a path")) << needed;
  for (const char* path : {"", "lib", ".", "/usr/lib", "/no/such/folder", "${ORIGIN}", "$ORIGIN/",
                           "$ORIGIN/..", "$ORIGIN/lib", "$LIB", "/$PLATFORM"})
    EXPECT_THAT(refusal({}, {path}), HasSubstr("library.search: npu.so: run path '" + std::string(path) +
                                               "', expected $ORIGIN alone or none"));
  EXPECT_EQ(refusal({}, {"$ORIGIN"}, {"DT_FILTER x.so"}),
            "library.filter: npu.so: has DT_FILTER x.so, expected DT_NEEDED for every library that it uses");
}

TEST(Elf, ASonameIsTheNameOfTheFile) {
  const auto refusal = [](const char* soname, const char* path) {
    ElfDynamic dynamic;
    dynamic.soname = soname;
    const Status status = verify_soname(dynamic, path);
    return status ? "" : status.error().reason + ": " + status.error().message;
  };
  EXPECT_EQ(refusal("", "npu.so"), "");
  EXPECT_EQ(refusal("npu.so", "lib/npu.so"), "");
  EXPECT_EQ(
      refusal("npu.so.1", "lib/npu.so"),
      "library.soname: lib/npu.so: SONAME 'npu.so.1', expected 'npu.so', the name of the file, or none");
}

// glibc stores some entries by the low 31 bits of their tag.
TEST(Elf, FiltersAreReadByTheBitsThatTheLoaderLooksAt) {
  for (const uint64_t tag : {uint64_t{DT_AUXILIARY}, uint64_t{DT_FILTER}, uint64_t{DT_AUDIT},
                             uint64_t{DT_DEPAUDIT}, uint64_t{0xfffffffd}, uint64_t{0x1'7fffffff}}) {
    TinyElf elf;
    elf.further.push_back({static_cast<Elf64_Sxword>(tag), "x.so"});
    const std::vector<uint8_t> bytes = elf.bytes();
    const MemoryBytes source(bytes);
    const Result<ElfDynamic> dynamic = read_elf_dynamic(source, *read_elf(source));
    ASSERT_TRUE(dynamic) << dynamic.error().message;
    EXPECT_THAT(dynamic->filters, ElementsAre(HasSubstr(" x.so"))) << tag;
  }
}

TEST(Elf, ReadsARealLibrary) {
  std::ifstream in("/proc/self/exe",
                   std::ios::binary);  // position independent, so its type is that of a library
  const std::vector<char> chars((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::vector<uint8_t> bytes(chars.begin(), chars.end());
  const MemoryBytes source(bytes);
  const Result<ElfFile> file = read_elf(source);
  ASSERT_TRUE(file) << file.error().message;
  const Result<ElfDynamic> dynamic = read_elf_dynamic(source, *file);
  ASSERT_TRUE(dynamic) << dynamic.error().message;
  EXPECT_THAT(dynamic->needed, testing::Contains(HasSubstr("libc.so")));
  EXPECT_FALSE(dynamic->has_query);
}

TEST(Elf, ArchitecturesHaveOneName) {
  EXPECT_EQ(normalise_arch("amd64"), "x86_64");
  EXPECT_EQ(normalise_arch("armv7l"), "arm");
  EXPECT_EQ(normalise_arch("arm64"), "aarch64");
  EXPECT_EQ(normalise_arch("i686"), "x86");
  EXPECT_EQ(normalise_arch("riscv64"), "riscv64");
}

}  // namespace
}  // namespace etb::host
