// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/context_memory.hpp"

#include <xnnpack.h>

#include <algorithm>

namespace etb::xnnpack {

namespace {

// Kernels compute up to so many pixels, or columns of a product, at once. Tables and packed factors end with whole tiles.
constexpr uint64_t kMostTile = 64;
// Objects of XNNPACK for a node and for a value. About twice of what the release of November 2024 has.
constexpr uint64_t kNodeBytes = 4096, kValueBytes = 512;

uint64_t element_bytes(XnnDatatype datatype) {
  switch (datatype) {
    case XnnDatatype::kFloat16:
    case XnnDatatype::kBfloat16:
      return 2;
    case XnnDatatype::kQint8:
    case XnnDatatype::kQuint8:
    case XnnDatatype::kQdint8:
    case XnnDatatype::kQpint8:
      return 1;
    default:
      return 4;
  }
}

uint64_t numel(const XnnValue& value) {
  uint64_t all = 1;
  for (const uint32_t size : value.sizes) all *= size;
  return all;
}

uint64_t round_up(uint64_t number, uint64_t unit) { return (number + unit - 1) / unit * unit; }

// Bytes of addresses of the pixels of windows over one image. Windows of a row may share columns, except those of matrix
// products. A window that is one pixel without padding needs no table.
uint64_t window_bytes(const XnnNode& node, const XnnValue& out) {
  const XnnWindow& w = node.window;
  const bool is_one_pixel = w.kernel_height == 1 && w.kernel_width == 1 && w.stride_height == 1 &&
                            w.stride_width == 1 &&
                            (w.padding_top | w.padding_right | w.padding_bottom | w.padding_left) == 0;
  if (is_one_pixel) return 0;
  const uint64_t kernel = uint64_t{w.kernel_height} * w.kernel_width;
  const uint64_t rows = out.sizes[1];
  if (node.op == XnnOperator::kConvTranspose2d) {  // whole tiles in each row, for each step of the stride
    const uint64_t stride = std::max<uint32_t>(w.stride_width, 1);
    return kernel * rows * (out.sizes[2] + stride * kMostTile) * sizeof(void*);
  }
  if (node.op == XnnOperator::kConv2d)
    return kernel * round_up(rows * out.sizes[2], kMostTile) * sizeof(void*);
  const bool is_apart = w.dilation_width > 1 || node.op == XnnOperator::kArgMaxPooling2d;
  const uint64_t step = is_apart ? w.kernel_width : std::min(w.stride_width, w.kernel_width);
  const uint64_t row = kernel + (std::max<uint64_t>(out.sizes[2], 1) - 1) * step * w.kernel_height;
  // Kernels of several steps read beyond the last window.
  return (rows * row + kMostTile) * sizeof(void*);
}

// Factors of products that are not constant are packed for each run.
uint64_t packed_bytes(const XnnValue& factor, bool is_transposed) {
  const size_t rank = factor.sizes.size();
  const uint64_t rows = std::max<uint64_t>(factor.sizes[rank - (is_transposed ? 1 : 2)], 1),
                 columns = std::max<uint64_t>(factor.sizes[rank - (is_transposed ? 2 : 1)], 1);
  const uint64_t count = numel(factor) / (rows * columns);
  return count * round_up(columns, kMostTile) * (round_up(rows, 8) + 1) * sizeof(float);
}

// Products of attention, in releases that have no such operator.
uint64_t attention_bytes(const XnnPayload& payload, const XnnNode& node) {
  const XnnValue &query = payload.value(node.inputs[0]), &keys = payload.value(node.inputs[1]),
                 &values = payload.value(node.inputs[2]);
  const uint64_t scores =
      numel(query) / std::max<uint64_t>(query.sizes.back(), 1) * keys.sizes[keys.sizes.size() - 2];
  constexpr uint64_t kSteps = 3;  // scores, with the mask, softmax
  return (numel(query) + kSteps * scores) * sizeof(float) + packed_bytes(keys, true) +
         packed_bytes(values, false);
}

// Bytes of a node beside its values.
uint64_t node_bytes(const XnnPayload& payload, const XnnNode& node) {
  const XnnValue& out = payload.value(node.outputs[0]);
  switch (node.op) {
    case XnnOperator::kConv2d:
    case XnnOperator::kDepthwiseConv2d:
    case XnnOperator::kConvTranspose2d:
    case XnnOperator::kMaxPooling2d:
      return window_bytes(node, out);
    case XnnOperator::kAveragePooling2d:  // and the sums of a large window, and a factor for each pixel
    case XnnOperator::kArgMaxPooling2d:
      return window_bytes(node, out) + 3 * numel(out) * sizeof(float);
    case XnnOperator::kResizeBilinear2d:  // four neighbours and two weights of each pixel
      return uint64_t{out.sizes[1]} * out.sizes[2] * (4 * sizeof(void*) + 2 * sizeof(float));
    case XnnOperator::kGlobalAveragePooling2d:  // sums
      return numel(out) * sizeof(float);
    case XnnOperator::kBatchMatrixMultiply: {
      const XnnValue& factor = payload.value(node.inputs[1]);
      if (factor.constant_index != 0) return 0;
      return packed_bytes(factor, (node.flags & XNN_FLAG_TRANSPOSE_B) != 0);
    }
    case XnnOperator::kScaledDotProductAttention:
      return attention_bytes(payload, node);
    default:
      return 0;
  }
}

}  // namespace

// XNNPACK reuses the memory of values that it read for the last time.
uint64_t most_context_bytes(const XnnPayload& payload) {
  uint64_t nbytes = payload.values.size() * kValueBytes;
  for (const XnnValue& value : payload.values) {
    if (value.external_id || value.constant_index != 0) continue;
    nbytes += numel(value) * element_bytes(value.datatype) + XNN_EXTRA_BYTES;
  }
  for (const XnnNode& node : payload.nodes) nbytes += kNodeBytes + node_bytes(payload, node);
  return nbytes;
}

}  // namespace etb::xnnpack
