// SPDX-License-Identifier: Apache-2.0
// Sees which variables of the environment a plugin's library reads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/subject/import_patch.hpp"
#include "host/layers/validate/fault_watch.hpp"

namespace etb::conformance {

// Redirects the library's own calls of getenv and secure_getenv and its uses of `environ`, not those of the libraries that
// it needs. One at a time.
class EnvironmentWatch {
 public:
  // `symbol`: an address inside of the library. On other systems than 64-bit Linux nothing is watched.
  explicit EnvironmentWatch(const void* symbol);
  EnvironmentWatch(const EnvironmentWatch&) = delete;
  EnvironmentWatch& operator=(const EnvironmentWatch&) = delete;

  // Returns the variables that were read, in order of the reads.
  std::vector<std::string> names();
  // Ends the watch of `environ`. Returns true if the library went through it since the constructor. The library must not use
  // `environ` after a call of setenv in the time of this watch, which moves the variables: it has a copy of the pointer.
  bool end_watch_of_environ();

 private:
  host::validate::WatchedPages page_;  // a copy of `environ`
  std::unique_ptr<ImportPatch> functions_;
  std::unique_ptr<ImportPatch> environ_;  // null after its end
};

}  // namespace etb::conformance
