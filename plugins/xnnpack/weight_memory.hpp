// Memory for packed weights: one piece after another, so that a network is a few large regions and not a thousand small ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace etb::xnnpack {

// Most of the time to load a network went into page faults. So memory is taken in order from one region of address space, touched many
// pages at a time, and lies in huge pages where the system has them at once and there is much of it. The system may have to make
// a huge page first, which takes twenty times as long; each is timed, and from the first slow one on pages have the usual size.
// [any] thread.
class WeightMemory {
 public:
  // CPU time of the calling thread: what others do on the machine does not count.
  using CpuClock = uint64_t (*)();
  static uint64_t thread_cpu_ns();
  explicit WeightMemory(CpuClock cpu_ns = &thread_cpu_ns) : cpu_ns_(cpu_ns) {}

  // Zeros, at a multiple of 128 bytes, with XNN_EXTRA_BYTES behind them; NULL when there is no memory. The pages go back to the system
  // when the last owner of the result goes, the region with its last piece.
  std::shared_ptr<void> allocate(size_t nbytes);

  // Gives back what was touched for pieces to come: for when there will be none for a while.
  void trim();

 private:
  struct Region;
  std::byte* take(size_t wanted, std::shared_ptr<Region>& out_region, size_t& out_begin, size_t& out_end);

  const CpuClock cpu_ns_;
  std::mutex mutex_;
  std::weak_ptr<Region> region_;  // where the next piece comes from
};

}  // namespace etb::xnnpack
