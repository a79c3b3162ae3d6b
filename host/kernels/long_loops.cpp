// SPDX-License-Identifier: Apache-2.0
#include "host/kernels/long_loops.hpp"

#include <cstring>

namespace etb::host {
namespace {

// Some milliseconds of work, page faults included, and still large enough for the C library's fastest copy.
constexpr uint64_t kPieceNbytes = uint64_t{4} << 20;

uint64_t piece_of(const KernelContext& context, uint64_t nbytes) {
  return context.stop_check().is_watching() ? std::min(nbytes, kPieceNbytes) : nbytes;
}

// Makes the clock be read once a whole piece.
int64_t work_of(uint64_t nbytes) {
  return 1 + static_cast<int64_t>(nbytes / (kPieceNbytes / static_cast<uint64_t>(StopCheck::kPeriod)));
}

}  // namespace

etb_status clear_bytes(KernelContext& context, void* to, uint64_t nbytes) noexcept {
  const uint64_t piece = piece_of(context, nbytes);
  for (uint64_t done = 0; done < nbytes; done += piece) {
    const uint64_t length = std::min(piece, nbytes - done);
    if (context.should_stop(work_of(length))) return context.stopped();
    std::memset(static_cast<char*>(to) + done, 0, length);
  }
  return ETB_OK;
}

etb_status move_bytes(KernelContext& context, void* to, const void* from, uint64_t nbytes) noexcept {
  if (nbytes == 0 || to == from) return ETB_OK;
  const uint64_t piece = piece_of(context, nbytes);
  // Towards higher addresses from the back, so that no piece is overwritten before it is read.
  const bool is_upwards = reinterpret_cast<uintptr_t>(to) > reinterpret_cast<uintptr_t>(from);
  for (uint64_t done = 0; done < nbytes; done += piece) {
    const uint64_t length = std::min(piece, nbytes - done);
    if (context.should_stop(work_of(length))) return context.stopped();
    const uint64_t at = is_upwards ? nbytes - done - length : done;
    std::memmove(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, length);
  }
  return ETB_OK;
}

}  // namespace etb::host
