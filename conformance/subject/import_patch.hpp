// SPDX-License-Identifier: Apache-2.0
// Replaces functions and variables that a library imports, in this library only.
#pragma once

#include <span>
#include <vector>

namespace etb::conformance {

// An imported symbol, and what the library uses in its place.
struct Import {
  const char* name;
  void* replacement;
};

// The replacements hold while the object lives. Libraries that the library needs are not changed.
class ImportPatch {
 public:
  // `symbol`: an address inside of the library. On other systems than 64-bit Linux nothing is replaced.
  ImportPatch(const void* symbol, std::span<const Import> imports);
  ~ImportPatch();
  ImportPatch(const ImportPatch&) = delete;
  ImportPatch& operator=(const ImportPatch&) = delete;

  bool has_any() const { return !slots_.empty(); }

 private:
  struct Slot {
    void** address = nullptr;
    void* value = nullptr;
  };
  std::vector<Slot> slots_;
};

}  // namespace etb::conformance
