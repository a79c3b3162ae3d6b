// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/trusted_subject.hpp"

#include <algorithm>

#include "host/registry/open_library.hpp"

namespace etb::conformance {
namespace {

// Checks libraries in the plugin's folder, and those that these need.
Status expect_trusted_bundle(int folder, const std::vector<std::string>& needed,
                             const host::TrustPolicy& policy, std::vector<std::string>& seen) {
  for (const std::string& name : needed) {
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    Result<host::CodeFile> file = host::open_code_file(folder, name, policy, host::SealPolicy::kNever);
    if (!file && file.error().code == Code::NOT_FOUND) continue;  // the system's
    if (!file) return tl::make_unexpected(file.error());
    ETB_TRY(host::read_code_dynamic(*file));
    ETB_TRY(expect_trusted_bundle(folder, file->dynamic.needed, policy, seen));
  }
  return {};
}

Status expect_trusted_files(const host::PluginEntry& entry, const host::TrustPolicy& policy) {
  ETB_ASSIGN(const host::FileDescriptor folder, host::open_trusted_directory(entry.directory, policy));
  ETB_ASSIGN(
      const host::OpenLibrary library,
      host::open_library(folder.get(), *entry.manifest, *entry.library, policy, host::SealPolicy::kNever));
  std::vector<std::string> seen;
  return expect_trusted_bundle(library.code.folder.get(), library.code.dynamic.needed, policy, seen);
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
