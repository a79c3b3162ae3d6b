// SPDX-License-Identifier: Apache-2.0
// Commands as data: their words, and the bytes that they touch.
#include <string.h>

#include "plugins/dsp_stub/core/dsp_arithmetic.h"

int dsp_read_command(const dsp_stream* stream, uint32_t offset, dsp_command* out) {
  memset(out, 0, sizeof *out);
  if (offset > stream->nbytes || stream->nbytes - offset < 4) return 0;
  const uint32_t head = dsp_load_u32(stream->bytes + offset);
  out->opcode = head & 0xffffu;
  out->word_count = head >> 16;
  if (out->word_count < 1 || out->word_count > DSP_MAX_WORDS ||
      out->word_count > (stream->nbytes - offset) / 4)
    return 0;
  for (uint32_t i = 0; i < out->word_count; ++i)
    out->word[i] = dsp_load_u32(stream->bytes + offset + 4 * (size_t)i);
  return 1;
}

// Saturates, so that sums of a few products fit.
static uint64_t times(uint64_t a, uint64_t b) {
  const uint64_t most = (uint64_t)1 << 60;
  return b != 0 && a > most / b ? most : a * b;
}

// Bytes of `count` codes.
static uint64_t code_bytes(uint64_t count, uint32_t is_wide) { return times(count, is_wide ? 2 : 1); }

static dsp_range range_of(uint32_t is_write, uint32_t memory, uint64_t first, uint64_t count) {
  const dsp_range range = {memory, is_write, first, first + count};
  return range;
}

static uint32_t list_dma(const uint32_t* w, uint32_t word_count, dsp_range* out) {
  uint64_t from = 1, to = 1;
  for (uint32_t i = DSP_DMA_DIMS; i + 2 < word_count; i += 3) {
    const uint64_t steps = w[i] != 0 ? w[i] - 1u : 0;
    from += times(steps, w[i + 1]);
    to += times(steps, w[i + 2]);
  }
  uint32_t count = 0;
  if (w[DSP_DMA_FROM] != DSP_MEMORY_FILL)
    out[count++] = range_of(0, w[DSP_DMA_FROM], w[DSP_DMA_FROM_OFFSET], from);
  out[count++] = range_of(1, w[DSP_DMA_TO], w[DSP_DMA_TO_OFFSET], to);
  return count;
}

static uint32_t list_conv(const uint32_t* w, dsp_range* out) {
  const uint64_t taps = times(times(w[DSP_CONV_KERNEL_H], w[DSP_CONV_KERNEL_W]), w[DSP_CONV_GROUP_IN]);
  const uint64_t pixels = times(w[DSP_CONV_OUT_H], w[DSP_CONV_OUT_W]);
  out[0] = range_of(0, DSP_MEMORY_TCM, w[DSP_CONV_INPUT],
                    code_bytes(times(times(w[DSP_CONV_IN_H], w[DSP_CONV_IN_W]), w[DSP_CONV_IN_C]),
                               w[DSP_CONV_WIDE] & DSP_WIDE_FIRST));
  out[1] = range_of(0, DSP_MEMORY_TCM, w[DSP_CONV_WEIGHTS],
                    code_bytes(times(taps, w[DSP_CONV_OUT_C]), w[DSP_CONV_WIDE] & DSP_WIDE_SECOND));
  out[2] = range_of(0, DSP_MEMORY_TCM, w[DSP_CONV_CHANNELS], times(w[DSP_CONV_OUT_C], DSP_CHANNEL_BYTES));
  out[3] =
      range_of(1, DSP_MEMORY_TCM, w[DSP_CONV_OUTPUT],
               code_bytes(times(pixels != 0 ? pixels - 1 : 0, w[DSP_CONV_PIXEL_STRIDE]) + w[DSP_CONV_OUT_C],
                          w[DSP_CONV_WIDE] & DSP_WIDE_RESULT));
  return 4;
}

static uint32_t list_pool(const uint32_t* w, dsp_range* out) {
  const uint32_t wide = w[DSP_POOL_WIDE];
  out[0] = range_of(
      0, DSP_MEMORY_TCM, w[DSP_POOL_INPUT],
      code_bytes(times(times(w[DSP_POOL_IN_H], w[DSP_POOL_IN_W]), w[DSP_POOL_IN_C]), wide & DSP_WIDE_FIRST));
  out[1] = range_of(1, DSP_MEMORY_TCM, w[DSP_POOL_OUTPUT],
                    code_bytes(times(times(w[DSP_POOL_OUT_H], w[DSP_POOL_OUT_W]), w[DSP_POOL_IN_C]),
                               wide & DSP_WIDE_RESULT));
  if (w[DSP_POOL_KIND] != DSP_POOL_AVERAGE_BY_COUNT) return 2;
  out[2] = range_of(0, DSP_MEMORY_TCM, w[DSP_POOL_SCALES],
                    times(times(w[DSP_POOL_KERNEL_H], w[DSP_POOL_KERNEL_W]), 8));
  return 3;
}

