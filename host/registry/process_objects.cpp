// SPDX-License-Identifier: Apache-2.0
#include "host/registry/process_objects.hpp"

#include <elf.h>
#include <link.h>

namespace etb::host {
namespace {

bool is_mapped_by(const dl_phdr_info& info, ElfW(Addr) address) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    const ElfW(Addr) begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address - begin < segment.p_memsz) return true;
  }
  return false;
}

std::string read_soname(const dl_phdr_info& info, const ElfW(Dyn) * entry) {
  ElfW(Addr) strings = 0;
  ElfW(Addr) soname = 0;
  bool has_soname = false;
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SONAME) soname = entry->d_un.d_val, has_soname = true;
  }
  if (!has_soname) return "";
  // The loader adds the object's base to the address, except where it cannot write to the section
  // (the vdso, some processors).
  if (!is_mapped_by(info, strings)) strings += info.dlpi_addr;
  return is_mapped_by(info, strings) ? reinterpret_cast<const char*>(strings + soname) : "";
}

int add_object(dl_phdr_info* info, size_t, void* list) {
  ProcessObject object;
  object.path = info->dlpi_name;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* section = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    object.dynamic = section;
    object.soname = read_soname(*info, section);
  }
  static_cast<std::vector<ProcessObject>*>(list)->push_back(std::move(object));
  return 0;
}

}  // namespace

std::vector<ProcessObject> process_objects() {
  std::vector<ProcessObject> out;
  ::dl_iterate_phdr(add_object, &out);
  return out;
}

}  // namespace etb::host
