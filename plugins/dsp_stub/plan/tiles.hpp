// SPDX-License-Identifier: Apache-2.0
// Tiles: the parts of a layer that one compute command makes, and the TCM that they need.
#pragma once

#include <optional>

#include "plugins/dsp_stub/plan/network.hpp"

namespace etb::dsp_stub {

inline constexpr uint32_t kTcmAlignment = 16;
inline uint64_t aligned(uint64_t nbytes) {
  return (nbytes + kTcmAlignment - 1) / kTcmAlignment * kTcmAlignment;
}

// Slots of the working area of one layer. A slot with two halves is double-buffered.
struct Slot {
  uint64_t nbytes = 0;  // of one half, 0: not used
  uint32_t halves = 0;
  uint64_t total() const { return aligned(nbytes) * halves; }
};

struct Tiles {
  uint32_t rows = 1;      // of a window layer's output, or of softmax
  uint32_t channels = 1;  // of a convolution's output
  uint64_t count = 1;     // elements of kBinary and kTable
  Slot tables, weights, input, second, output;
  uint64_t work_bytes() const {
    return tables.total() + weights.total() + input.total() + second.total() + output.total();
  }
};

// Rows of the input that output rows [first, first + count) read: never empty. Taps outside are padding.
struct RowSpan {
  uint32_t first, count;
  int32_t padding;  // of the first output row, relative to `first`
};
RowSpan input_rows(const Window& window, uint32_t first_out, uint32_t out_count);

// Returns the tiles with the least traffic in `budget` bytes; none: not even the smallest fit.
std::optional<Tiles> choose_tiles(const Network& network, const Layer& layer, uint64_t budget);

// True if layers may use the buffer where it is, without a copy.
inline bool is_in_tcm(const Network& network, uint32_t buffer) {
  return buffer != kNoBuffer && network.buffers[buffer].kind == Buffer::Kind::kInner &&
         network.buffers[buffer].is_resident;
}

}  // namespace etb::dsp_stub
