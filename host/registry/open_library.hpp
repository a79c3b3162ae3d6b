// SPDX-License-Identifier: Apache-2.0
// Opens a plugin's library by file descriptor, and checks it against its manifest without running its code.
// The returned file is the one that is loaded later.
#pragma once

#include "host/registry/code_file.hpp"
#include "host/registry/plugin_entry.hpp"

namespace etb::host {

struct OpenLibrary {
  CodeFile code;
  PluginIdent ident;
};

// ABI versions that this host supports.
inline constexpr AbiRange kHostAbi{ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION};

// Returns an error when plugin and host have no ABI version in common.
[[nodiscard]] Status verify_abi(const AbiRange& plugin, const AbiRange& host = kHostAbi);

// `folder` is the manifest's. Verifies everything but the digest. Use SealPolicy::kNever for a
// file that is not loaded.
[[nodiscard]] Result<OpenLibrary> open_library(int folder, const Manifest& manifest,
                                               const LibraryEntry& library, const TrustPolicy& trust,
                                               SealPolicy seal);

}  // namespace etb::host
