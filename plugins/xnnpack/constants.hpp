// The constants of a payload: where they lie, and copies of those that must lie elsewhere.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/format/xnnpack_payload.hpp"
#include "etb/cpp/payload.hpp"
#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// The bytes that a subgraph points into. They stay where they are for the life of every runtime made from it: XNNPACK reads
// constants that it does not pack.
class Constants {
 public:
  // The first `nbytes` of constant `index` of the payload, which must have as many.
  [[nodiscard]] Result<std::span<const std::byte>> find(const format::XnnPayload& payload, uint32_t index,
                                                        uint64_t nbytes, const NamedData& named_data);

  // Bytes that are wanted elsewhere, and who points to them.
  struct Move {
    std::span<const std::byte> bytes;
    const void** place;
  };
  // Copies bytes so that XNN_EXTRA_BYTES behind them can be read, and lets the places point to the copies. Constants of one payload may
  // overlap, even a thousand of them: no byte is copied more than 4 times, once for each way it can lie to an element.
  void copy(std::vector<Move> moves);

  // Bytes for numbers of up to 8 bytes each; the same for the same content.
  const void* keep(std::span<const std::byte> bytes);

  // Give named data back that XNNPACK has packed and that is not copied here: what begins at an address, or all.
  void release(const void* address);
  void release_all();

  // Of all copies.
  uint64_t copied_nbytes() const { return copied_nbytes_; }

 private:
  std::unordered_map<std::string, Payload> named_;
  std::unordered_map<const void*, const std::string*> name_of_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;
  std::unordered_set<std::string> kept_;
  uint64_t copied_nbytes_ = 0;
};

}  // namespace etb::xnnpack
