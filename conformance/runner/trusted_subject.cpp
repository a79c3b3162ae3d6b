#include "conformance/runner/trusted_subject.hpp"

#include <algorithm>

#include "host/registry/elf_dynamic.hpp"
#include "host/registry/open_library.hpp"

namespace etb::conformance {
namespace {

// Libraries that lie in the plugin's folder, and those that these need.
Status expect_trusted_bundle(int folder, const std::vector<std::string>& needed,
                             const host::TrustPolicy& policy, std::vector<std::string>& seen) {
  for (const std::string& name : needed) {
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    const Result<host::FileDescriptor> file = host::open_trusted_file(folder, name, policy);
    if (!file && file.error().code == Code::NOT_FOUND) continue;  // the system's
    if (!file) return tl::make_unexpected(file.error());
    ETB_ASSIGN(const host::FileState state, host::file_state(file->get()));
    const host::FileBytes bytes(file->get(), state.nbytes);
    ETB_ASSIGN(const host::ElfFile elf, host::read_elf(bytes));
    ETB_ASSIGN(const host::ElfDynamic dynamic, host::read_elf_dynamic(bytes, elf));
    ETB_TRY(expect_trusted_bundle(folder, dynamic.needed, policy, seen));
  }
  return {};
}

Status expect_trusted_files(const host::PluginEntry& entry, const host::TrustPolicy& policy) {
  ETB_ASSIGN(const host::FileDescriptor folder, host::open_trusted_directory(entry.directory, policy));
  ETB_ASSIGN(const host::OpenLibrary library,
             host::open_library(folder.get(), *entry.manifest, *entry.library, policy));
  std::vector<std::string> seen;
  return expect_trusted_bundle(library.folder.get(), library.dynamic.needed, policy, seen);
}

}  // namespace

Status expect_trusted(const SubjectSpec& spec) {
  if (spec.entry.static_query != nullptr || !spec.entry.manifest || !spec.entry.library) return {};
  const Status trusted = expect_trusted_files(spec.entry, spec.load_options.trust);
  if (!trusted)
    return tl::make_unexpected(with_context(trusted.error(), "'" + spec.entry.library_path + "'"));
  return {};
}

}  // namespace etb::conformance
