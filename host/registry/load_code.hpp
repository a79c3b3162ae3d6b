// Loads code into this process: the one way for plugins, layers, kernel libraries and what these bring along.
//
// The caller opened the file with open_code_file() and judged it with read_code_dynamic(). Here its digest is compared and every
// library that it needs, and they need, is found by us and brought into the process first: beside the file, else in the
// system's own folders. The dynamic loader then finds each by its SONAME and searches nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/registry/code_file.hpp"
#include "host/registry/digest.hpp"
#include "host/registry/library.hpp"

namespace etb::host {

struct CodePolicy {
  TrustPolicy trust;
  SealPolicy seal = SealPolicy::kForeignFilesystems;
  bool secure = false;  // refuses code without a digest
  std::string
      digest_records;  // folder of DigestRecords; "": every digest is computed. Not read in secure mode
};

// The policy of this process: secure when it runs with more rights than its caller, or when the application asks for it.
CodePolicy make_code_policy(bool secure);

struct ExpectedDigests {
  std::optional<Sha256> library;
  // Returns the digest of a library that lies beside it; not set: there are none.
  std::function<std::optional<Sha256>(const std::string& name)> bundled = {};
};

struct LoadedCode {
  std::vector<Library> bundled;  // in order of life: they outlive what needs them
  Library library;

  // From now on all of it stays until the process ends.
  void keep() noexcept;
};

// Compares the digest of a file that is about to be loaded with the expected one; matches when there is none. `name` is for the
// message.
[[nodiscard]] Status verify_code_digest(const std::string& name, const CodeFile& file,
                                        const std::optional<Sha256>& expected, const CodePolicy& policy);

[[nodiscard]] Result<LoadedCode> load_code(CodeFile file, const CodePolicy& policy,
                                           const ExpectedDigests& digests);

}  // namespace etb::host
