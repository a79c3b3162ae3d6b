// SPDX-License-Identifier: Apache-2.0
// Loops over much memory, cut where the run may have to stop. Where nothing watches the run they are one piece.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/runtime/kernel_context.hpp"

namespace etb::host {

// Calls visit(begin, length) for consecutive pieces of [0, count). Returns why the run has to stop, else ETB_OK.
template <class Visit>
etb_status for_each_piece(KernelContext& context, int64_t count, Visit visit) {
  const int64_t piece = context.piece_of(count);
  for (int64_t begin = 0; begin < count; begin += piece) {
    const int64_t length = std::min(piece, count - begin);
    if (context.should_stop(length)) return context.stopped();
    visit(begin, length);
  }
  return ETB_OK;
}

// memset to zero and memmove.
etb_status clear_bytes(KernelContext& context, void* to, uint64_t nbytes) noexcept;
etb_status move_bytes(KernelContext& context, void* to, const void* from, uint64_t nbytes) noexcept;

}  // namespace etb::host
