// SPDX-License-Identifier: Apache-2.0
// Reads a plugin's identity from a note of its file, without running its code (rule ABI-LOAD-01).
#pragma once

#include <vector>

#include "host/registry/elf_file.hpp"
#include "host/registry/plugin_ident.hpp"

namespace etb::host {

[[nodiscard]] Result<PluginIdent> read_elf_note(const ByteSource& source, const ElfFile& file);

}  // namespace etb::host
