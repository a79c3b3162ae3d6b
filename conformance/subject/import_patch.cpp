// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/import_patch.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

namespace etb::conformance {
namespace {

// The parts of a library's dynamic section that name its imports.
struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* texts = nullptr;
  const ElfW(Rela) * tables[2] = {};  // relocations of functions, all other relocations
  size_t nbytes[2] = {};
};

Dynamic read_dynamic(const ElfW(Dyn) * entry) {
  Dynamic out;
  for (; entry->d_tag != DT_NULL; ++entry) {
    const auto address = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) out.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) out.texts = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_JMPREL) out.tables[0] = reinterpret_cast<const ElfW(Rela)*>(address);
    if (entry->d_tag == DT_PLTRELSZ) out.nbytes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_RELA) out.tables[1] = reinterpret_cast<const ElfW(Rela)*>(address);
    if (entry->d_tag == DT_RELASZ) out.nbytes[1] = entry->d_un.d_val;
  }
  return out;
}

// Writes an address into memory that the linker has made read-only.
void replace(void** slot, void* value) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto* const begin = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot) / page * page);
  if (::mprotect(begin, page, PROT_READ | PROT_WRITE) == 0) *slot = value;
}

}  // namespace

ImportPatch::ImportPatch(const void* symbol, std::span<const Import> imports) {
#if defined(__x86_64__) || defined(__aarch64__)
  Dl_info info{};
  link_map* map = nullptr;
  if (::dladdr1(symbol, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr)
    return;
  const Dynamic dynamic = read_dynamic(map->l_ld);
  if (dynamic.symbols == nullptr || dynamic.texts == nullptr) return;
  for (size_t t = 0; t < 2; ++t)
    for (size_t i = 0; dynamic.tables[t] != nullptr && i < dynamic.nbytes[t] / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& entry = dynamic.tables[t][i];
      if (ELF64_R_SYM(entry.r_info) == 0) continue;
      const std::string_view name = dynamic.texts + dynamic.symbols[ELF64_R_SYM(entry.r_info)].st_name;
      for (const Import& import : imports) {
        if (name != import.name) continue;
        auto** const slot = reinterpret_cast<void**>(map->l_addr + entry.r_offset);
        slots_.push_back({slot, *slot});
        replace(slot, import.replacement);
      }
    }
#else
  (void)symbol, (void)imports;
#endif
}

ImportPatch::~ImportPatch() {
  for (const Slot& slot : slots_) replace(slot.address, slot.value);
}

}  // namespace etb::conformance
