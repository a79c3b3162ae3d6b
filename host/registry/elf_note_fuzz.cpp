// SPDX-License-Identifier: Apache-2.0
// Fuzzes arbitrary bytes as a library file: header, identity note and dynamic section are read or rejected.
#include <cstdint>
#include <cstdlib>

#include "host/registry/elf_dynamic.hpp"
#include "host/registry/elf_note.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const etb::host::MemoryBytes source({data, size});
  const auto file = etb::host::read_elf(source);
  if (!file) return 0;
  if (const auto ident = etb::host::read_elf_note(source, *file))
    if (ident->id.empty() || ident->abi_min > ident->abi_max) std::abort();
  (void)etb::host::read_elf_dynamic(source, *file);
  (void)etb::host::read_elf_imports(source, *file);
  return 0;
}
