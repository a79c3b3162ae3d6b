// Reads a file that belongs to a plugin's manifest, with the same distrust as the library.
#pragma once

#include <string>

#include "host/registry/loaded_plugin.hpp"
#include "host/registry/plugin_entry.hpp"

namespace etb::host {

// All of the file, after its owner, its place beneath the manifest and its digest were checked. In secure mode a file without a
// digest is refused.
[[nodiscard]] Result<std::string> read_side_file(const PluginEntry& entry, const SideFile& file,
                                                 const LoadOptions& options, uint64_t max_nbytes);

}  // namespace etb::host
