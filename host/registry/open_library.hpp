// The library of a plugin: opened by file descriptor, and held against its manifest without running any of it. What is
// returned is the very file that is then loaded.
#pragma once

#include "host/registry/code_file.hpp"
#include "host/registry/plugin_entry.hpp"

namespace etb::host {

struct OpenLibrary {
  CodeFile code;
  PluginIdent ident;
};

// The ABI versions that a host speaks.
inline constexpr AbiRange kHostAbi{ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION};

// Why host and plugin do not understand each other, or nothing.
[[nodiscard]] Status verify_abi(const AbiRange& plugin, const AbiRange& host = kHostAbi);

// `folder` is the manifest's. Everything but the digest is verified. To look only, seal nothing.
[[nodiscard]] Result<OpenLibrary> open_library(int folder, const Manifest& manifest,
                                               const LibraryEntry& library, const TrustPolicy& trust,
                                               SealPolicy seal);

}  // namespace etb::host
