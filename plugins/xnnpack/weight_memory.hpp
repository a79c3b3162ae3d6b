// Memory for packed weights: one piece after another, so that a network is a few large regions and not a thousand small ones.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

namespace etb::xnnpack {

// Most of the time to load a network went into page faults. So memory is taken in order from one region of address space, touched many
// pages at a time, and lies in huge pages where the system has them and there is much of it.
// [any] thread.
class WeightMemory {
 public:
  // Zeros, at a multiple of 128 bytes, with XNN_EXTRA_BYTES behind them; NULL when there is no memory. The pages go back to the system
  // when the last owner of the result goes, the region with its last piece.
  std::shared_ptr<void> allocate(size_t nbytes);

  // Gives back what was touched for pieces to come: for when there will be none for a while.
  void trim();

 private:
  struct Region;

  std::mutex mutex_;
  std::weak_ptr<Region> region_;  // where the next piece comes from
};

}  // namespace etb::xnnpack
