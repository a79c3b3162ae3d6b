#include "host/registry/open_library.hpp"

#include <fcntl.h>

#include <algorithm>

#include "api/format/hex.hpp"
#include "host/registry/digest.hpp"
#include "host/registry/elf_note.hpp"

namespace etb::host {
namespace {

Reason reason_of(Code code) {
  switch (code) {
    case Code::NOT_FOUND:
      return Reason::kLibraryMissing;
    case Code::PERMISSION_DENIED:
      return Reason::kLibraryUntrusted;
    default:
      return Reason::kLibraryUnreadable;
  }
}

// The folder of a path beneath `folder`, opened as the file itself will be: without following links.
Result<FileDescriptor> open_folder_of(int folder, const std::string& path) {
  FileDescriptor at(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  size_t begin = 0;
  for (size_t end = path.find('/'); at && end != std::string::npos;
       begin = end + 1, end = path.find('/', begin))
    at = FileDescriptor(::openat(at.get(), path.substr(begin, end - begin).c_str(),
                                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!at) return refuse(Reason::kLibraryUnreadable, path + ": its folder cannot be opened");
  return at;
}

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
                                 const TrustPolicy& policy) {
  OpenLibrary out;
  Result<FileDescriptor> file = open_trusted_file(folder, library.path, policy);
  if (!file) return refuse(reason_of(file.error().code), file.error().message);
  out.file = std::move(*file);
  ETB_ASSIGN(out.folder, open_folder_of(folder, library.path));
  ETB_ASSIGN(out.state, file_state(out.file.get()));
  if (library.nbytes && *library.nbytes != out.state.nbytes)
    return refuse(Reason::kLibrarySize, library.path + ": " + std::to_string(out.state.nbytes) +
                                            " bytes, the manifest says " + std::to_string(*library.nbytes));
  const FileBytes bytes(out.file.get(), out.state.nbytes);
  const Result<ElfFile> elf = read_elf(bytes);
  if (!elf) return refuse(Reason::kLibraryFormat, library.path + ": " + elf.error().message);
  if (elf->arch != normalise_arch(library.arch))
    return refuse(Reason::kLibraryArch,
                  library.path + ": for " + elf->arch + ", the manifest says " + library.arch);
  Result<PluginIdent> ident = read_elf_note(bytes, *elf);
  if (!ident) return refuse(Reason::kNote, library.path + ": " + ident.error().message);
  out.ident = std::move(*ident);
  ETB_TRY(verify_ident(out.ident, manifest));
  Result<ElfDynamic> dynamic = read_elf_dynamic(bytes, *elf);
  if (!dynamic) return refuse(Reason::kLibraryFormat, library.path + ": " + dynamic.error().message);
  out.dynamic = std::move(*dynamic);
  ETB_TRY(verify_library_search(out.dynamic, library.path, policy));
  if (!out.dynamic.has_query)
    return refuse(Reason::kLibrarySymbol, library.path + ": does not export " ETB_PLUGIN_QUERY_SYMBOL);
  return out;
}

namespace {

// What is wrong with a folder that the loader would search, or "".
std::string fault_of_run_path(const std::string& path, const TrustPolicy& policy) {
  if (path.rfind("$ORIGIN", 0) == 0 || path.rfind("${ORIGIN}", 0) == 0) return "";
  if (path.empty() || path[0] != '/')
    return "'" + path + "' depends on the current folder, expected $ORIGIN or an absolute path";
  const Result<FileDescriptor> folder = open_trusted_directory(path, policy);
  return folder || folder.error().code == Code::NOT_FOUND ? "" : folder.error().message;
}

}  // namespace

Status verify_library_search(const ElfDynamic& dynamic, const std::string& name, const TrustPolicy& policy) {
  const auto named =
      std::find_if(dynamic.needed.begin(), dynamic.needed.end(),
                   [](const std::string& needed) { return needed.find('/') != std::string::npos; });
  if (named != dynamic.needed.end())
    return refuse(Reason::kLibrarySearch, name + ": needs '" + *named + "', expected a name without a path");
  for (const std::string& path : dynamic.run_paths)
    if (const std::string fault = fault_of_run_path(path, policy); !fault.empty())
      return refuse(Reason::kLibrarySearch, std::string(name).append(": run path ").append(fault));
  return {};
}

Status verify_digest(const LibraryEntry& library, const FileDescriptor& file) {
  return verify_digest(library.path, library.sha256, file);
}

Status verify_digest(const std::string& name, const std::optional<Sha256>& expected,
                     const FileDescriptor& file) {
  if (!expected) return {};
  ETB_ASSIGN(const FileState state, file_state(file.get()));
  ETB_ASSIGN(const Sha256 digest, sha256_of(FileBytes(file.get(), state.nbytes)));
  if (digest == *expected) return {};
  return refuse(Reason::kLibraryDigest, name + ": sha256 " + format::to_hex(digest) + ", the manifest says " +
                                            format::to_hex(*expected));
}

}  // namespace etb::host
