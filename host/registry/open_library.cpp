// SPDX-License-Identifier: Apache-2.0
#include "host/registry/open_library.hpp"

#include "host/registry/elf_note.hpp"

namespace etb::host {
namespace {

Status verify_same(const char* what, const std::string& note, const std::string& manifest) {
  if (note == manifest) return {};
  return refuse(Reason::kIdentManifest,
                std::string(what) + " '" + note + "' in the library, '" + manifest + "' in the manifest");
}

Status verify_ident(const PluginIdent& ident, const Manifest& manifest) {
  ETB_TRY(verify_same("id", ident.id, manifest.id));
  ETB_TRY(verify_same("version", ident.version, manifest.version));
  ETB_TRY(verify_same("abi", format_abi(ident.abi_min) + " to " + format_abi(ident.abi_max),
                      format_abi(manifest.abi.min) + " to " + format_abi(manifest.abi.max)));
  ETB_TRY(verify_same("profiles", std::to_string(ident.profiles), std::to_string(manifest.profiles)));
  if (ident.sanitizers != ETB_SANITIZERS_BUILT)
    return refuse(Reason::kSanitizer, "built with sanitizers: " + format_sanitizers(ident.sanitizers) +
                                          "; the host has: " + format_sanitizers(ETB_SANITIZERS_BUILT));
  return {};
}

}  // namespace

Status verify_abi(const AbiRange& plugin, const AbiRange& host) {
  if (plugin.min <= host.max && plugin.max >= host.min) return {};
  return refuse(Reason::kAbi, "speaks abi " + format_abi(plugin.min) + " to " + format_abi(plugin.max) +
                                  ", the host " + format_abi(host.min) + " to " + format_abi(host.max));
}

Result<OpenLibrary> open_library(int folder, const Manifest& manifest, const LibraryEntry& library,
                                 const TrustPolicy& trust, SealPolicy seal) {
  OpenLibrary out;
  ETB_ASSIGN(out.code, open_code_file(folder, library.path, trust, seal));
  if (library.nbytes && *library.nbytes != out.code.nbytes)
    return refuse(Reason::kLibrarySize, library.path + ": " + std::to_string(out.code.nbytes) +
                                            " bytes, the manifest declares " +
                                            std::to_string(*library.nbytes));
  if (out.code.elf.arch != normalise_arch(library.arch))
    return refuse(Reason::kLibraryArch,
                  library.path + ": for " + out.code.elf.arch + ", the manifest declares " + library.arch);
  Result<PluginIdent> ident = read_elf_note(out.code.bytes(), out.code.elf);
  if (!ident) return refuse(Reason::kNote, library.path + ": " + ident.error().message);
  out.ident = std::move(*ident);
  ETB_TRY(verify_ident(out.ident, manifest));
  ETB_TRY(read_code_dynamic(out.code));
  if (!out.code.dynamic.has_query)
    return refuse(Reason::kLibrarySymbol, library.path + ": does not export " ETB_PLUGIN_QUERY_SYMBOL);
  return out;
}

}  // namespace etb::host
