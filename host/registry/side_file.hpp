// SPDX-License-Identifier: Apache-2.0
// Reads a file that belongs to a plugin's manifest, with the same checks as the library.
#pragma once

#include <string>

#include "host/registry/loaded_plugin.hpp"
#include "host/registry/plugin_entry.hpp"

namespace etb::host {

// Returns the whole file, after checks of its owner, its path beneath the manifest and its digest. Secure
// mode rejects a file without a digest.
[[nodiscard]] Result<std::string> read_side_file(const PluginEntry& entry, const SideFile& file,
                                                 const LoadOptions& options, uint64_t max_nbytes);

}  // namespace etb::host
