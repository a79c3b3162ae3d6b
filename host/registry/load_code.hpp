// SPDX-License-Identifier: Apache-2.0
// Loads code into this process: the only way for plugins, layers, kernel libraries and their bundled
// libraries.
//
// The caller opened the file with open_code_file() and checked it with read_code_dynamic().
// load_code() compares its digest. It then finds all libraries that it needs, also indirectly, beside
// the file or in the system's own folders, and loads them first. So the dynamic loader finds each by
// its SONAME and searches nothing.
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

// Returns the policy of this process: secure when it has more rights than its caller, or when the
// application asks for it.
CodePolicy make_code_policy(bool secure);

struct ExpectedDigests {
  std::optional<Sha256> library;
  // Returns the digest of a library beside the code. Not set: there are none.
  std::function<std::optional<Sha256>(const std::string& name)> bundled = {};
};

struct LoadedCode {
  std::vector<Library> bundled;  // in order of life: they outlive the libraries that need them
  Library library;

  // Keeps all of it mapped until the process ends.
  void keep() noexcept;
};

// Compares the digest of a file that is about to be loaded with the expected one; matches when there is none. `name` is for the
// message.
[[nodiscard]] Status verify_code_digest(const std::string& name, const CodeFile& file,
                                        const std::optional<Sha256>& expected, const CodePolicy& policy);

[[nodiscard]] Result<LoadedCode> load_code(CodeFile file, const CodePolicy& policy,
                                           const ExpectedDigests& digests);

}  // namespace etb::host
