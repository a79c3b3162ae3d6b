// SPDX-License-Identifier: Apache-2.0
// NeededLibraries: loads the libraries that code needs before the code itself, so that the loader finds each
// by its SONAME. Bundled libraries are loaded through descriptors, those of the system by absolute paths.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/registry/load_code.hpp"
#include "host/registry/system_library.hpp"

namespace etb::host {

class NeededLibraries {
 public:
  // All arguments outlive this object. Call under Library::lock() and hold the lock until the code is loaded.
  NeededLibraries(const CodeFile& code, const CodePolicy& policy, const ExpectedDigests& digests)
      : code_(code), policy_(policy), digests_(digests) {}

  // Fails when a library is not found, not trusted, or not the one that the loader would choose.
  [[nodiscard]] Status bind();

  // Returns the bundled libraries. The others stay in the process as long as a library needs them.
  std::vector<Library> take_bundled() { return std::move(bundled_); }

 private:
  enum class Origin { kPending, kBundle, kSystem };
  // A library whose needed libraries are being loaded.
  struct Requester {
    std::string name;
    const std::vector<std::string>& needed;
    bool is_system = false;
    std::vector<std::string> run_path = {};  // folders that a library of the system adds
    int depth = 0;
  };

  Status bind_all(const Requester& from);
  Status bind_one(const std::string& name, const Requester& from);
  Status bind_bundled(const std::string& name, CodeFile file, const Requester& from);
  Status verify_content(const std::string& name, CodeFile& file) const;
  Result<Library> share(const std::string& name, const CodeFile& file, const ProcessObject& object) const;
  Status bind_system(const std::string& name, const Requester& from);
  Status load_system(const std::string& name, const Requester& from);
  static Status verify_choice(const std::string& name, const void* dynamic);

  const CodeFile& code_;
  const CodePolicy& policy_;
  const ExpectedDigests& digests_;
  std::map<std::string, Origin> origins_;  // origins of every name seen so far
  std::vector<Library> bundled_;
  std::vector<Library> system_;  // held until the code is loaded
};

}  // namespace etb::host
