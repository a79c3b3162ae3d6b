// The library of a plugin: opened by file descriptor, and held against its manifest without running any of it. What is
// returned is the very file that is then loaded.
#pragma once

#include <optional>

#include "host/registry/elf_dynamic.hpp"
#include "host/registry/plugin_entry.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

struct OpenLibrary {
  FileDescriptor folder;  // that holds the library; its bundled dependencies are opened from here
  FileDescriptor file;
  FileState state;
  PluginIdent ident;
  ElfDynamic dynamic;
};

// The ABI versions that a host speaks.
inline constexpr AbiRange kHostAbi{ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION};

// Why host and plugin do not understand each other, or nothing.
[[nodiscard]] Status verify_abi(const AbiRange& plugin, const AbiRange& host = kHostAbi);

// `folder` is the manifest's. Everything but the digest is verified.
[[nodiscard]] Result<OpenLibrary> open_library(int folder, const Manifest& manifest,
                                               const LibraryEntry& library, const TrustPolicy& policy);

// Refuses a library (`name` in messages) that lets the dynamic loader open others by path, or search for them anywhere but
// beside itself and in folders that `policy` trusts.
[[nodiscard]] Status verify_library_search(const ElfDynamic& dynamic, const std::string& name,
                                           const TrustPolicy& policy);

// Compares the file with the digest; matches when the entry names none.
[[nodiscard]] Status verify_digest(const LibraryEntry& library, const FileDescriptor& file);
[[nodiscard]] Status verify_digest(const std::string& name, const std::optional<Sha256>& expected,
                                   const FileDescriptor& file);

}  // namespace etb::host
