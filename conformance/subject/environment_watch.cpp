// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/environment_watch.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

namespace etb::conformance {
namespace {

std::mutex mutex;
std::vector<std::string> read_names;  // guarded by `mutex`

char* recording_getenv(const char* name) {
  {
    const std::lock_guard lock(mutex);
    read_names.emplace_back(name);
  }
  return std::getenv(name);
}

// The parts of a library's dynamic section that name the functions that it calls.
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

EnvironmentWatch::EnvironmentWatch(const void* symbol) {
  const std::lock_guard lock(mutex);
  read_names.clear();
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
      const ElfW(Sym)& wanted = dynamic.symbols[ELF64_R_SYM(entry.r_info)];
      const std::string_view name = dynamic.texts + wanted.st_name;
      if (ELF64_R_SYM(entry.r_info) == 0 || (name != "getenv" && name != "secure_getenv")) continue;
      auto** const slot = reinterpret_cast<void**>(map->l_addr + entry.r_offset);
      slots_.push_back({slot, *slot});
      replace(slot, reinterpret_cast<void*>(&recording_getenv));
    }
#else
  (void)symbol;
#endif
}

EnvironmentWatch::~EnvironmentWatch() {
  for (const Slot& slot : slots_) replace(slot.address, slot.function);
}

std::vector<std::string> EnvironmentWatch::names() const {
  const std::lock_guard lock(mutex);
  return read_names;
}

}  // namespace etb::conformance
