// SPDX-License-Identifier: Apache-2.0
#include "host/registry/load_code.hpp"

#include "host/registry/digest_records.hpp"
#include "host/registry/needed_libraries.hpp"
#include "host/registry/reason.hpp"

namespace etb::host {

CodePolicy make_code_policy(bool secure) {
  CodePolicy out;
  out.secure = secure || is_process_secure();
  out.trust.root_only = out.secure;
  return out;
}

Status verify_code_digest(const std::string& name, const CodeFile& file,
                          const std::optional<Sha256>& expected, const CodePolicy& policy) {
  if (!expected) return {};
  const bool has_records = !policy.secure && !file.source.is_sealed;
  const DigestRecords records(has_records ? policy.digest_records : "", policy.trust);
  ETB_ASSIGN(const Sha256 digest, records.digest_of(file.bytes()));
  return compare_digests(name, digest, *expected);
}

Result<LoadedCode> load_code(CodeFile file, const CodePolicy& policy, const ExpectedDigests& digests) {
  if (policy.secure && !digests.library)
    return refuse(Reason::kNoDigest, file.source.name + ": secure mode loads only code with a sha256");
  ETB_TRY(verify_code_digest(file.source.name, file, digests.library, policy));
  // No other library of ours may come or go between what is found out about the process and the load.
  const auto locked = Library::lock();
  NeededLibraries needed(file, policy, digests);
  ETB_TRY(needed.bind());
  ETB_ASSIGN(Library library, Library::load(std::move(file.file), file.source));
  return LoadedCode{needed.take_bundled(), std::move(library)};
}

void LoadedCode::keep() noexcept {
  for (Library& one : bundled) one.keep();
  library.keep();
}

}  // namespace etb::host
