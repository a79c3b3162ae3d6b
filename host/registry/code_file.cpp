// SPDX-License-Identifier: Apache-2.0
#include "host/registry/code_file.hpp"

#include <algorithm>

#include "host/registry/diagnostic.hpp"
#include "host/registry/reason.hpp"

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

bool must_seal(int fd, SealPolicy policy) {
  return policy == SealPolicy::kAlways ||
         (policy == SealPolicy::kForeignFilesystems && is_on_foreign_filesystem(fd));
}

// True for a name that the loader resolves only to a file of that name: it expands "$" and opens
// names with a "/" as paths.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && is_printable(name) &&
         name.find_first_of("/$:") == std::string::npos;
}

}  // namespace

Result<CodeFile> open_code_file(int folder, const std::string& path, const TrustPolicy& trust,
                                SealPolicy seal) {
  CodeFile out;
  Result<FileInFolder> found = open_trusted_file_and_folder(folder, path, trust);
  if (!found) return refuse(reason_of(found.error().code), found.error().message);
  out.folder = std::move(found->folder);
  out.file = std::move(found->file);
  out.source.name = path;
  ETB_ASSIGN(out.source.state, file_state(out.file.get()));
  out.nbytes = out.source.state.nbytes;
  if (must_seal(out.file.get(), seal)) {
    // Seals before anything is read, so that the checked bytes can no longer change.
    ETB_ASSIGN(out.file, seal_copy(out.file.get()));
    out.source.is_sealed = true;
    ETB_ASSIGN(const FileState copy, file_state(out.file.get()));
    out.nbytes = copy.nbytes;
  }
  Result<ElfFile> elf = read_elf(out.bytes());
  if (!elf) return refuse(Reason::kLibraryFormat, path + ": " + elf.error().message);
  out.elf = std::move(*elf);
  return out;
}

Status read_code_dynamic(CodeFile& file) {
  Result<ElfDynamic> dynamic = read_elf_dynamic(file.bytes(), file.elf);
  if (!dynamic) return refuse(Reason::kLibraryFormat, file.source.name + ": " + dynamic.error().message);
  file.dynamic = std::move(*dynamic);
  ETB_TRY(verify_library_search(file.dynamic, file.source.name));
  return verify_soname(file.dynamic, file.source.name);
}

Status verify_needed_names(const ElfDynamic& dynamic, const std::string& name) {
  if (!dynamic.filters.empty())
    return refuse(Reason::kLibraryFilter, name + ": has " + made_printable(dynamic.filters[0]) +
                                              ", expected DT_NEEDED for every library that it uses");
  for (const std::string& needed : dynamic.needed)
    if (!is_plain_name(needed))
      return refuse(Reason::kLibrarySearch,
                    name + ": needs " + in_quotes(needed) + ", expected a name without a path");
  return {};
}

Status verify_library_search(const ElfDynamic& dynamic, const std::string& name) {
  ETB_TRY(verify_needed_names(dynamic, name));
  for (const std::string& path : dynamic.run_paths)
    if (path != "$ORIGIN")
      return refuse(Reason::kLibrarySearch,
                    name + ": run path " + in_quotes(path) + ", expected $ORIGIN alone or none");
  return {};
}

Status verify_soname(const ElfDynamic& dynamic, const std::string& path) {
  const std::string file_name = path.substr(path.rfind('/') + 1);
  if (dynamic.soname.empty() || dynamic.soname == file_name) return {};
  return refuse(Reason::kLibrarySoname, path + ": SONAME " + in_quotes(dynamic.soname) + ", expected '" +
                                            file_name + "', the name of the file, or none");
}

}  // namespace etb::host
