// SPDX-License-Identifier: Apache-2.0
// Runs a verified command stream.
#include <string.h>

#include "plugins/dsp_stub/core/dsp_compute.h"

static const uint8_t* source_of(const dsp_memories* m, const uint32_t* w) {
  const uint32_t offset = w[DSP_DMA_FROM_OFFSET];
  switch (w[DSP_DMA_FROM]) {
    case DSP_MEMORY_TCM:
      return m->tcm + offset;
    case DSP_MEMORY_ARENA:
      return m->arena + offset;
    case DSP_MEMORY_CONSTANTS:
      return m->constants + offset;
    default: {
      const uint32_t io = w[DSP_DMA_FROM] - DSP_MEMORY_IO;
      return (io < m->input_count ? m->inputs[io] : m->outputs[io - m->input_count]) + offset;
    }
  }
}

static uint8_t* target_of(const dsp_memories* m, const uint32_t* w) {
  const uint32_t offset = w[DSP_DMA_TO_OFFSET];
  switch (w[DSP_DMA_TO]) {
    case DSP_MEMORY_TCM:
      return m->tcm + offset;
    case DSP_MEMORY_ARENA:
      return m->arena + offset;
    default:
      return m->outputs[w[DSP_DMA_TO] - DSP_MEMORY_IO - m->input_count] + offset;
  }
}

// Copies the innermost dimension; without a source, fills it.
static void copy_row(const uint8_t* from, uint8_t* to, uint32_t extent, uint32_t from_stride,
                     uint32_t to_stride, uint8_t fill) {
  if (from == NULL && to_stride == 1) {
    memset(to, fill, extent);
  } else if (from != NULL && from_stride == 1 && to_stride == 1) {
    memcpy(to, from, extent);
  } else {
    for (size_t i = 0; i < extent; ++i) to[i * to_stride] = from != NULL ? from[i * from_stride] : fill;
  }
}

static void dma(const dsp_command* c, const dsp_memories* m) {
  uint32_t extent[DSP_DMA_MAX_RANK] = {1, 1, 1, 1, 1, 1}, at[DSP_DMA_MAX_RANK] = {0};
  size_t from_stride[DSP_DMA_MAX_RANK] = {0}, to_stride[DSP_DMA_MAX_RANK] = {0};
  const uint32_t rank = (c->word_count - DSP_DMA_DIMS) / 3, shift = DSP_DMA_MAX_RANK - rank;
  for (uint32_t d = 0; d < rank; ++d) {
    const uint32_t* dim = c->word + DSP_DMA_DIMS + 3 * (size_t)d;
    extent[shift + d] = dim[0];
    from_stride[shift + d] = dim[1];
    to_stride[shift + d] = dim[2];
  }
  const int is_fill = c->word[DSP_DMA_FROM] == DSP_MEMORY_FILL;
  const uint8_t* from = is_fill ? NULL : source_of(m, c->word);
  uint8_t* to = target_of(m, c->word);
  for (;;) {
    size_t from_at = 0, to_at = 0;
    for (uint32_t d = 0; d + 1 < DSP_DMA_MAX_RANK; ++d) {
      from_at += at[d] * from_stride[d];
      to_at += at[d] * to_stride[d];
    }
    copy_row(is_fill ? NULL : from + from_at, to + to_at, extent[5], (uint32_t)from_stride[5],
             (uint32_t)to_stride[5], (uint8_t)c->word[DSP_DMA_FROM_OFFSET]);
    uint32_t d = DSP_DMA_MAX_RANK - 1;
    while (d > 0 && ++at[d - 1] == extent[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

static void run_command(const dsp_command* c, const dsp_memories* m) {
  switch (c->opcode) {
    case DSP_OP_DMA:
      dma(c, m);
      return;
    case DSP_OP_CONV:
      dsp_conv(c->word, m->tcm);
      return;
    case DSP_OP_POOL:
      dsp_pool(c->word, m->tcm);
      return;
    case DSP_OP_BINARY:
      dsp_binary(c->word, m->tcm);
      return;
    case DSP_OP_TABLE:
      dsp_table(c->word, m->tcm);
      return;
    case DSP_OP_SOFTMAX:
      dsp_softmax(c->word, m->tcm);
      return;
    case DSP_OP_GATHER:
      dsp_gather(c->word, m->tcm);
      return;
    default:
      return;
  }
}

int dsp_run(const dsp_stream* stream, const dsp_memories* memories, const dsp_observer* observer,
            dsp_clock* clock) {
  uint32_t offset = 0, layer = UINT32_MAX;
  uint64_t begin = 0;
  dsp_clock_start(clock);
  for (;;) {
    dsp_command command;
    if (!dsp_read_command(stream, offset, &command)) return 0;
    offset += 4 * command.word_count;
    if (command.opcode == DSP_OP_LAYER || command.opcode == DSP_OP_END) {
      const uint64_t end = dsp_clock_end(clock);
      const int stop =
          layer != UINT32_MAX && observer != NULL ? observer->layer(observer->ctx, layer, begin, end) : 0;
      if (stop != 0) return stop;
      layer = command.word[DSP_LAYER_INDEX];
      begin = end;
    }
    run_command(&command, memories);
    dsp_clock_advance(clock, &command);
    if (command.opcode == DSP_OP_END) return 0;
  }
}
