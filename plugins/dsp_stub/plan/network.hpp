// SPDX-License-Identifier: Apache-2.0
// A network of the DSP's layers over buffers of bytes, before memory and tiles are planned. Sizes are those of
// the storage, outermost first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugins/dsp_stub/payload.hpp"

namespace etb::dsp_stub {

inline constexpr uint32_t kNoBuffer = UINT32_MAX;

// Bytes that layers read and write.
struct Buffer {
  enum class Kind { kInner, kInput, kOutput, kConstant };
  Kind kind = Kind::kInner;
  uint64_t nbytes = 0;
  uint32_t width = 1;  // bytes of a code
  uint32_t index = 0;  // of an input or output; offset of a constant
  // Chosen by the memory plan, for inner buffers: in the TCM for all its life, or in the arena.
  bool is_resident = false;
  uint32_t offset = 0;
  uint32_t first_layer = UINT32_MAX, last_layer = 0;
};

// One dimension of a strided copy, in bytes.
struct CopyDim {
  uint32_t extent, from_stride, to_stride;
};

// A copy into the layer's output: from a buffer, or of one byte.
struct Copy {
  uint32_t from = kNoBuffer;
  uint8_t fill = 0;
  uint64_t from_offset = 0, to_offset = 0;
  std::vector<CopyDim> dims = {};
};

// A range of the constants.
struct ConstantRange {
  uint32_t offset = 0, nbytes = 0;
};

// Sliding windows over [batch, H, W, C]; linear layers are convolutions of one tap over H rows.
struct Window {
  uint32_t batch = 1, in_h = 1, in_w = 1, in_c = 1, out_h = 1, out_w = 1, out_c = 1;
  uint32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int32_t top = 0, left = 0;
  uint32_t group_in = 1, group_out = 1;
  bool is_transposed = false;
};

struct Layer {
  enum class Kind { kCopy, kConv, kPool, kBinary, kTable, kSoftmax, kGather };
  Kind kind = Kind::kCopy;
  uint32_t op = 0;                                          // DSP_POOL_* or DSP_BINARY_*
  std::array<uint32_t, 2> inputs = {kNoBuffer, kNoBuffer};  // kBinary with one: both operands
  uint32_t output = kNoBuffer;
  Window window = {};              // kConv, kPool, kGather
  uint64_t count = 0;              // elements of kBinary and kTable
  uint32_t rows = 0, columns = 0;  // kSoftmax
  std::array<int32_t, 2> in_zeros = {0, 0};
  int32_t out_zero = 0, low = -128, high = 127;
  std::array<int32_t, 2> multipliers = {0, 0};
  uint32_t shift = 1;
  uint32_t fraction = 0;       // kTable of int16 codes
  uint32_t weight_width = 1;   // bytes of a weight's code
  ConstantRange weights = {};  // kConv
  ConstantRange tables = {};   // channels of kConv; table of kTable, kSoftmax, kGather, kPool
  std::vector<Copy> copies = {};
  std::vector<uint32_t> handles = {};  // debug handles of the graph's nodes
};

struct Network {
  std::vector<Buffer> buffers = {};
  std::vector<Layer> layers = {};
  std::vector<IoTensor> inputs = {}, outputs = {};
  std::vector<std::byte> constants = {};

  uint32_t width(uint32_t buffer) const { return buffer == kNoBuffer ? 1 : buffers[buffer].width; }
  // The oldest version of payloads that has what the network needs, apart from layers.
  uint32_t payload_version() const {
    const bool is_wide =
        std::any_of(buffers.begin(), buffers.end(), [](const Buffer& b) { return b.width != 1; });
    const bool is_new = std::any_of(layers.begin(), layers.end(), [](const Layer& l) {
      return l.weight_width != 1 || (l.kind == Layer::Kind::kPool && l.op == DSP_POOL_AVERAGE_OF_CODES);
    });
    return is_wide || is_new ? kWidePayloadVersion : kOldestPayloadVersion;
  }
};

}  // namespace etb::dsp_stub
