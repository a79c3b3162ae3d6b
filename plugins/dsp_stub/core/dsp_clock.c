// SPDX-License-Identifier: Apache-2.0
// Cycles of commands, and the clock of a run. docs/dsp_stub.md has the model.
#include <string.h>

#include "plugins/dsp_stub/core/dsp_core.h"

enum { kIssue = 4, kStartDma = 64, kStartCompute = 16, kUnits = 8, kLanes = 8, kBusBytes = 16 };

static uint64_t over(uint64_t count, uint64_t width) { return (count + width - 1) / width; }

// A command with int16 codes has half the lanes.
static uint64_t lanes_of(uint32_t wide) { return wide != 0 ? kLanes / 2 : kLanes; }

// Products of two int16 codes have a quarter.
static uint64_t product_lanes(uint32_t wide) {
  const uint32_t both = DSP_WIDE_FIRST | DSP_WIDE_SECOND;
  return (wide & both) == both ? kLanes / 4 : lanes_of(wide);
}

// One burst for each run of neighbouring bytes: 16 bytes a cycle, 2 bytes a cycle for single bytes.
static uint64_t count_dma(const uint32_t* w, uint32_t word_count) {
  uint64_t bytes = 1, burst = 1;
  uint32_t last = word_count;
  for (uint32_t i = DSP_DMA_DIMS; i + 2 < word_count; i += 3) bytes *= w[i];
  if (bytes == 0) return kStartDma;
  while (last > DSP_DMA_DIMS) {  // inner dimensions without gaps
    const uint32_t extent = w[last - 3], from = w[last - 2], to = w[last - 1];
    const uint64_t wanted_from = w[DSP_DMA_FROM] == DSP_MEMORY_FILL ? from : burst;
    if (extent != 1 && (from != wanted_from || to != burst)) break;
    burst *= extent;
    last -= 3;
  }
  return kStartDma + (burst == 1 ? over(bytes, 2) : bytes / burst * over(burst, kBusBytes));
}

// Eight units with eight lanes each. A unit makes one output channel from eight input channels a cycle; in
// depthwise layers, eight channels from one tap. Eight results a cycle are requantised.
static uint64_t count_conv(const uint32_t* w) {
  const uint64_t pixels = (uint64_t)w[DSP_CONV_OUT_H] * w[DSP_CONV_OUT_W];
  const uint64_t taps = (uint64_t)w[DSP_CONV_KERNEL_H] * w[DSP_CONV_KERNEL_W];
  const uint64_t channels = w[DSP_CONV_OUT_C], lanes = product_lanes(w[DSP_CONV_WIDE]);
  const uint64_t work = w[DSP_CONV_GROUP_IN] == 1
                            ? over(pixels, kUnits) * over(channels, lanes) * taps
                            : pixels * over(channels, kUnits) * taps * over(w[DSP_CONV_GROUP_IN], lanes);
  return kStartCompute + work + pixels * over(channels, kUnits);
}

static uint64_t count_pool(const uint32_t* w) {
  const uint64_t pixels = (uint64_t)w[DSP_POOL_OUT_H] * w[DSP_POOL_OUT_W];
  const uint64_t taps = (uint64_t)w[DSP_POOL_KERNEL_H] * w[DSP_POOL_KERNEL_W];
  return kStartCompute + over(pixels, kUnits) * over(w[DSP_POOL_IN_C], lanes_of(w[DSP_POOL_WIDE])) * taps +
         pixels * over(w[DSP_POOL_IN_C], kUnits);
}

uint64_t dsp_count_cycles(const dsp_command* command) {
  const uint32_t* w = command->word;
  switch (command->opcode) {
    case DSP_OP_DMA:
      return count_dma(w, command->word_count);
    case DSP_OP_CONV:
      return count_conv(w);
    case DSP_OP_POOL:
      return count_pool(w);
    case DSP_OP_BINARY:
      return kStartCompute + over(w[DSP_BINARY_COUNT], lanes_of(w[DSP_BINARY_WIDE]));
    case DSP_OP_TABLE:
      return kStartCompute + over(w[DSP_TABLE_COUNT], lanes_of(w[DSP_TABLE_WIDE]));
    case DSP_OP_SOFTMAX:  // three passes, and one division for each row
      return kStartCompute +
             w[DSP_SOFTMAX_ROWS] * (3 * over(w[DSP_SOFTMAX_COLUMNS], lanes_of(w[DSP_SOFTMAX_WIDE])) + 32);
    case DSP_OP_GATHER:
      return kStartCompute +
             (uint64_t)w[DSP_GATHER_OUT_H] * w[DSP_GATHER_OUT_W] * over(w[DSP_GATHER_IN_C], kBusBytes);
    default:
      return 0;
  }
}

void dsp_clock_start(dsp_clock* clock) { memset(clock, 0, sizeof *clock); }

static uint64_t last_end(const dsp_clock* clock, uint32_t engine) {
  const uint64_t issued = clock->issued[engine];
  return issued == 0 ? 0 : clock->ends[engine][(issued - 1) % DSP_QUEUE_LENGTH];
}

// The core continues when at most `left` commands of the engine are in flight.
static void wait_for(dsp_clock* clock, uint32_t engine, uint64_t left) {
  const uint64_t issued = clock->issued[engine];
  if (issued <= left) return;
  const uint64_t end = clock->ends[engine][(issued - 1 - left) % DSP_QUEUE_LENGTH];
  if (clock->now < end) clock->now = end;
}

static void issue(dsp_clock* clock, uint32_t engine, uint64_t cycles) {
  wait_for(clock, engine, DSP_QUEUE_LENGTH - 1);
  const uint64_t free_at = last_end(clock, engine);
  const uint64_t begin = clock->now > free_at ? clock->now : free_at;
  clock->ends[engine][clock->issued[engine] % DSP_QUEUE_LENGTH] = begin + cycles;
  ++clock->issued[engine];
  clock->busy[engine] += cycles;
}

void dsp_clock_advance(dsp_clock* clock, const dsp_command* command) {
  clock->now += kIssue;
  switch (command->opcode) {
    case DSP_OP_END:
    case DSP_OP_LAYER:
      return;
    case DSP_OP_WAIT:
      wait_for(clock, command->word[DSP_WAIT_ENGINE], command->word[DSP_WAIT_LEFT]);
      return;
    case DSP_OP_DMA:
      issue(clock, DSP_ENGINE_DMA, dsp_count_cycles(command));
      if (command->word[DSP_DMA_FROM] != DSP_MEMORY_FILL) {
        uint64_t bytes = 1;
        for (uint32_t i = DSP_DMA_DIMS; i + 2 < command->word_count; i += 3) bytes *= command->word[i];
        clock->dma_bytes += bytes;
      }
      return;
    default:
      issue(clock, DSP_ENGINE_COMPUTE, dsp_count_cycles(command));
  }
}

uint64_t dsp_clock_end(const dsp_clock* clock) {
  uint64_t end = clock->now;
  for (uint32_t engine = 0; engine < 2; ++engine)
    if (end < last_end(clock, engine)) end = last_end(clock, engine);
  return end;
}

uint64_t dsp_total_cycles(const dsp_stream* stream) {
  dsp_clock clock;
  dsp_command command;
  uint32_t offset = 0;
  dsp_clock_start(&clock);
  while (dsp_read_command(stream, offset, &command)) {
    dsp_clock_advance(&clock, &command);
    offset += 4 * command.word_count;
  }
  return dsp_clock_end(&clock);
}
