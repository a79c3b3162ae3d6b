// SPDX-License-Identifier: Apache-2.0
// Sees which variables of the environment a plugin's library reads.
#pragma once

#include <string>
#include <vector>

namespace etb::conformance {

// Redirects the library's own calls of getenv and secure_getenv, not those of the libraries that it needs. One at a time.
class EnvironmentWatch {
 public:
  // `symbol`: an address inside of the library. On other systems than 64-bit Linux nothing is watched.
  explicit EnvironmentWatch(const void* symbol);
  ~EnvironmentWatch();
  EnvironmentWatch(const EnvironmentWatch&) = delete;
  EnvironmentWatch& operator=(const EnvironmentWatch&) = delete;

  // Returns the variables that were read, in order of the reads.
  std::vector<std::string> names() const;

 private:
  struct Slot {
    void** address = nullptr;
    void* function = nullptr;
  };
  std::vector<Slot> slots_;
};

}  // namespace etb::conformance
