// SPDX-License-Identifier: Apache-2.0
// Sees blocks that a plugin's library allocates with the C library or with `new`.
#pragma once

#include <cstddef>

#include "conformance/subject/import_patch.hpp"

namespace etb::conformance {

// Redirects the library's own calls, not those of the libraries that it needs. One at a time.
class HeapWatch {
 public:
  // `symbol`: an address inside of the library. `least_bytes`: smaller blocks do not count.
  HeapWatch(const void* symbol, size_t least_bytes);
  ~HeapWatch();
  HeapWatch(const HeapWatch&) = delete;
  HeapWatch& operator=(const HeapWatch&) = delete;

  // Bytes of the largest block since the watch began, or since the last call; 0 if there was none.
  size_t take_largest();

 private:
  ImportPatch patch_;
};

}  // namespace etb::conformance
