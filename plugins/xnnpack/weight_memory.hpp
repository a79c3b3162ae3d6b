// SPDX-License-Identifier: Apache-2.0
// Memory for packed weights: pieces in sequence, so that a network uses a few large regions instead of a
// thousand small ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace etb::xnnpack {

// Page faults were most of the time to load a network. So pieces come in order from one region of addresses,
// touched many pages at a time. Large amounts use huge pages if the system has them ready. If it must build a
// huge page first, that takes twenty times as long. So each is timed, and after the first slow one pages have
// the usual size. [any] thread.
class WeightMemory {
 public:
  // CPU time of the calling thread, so that other load on the machine does not count.
  using CpuClock = uint64_t (*)();
  static uint64_t thread_cpu_ns();
  explicit WeightMemory(CpuClock cpu_ns = &thread_cpu_ns) : cpu_ns_(cpu_ns) {}

  // Returns zeroed memory at a multiple of 128 bytes with XNN_EXTRA_BYTES after it, or NULL if there is none.
  // The system gets the pages back with the last owner of the result, and the region with its last piece.
  std::shared_ptr<void> allocate(size_t nbytes);

  // Releases memory touched for future pieces. Call it if none are expected for a while.
  void trim();

 private:
  struct Region;
  std::byte* take(size_t wanted, std::shared_ptr<Region>& out_region, size_t& out_begin, size_t& out_end);

  const CpuClock cpu_ns_;
  std::mutex mutex_;
  std::weak_ptr<Region> region_;  // region of the next piece
};

}  // namespace etb::xnnpack