uint32_t dsp_table_bytes(uint32_t wide, uint32_t fraction) {
  if ((wide & DSP_WIDE_FIRST) == 0) return (wide & DSP_WIDE_RESULT) != 0 ? 512 : 256;
  return 2 * ((65536u >> (fraction < 16 ? fraction : 16)) + 1);
}

static uint32_t list_small(const uint32_t* w, uint32_t opcode, dsp_range* out) {
  uint64_t count = 0;
  uint32_t wide = 0;
  switch (opcode) {
    case DSP_OP_BINARY:
      count = w[DSP_BINARY_COUNT];
      wide = w[DSP_BINARY_WIDE];
      out[0] = range_of(0, DSP_MEMORY_TCM, w[DSP_BINARY_A], code_bytes(count, wide & DSP_WIDE_FIRST));
      out[1] = range_of(0, DSP_MEMORY_TCM, w[DSP_BINARY_B], code_bytes(count, wide & DSP_WIDE_SECOND));
      out[2] = range_of(1, DSP_MEMORY_TCM, w[DSP_BINARY_OUTPUT], code_bytes(count, wide & DSP_WIDE_RESULT));
      return 3;
    case DSP_OP_TABLE:
      count = w[DSP_TABLE_COUNT];
      wide = w[DSP_TABLE_WIDE];
      out[0] = range_of(0, DSP_MEMORY_TCM, w[DSP_TABLE_INPUT], code_bytes(count, wide & DSP_WIDE_FIRST));
      out[1] = range_of(1, DSP_MEMORY_TCM, w[DSP_TABLE_OUTPUT], code_bytes(count, wide & DSP_WIDE_RESULT));
      out[2] = range_of(0, DSP_MEMORY_TCM, w[DSP_TABLE_TABLE], dsp_table_bytes(wide, w[DSP_TABLE_FRACTION]));
      return 3;
    case DSP_OP_SOFTMAX:
      count = times(w[DSP_SOFTMAX_ROWS], w[DSP_SOFTMAX_COLUMNS]);
      wide = w[DSP_SOFTMAX_WIDE];
      out[0] = range_of(0, DSP_MEMORY_TCM, w[DSP_SOFTMAX_INPUT], code_bytes(count, wide & DSP_WIDE_FIRST));
      out[1] = range_of(1, DSP_MEMORY_TCM, w[DSP_SOFTMAX_OUTPUT], code_bytes(count, wide & DSP_WIDE_RESULT));
      out[2] = range_of(0, DSP_MEMORY_TCM, w[DSP_SOFTMAX_TABLE], wide != 0 ? 2048 : 1024);
      return 3;
    case DSP_OP_GATHER:
      out[0] = range_of(0, DSP_MEMORY_TCM, w[DSP_GATHER_INPUT],
                        times(times(w[DSP_GATHER_IN_H], w[DSP_GATHER_IN_W]), w[DSP_GATHER_IN_C]));
      out[1] = range_of(1, DSP_MEMORY_TCM, w[DSP_GATHER_OUTPUT],
                        times(times(w[DSP_GATHER_OUT_H], w[DSP_GATHER_OUT_W]), w[DSP_GATHER_IN_C]));
      out[2] = range_of(0, DSP_MEMORY_TCM, w[DSP_GATHER_INDICES],
                        2 * ((uint64_t)w[DSP_GATHER_OUT_H] + w[DSP_GATHER_OUT_W]));
      return 3;
    default:
      return 0;
  }
}

uint32_t dsp_list_ranges(const dsp_command* command, dsp_range out[DSP_MAX_RANGES]) {
  switch (command->opcode) {
    case DSP_OP_DMA:
      return list_dma(command->word, command->word_count, out);
    case DSP_OP_CONV:
      return list_conv(command->word, out);
    case DSP_OP_POOL:
      return list_pool(command->word, out);
    default:
      return list_small(command->word, command->opcode, out);
  }
}

int dsp_conflicts(const dsp_range* a, const dsp_range* b) {
  return a->memory == b->memory && (a->is_write || b->is_write) && a->first < b->end && b->first < a->end;
}
