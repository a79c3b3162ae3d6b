// SPDX-License-Identifier: Apache-2.0
// Products of int8 matrices with int32 sums, and the arguments that the ops of cortex_m share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host/kernels/integer_loops.hpp"
#include "host/kernels/kernel.hpp"
#include "host/runtime/evalue.hpp"
#include "host/runtime/kernel_context.hpp"

// ETB_PUBLISH_KERNELS for kernels that check the dtype of each tensor that they use, so that etb_add_runtime() adds no check to a call.
#if defined(ETB_SELECTED_KERNELS)
#define ETB_PUBLISH_INTEGER_KERNELS(file, rows) \
  extern const KernelRows kernels_##file;       \
  constinit const KernelRows kernels_##file = SelectedRows<rows, true>::kRows
#else
#define ETB_PUBLISH_INTEGER_KERNELS(file, rows) ETB_PUBLISH_KERNELS(file, rows)
#endif

namespace etb::host {

// From two arguments of an op.
etb_status read_rescale(KernelContext& context, int64_t multiplier, int64_t shift,
                        Rescale* out_rescale) noexcept;

// From the arguments of an op: all are int8 codes, and the range is not empty.
etb_status read_limits(KernelContext& context, int64_t offset, int64_t low, int64_t high,
                       CodeLimits* out_limits) noexcept;

// Reads an input offset, the negative of a zero point: -127 to 128.
etb_status read_input_offset(KernelContext& context, int64_t offset, int32_t* out_offset) noexcept;

// Int32 tensors with one row-major entry for each of `count` channels, shifts in range.
etb_status check_rescales(KernelContext& context, const Tensor& multipliers, const Tensor& shifts,
                          int64_t count) noexcept;
// The same for a bias, which may be null.
etb_status check_bias(KernelContext& context, const Tensor* bias, int64_t count) noexcept;

// The start of each channel's sum: its bias, and the part of an input offset and of an offset of all weights.
struct SumStarts {
  const int8_t* weights;  // rows are k apart
  ptrdiff_t k;
  const int32_t* bias;  // null: 0
  int32_t input_offset, weight_offset;

  etb_status fill(KernelContext& context, ptrdiff_t channels, uint32_t* out) const noexcept;
};

// out[row, channel] = code of the sum over k of rows[row, k] * (weights[channel, k] + weight_offset) + starts[channel]. Sums wrap
// at 32 bits.
struct IntegerProduct {
  ptrdiff_t k, row_count, channel_count;
  const int8_t* rows;
  ptrdiff_t row_stride;
  const int8_t* weights;  // rows are k apart
  int32_t weight_offset;
  const uint32_t* starts;
  ChannelRescales rescales;
  CodeLimits limits;
  int8_t* out;
  ptrdiff_t out_row_stride, out_channel_stride;
};
etb_status run_product(KernelContext& context, const IntegerProduct& product) noexcept;

}  // namespace etb::host
