#include "host/registry/load_code.hpp"

#include "host/registry/needed_libraries.hpp"
#include "host/registry/reason.hpp"

namespace etb::host {

CodePolicy make_code_policy(bool secure) {
  CodePolicy out;
  out.secure = secure || is_process_secure();
  out.trust.root_only = out.secure;
  return out;
}

Result<LoadedCode> load_code(CodeFile file, const CodePolicy& policy, const ExpectedDigests& digests) {
  if (policy.secure && !digests.library)
    return refuse(Reason::kNoDigest, file.source.name + ": secure mode loads only code with a sha256");
  ETB_TRY(verify_digest(file.source.name, digests.library, file.bytes()));
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
