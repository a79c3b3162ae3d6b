// SPDX-License-Identifier: Apache-2.0
// abi: the library file and its tables, as far as the loader has not checked them already.
#include <elf.h>
#include <fmt/format.h>

#include <optional>

#include "conformance/checks/groups.hpp"
#include "conformance/subject/monotonic_clock.hpp"
#include "conformance/subject/process_facts.hpp"
#include "host/registry/elf_dynamic.hpp"
#include "host/registry/library_file.hpp"

namespace etb::conformance {
namespace {

void loads(CheckContext& context) {
  const Result<std::shared_ptr<host::LoadedPlugin>> loaded =
      host::LoadedPlugin::load(context.spec().entry, context.spec().load_options);
  if (!loaded) context.fail(loaded.error().message);
}

void query_is_stable(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const etb_plugin_query_fn query = subject->library().query_function();
  const etb_host& host = subject->library().host();
  const auto* const first = query(&host, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  for (int i = 0; i < 100; ++i)
    if (query(&host, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION) != first)
      return context.fail("the second query returns another table than the first");
}

void tables_are_complete(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const etb_plugin_table& raw = subject->library().raw_table();
  if (raw.flags != 0) context.fail(fmt::format("plugin table: flags {:#x}, expected 0", raw.flags));
  if ((raw.caps & ~ETB_PLUGIN_CAPS_KNOWN) != 0 && raw.struct_size == sizeof(etb_plugin_table))
    context.fail(fmt::format("plugin table: unknown capability bits {:#x} without a larger table", raw.caps));
  const uint32_t profiles = raw.ident->profiles;
  if ((profiles & ETB_PROFILE_RUNTIME) == 0 && raw.delegate != nullptr)
    context.fail("the plugin has a delegate table, but not ETB_PROFILE_RUNTIME");
  if ((profiles & ETB_PROFILE_AOT) == 0 && raw.aot != nullptr)
    context.fail("the plugin has an aot table, but not ETB_PROFILE_AOT");
}

void devices_are_described(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  std::vector<std::string> first, second;
  const auto collect = [&](std::vector<std::string>& out) {
    return subject->context().each_device([&](const etb_device_info& info) {
      out.push_back(std::string(reinterpret_cast<const char*>(info.uuid), sizeof(info.uuid)) + info.kind +
                    info.name);
    });
  };
  const Status one = collect(first), two = collect(second);
  if (!one || !two) return context.fail("enumerate: " + (!one ? one : two).error().message);
  if (first != second) context.fail("the second enumerate reports other devices than the first");
  context.take_violations(*subject);
}

// Opens the file of the plugin under test. If there is none, returns nothing and skips the check.
std::optional<host::LibraryFile> open_library_file(CheckContext& context) {
  const std::string& path = context.spec().entry.library_path;
  if (path.empty()) {
    context.skip("the plugin is linked into the program");
    return std::nullopt;
  }
  Result<host::LibraryFile> library = host::LibraryFile::open(path);
  if (library) return std::move(*library);
  context.skip("not an ELF library: " + library.error().message);
  return std::nullopt;
}

// Checks the file itself, before any of its code runs.
void library_file(CheckContext& context) {
  const std::optional<host::LibraryFile> library = open_library_file(context);
  if (!library) return;
  const host::FileBytes source = library->bytes();
  const Result<host::ElfDynamic> dynamic = host::read_elf_dynamic(source, library->elf);
  if (!dynamic) return context.fail(dynamic.error().message);
  if (!dynamic->has_query || dynamic->export_count != 1)
    context.fail(fmt::format("the library exports {} symbols ({}), expected only etb_plugin_query",
                             dynamic->export_count, fmt::join(dynamic->exports, ", ")));
  if (!library->elf.is_64_bit) return;
  const Result<Elf64_Ehdr> head = source.read_struct<Elf64_Ehdr>(0);
  for (uint32_t i = 0; head && i < head->e_phnum; ++i) {
    const Result<Elf64_Phdr> segment =
        source.read_struct<Elf64_Phdr>(head->e_phoff + uint64_t{i} * head->e_phentsize);
    if (!segment) return;
    if (segment->p_type == PT_GNU_STACK && (segment->p_flags & PF_X) != 0)
      context.fail("the library requires an executable stack");
    for (uint64_t at = 0; segment->p_type == PT_DYNAMIC && at + sizeof(Elf64_Dyn) <= segment->p_filesz;
         at += sizeof(Elf64_Dyn)) {
      const Result<Elf64_Dyn> entry = source.read_struct<Elf64_Dyn>(segment->p_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0))
        context.fail("the library has relocations in its code (TEXTREL)");
    }
  }
}

// Checks that a library loaded alone finds its imports: another program loads other libraries than this one.
void names_what_it_needs(CheckContext& context) {
  const std::optional<host::LibraryFile> library = open_library_file(context);
  if (!library) return;
  const Result<std::vector<std::string>> imports = host::read_elf_imports(library->bytes(), library->elf);
  if (!imports) return context.fail(imports.error().message);
  const auto subject = context.open(bare());
  if (!subject) return;
  // Searches the library itself and its dependencies, in the loader's order, but not the program and its
  // libraries.
  std::vector<std::string> missing;
  for (const std::string& name : *imports)
    if (subject->library().find_symbol(name.c_str()) == nullptr) missing.push_back(name);
  if (!missing.empty())
    context.fail(
        fmt::format("the library needs {}, which no library that it names provides, only the program",
                    fmt::join(missing, ", ")));
}

void loading_starts_nothing(CheckContext& context) {
  const size_t threads = thread_count(), files = open_descriptor_count();
  const Result<std::shared_ptr<host::LoadedPlugin>> loaded =
      host::LoadedPlugin::load(context.spec().entry, context.spec().load_options);
  if (!loaded) return context.fail(loaded.error().message);
  if (const size_t now = thread_count(); now > threads)
    context.fail(fmt::format("loading the library starts {} threads, expected none", now - threads));
  // The loader itself may keep the library's file open.
  if (const size_t now = open_descriptor_count(); now > files + 1)
    context.fail(fmt::format("loading the library opens {} files, expected none", now - files));
}

void loads_quickly(CheckContext& context) {
  constexpr uint64_t kMostMs = 100;
  const uint64_t begin = monotonic_ns();
  const auto subject = context.open(bare());
  if (!subject) return;
  (void)subject->context().each_device([](const etb_device_info&) {});
  if (const uint64_t ms = (monotonic_ns() - begin) / 1000000; ms > kMostMs)
    context.warn(fmt::format("load, init and enumerate took {} ms, expected at most {}", ms, kMostMs));
}

constexpr Check kChecks[] = {
    {"abi.loads", "The library loads, and its query agrees with note and manifest.", "ABI-LOAD-02", loads},
    {"abi.library-file",
     "The library exports etb_plugin_query and nothing else, its code needs no relocation, its stack no "
     "execution.",
     "ABI-SYM-01", library_file},
    {"abi.names-what-it-needs", "Each symbol that the library needs is in a library that it names.",
     "ABI-SYM-01", names_what_it_needs},
    {"abi.loading-starts-nothing", "Loading the library starts no thread and opens no file.", "ABI-SYM-02",
     loading_starts_nothing},
    {"abi.loads-quickly", "Load, init and enumerate take at most 100 ms; a warning otherwise.", "",
     loads_quickly},
    {"abi.query-is-stable", "Query returns the same pointer for the same range, a hundred times.",
     "ABI-SYM-02", query_is_stable},
    {"abi.tables-are-complete", "Tables have no unknown bits, and are those that the profiles promise.",
     "ABI-TYPE-02", tables_are_complete},
    {"abi.devices-are-described", "Devices are described completely, and equal at every enumeration.",
     "ABI-DEV-01", devices_are_described},
};

}  // namespace

std::span<const Check> abi_checks() { return kChecks; }

}  // namespace etb::conformance
