// SPDX-License-Identifier: Apache-2.0
// The constants of a payload, and copies of those that need padding or alignment.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "etb/cpp/payload.hpp"
#include "plugins/xnnpack/payload/payload.hpp"
#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// Bytes that the subgraphs of one payload point into. They stay at their address for the life of every runtime of the
// subgraphs: XNNPACK reads constants that it does not pack.
class Constants {
 public:
  // Returns the first `nbytes` of constant `index` of the payload. Errors if the constant has fewer.
  [[nodiscard]] Result<std::span<const std::byte>> find(const XnnPayload& payload, uint32_t index,
                                                        uint64_t nbytes, const NamedData& named_data);

  // Returns the copy that an earlier subgraph of the payload made of the first `nbytes` of a constant, or NULL.
  const void* find_copy(uint32_t index, uint64_t nbytes) const;

  // Bytes to copy, and the pointer to update. `index`: of the constant, for find_copy; 0: none.
  struct Move {
    std::span<const std::byte> bytes;
    const void** place;
    uint32_t index = 0;
  };
  // Copies bytes so that XNN_EXTRA_BYTES after them are readable, and updates the pointers. Thousands of
  // constants of a payload may overlap: no byte is copied more than 4 times, once for each alignment to an
  // element.
  void copy(std::vector<Move> moves);

  // Stores bytes of numbers of up to 8 bytes each. Equal contents share one copy.
  const void* keep(std::span<const std::byte> bytes);

  // Release named data that XNNPACK has packed and that is not copied here: the one at `address`, or all.
  void release(const void* address);
  void release_all();

  // Bytes of all copies.
  uint64_t copied_nbytes() const { return copied_nbytes_; }

 private:
  std::unordered_map<std::string, Payload> named_;
  std::unordered_map<const void*, const std::string*> name_of_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;
  std::map<std::pair<uint32_t, uint64_t>, const void*> copy_of_;  // by index and size of a constant
  std::unordered_set<std::string> kept_;
  uint64_t copied_nbytes_ = 0;
};

}  // namespace etb::xnnpack
