// SPDX-License-Identifier: Apache-2.0
// Verifies a command stream before its first run.
#include <string.h>

#include "plugins/dsp_stub/core/dsp_core.h"

// Ranges of the commands in flight of one engine, oldest first.
typedef struct flight {
  uint32_t count;
  uint32_t range_count[DSP_QUEUE_LENGTH];
  dsp_range ranges[DSP_QUEUE_LENGTH][DSP_MAX_RANGES];
} flight;

typedef struct verifier {
  const dsp_layout* layout;
  flight flights[2];
  dsp_clock clock;
  uint64_t used[2];  // bytes of the TCM and the arena up to the last one that a command touches
} verifier;

static int is_between(uint32_t word, int32_t low, int32_t high) {
  return (int32_t)word >= low && (int32_t)word <= high;
}
static int is_zero(uint32_t word, uint32_t is_wide) {
  return is_wide ? word == 0 : is_between(word, -128, 127);
}
static int is_limit(uint32_t word, uint32_t is_wide) {
  return is_wide ? is_between(word, -32768, 32767) : is_between(word, -128, 127);
}
// Offsets of int16 codes are even.
static int is_aligned(uint32_t offset, uint32_t is_wide) { return !is_wide || offset % 2 == 0; }
static int are_extents(const uint32_t* words, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    if (words[i] < 1 || words[i] > DSP_MAX_EXTENT) return 0;
  return 1;
}
static int is_padding(uint32_t word) {
  return is_between(word, -(int32_t)DSP_MAX_EXTENT, (int32_t)DSP_MAX_EXTENT);
}
// Checks zero points of an operand and of the result, and two limits, in this order.
static int are_codes(const uint32_t* words, uint32_t in_wide, uint32_t out_wide) {
  return is_zero(words[0], in_wide) && is_zero(words[1], out_wide) && is_limit(words[2], out_wide) &&
         is_limit(words[3], out_wide) && (int32_t)words[2] <= (int32_t)words[3];
}

static const char* check_dma(const dsp_command* c) {
  const uint32_t* w = c->word;
  if (c->word_count < DSP_DMA_DIMS || (c->word_count - DSP_DMA_DIMS) % 3 != 0) return "length of a dma";
  if ((c->word_count - DSP_DMA_DIMS) / 3 > DSP_DMA_MAX_RANK) return "rank of a dma";
  if (w[DSP_DMA_FROM] == DSP_MEMORY_FILL && w[DSP_DMA_FROM_OFFSET] > 255) return "byte of a fill";
  uint64_t count = 1;
  for (uint32_t i = DSP_DMA_DIMS; i < c->word_count; i += 3) {
    if (w[i] < 1) return "extent of a dma";
    if (count > UINT32_MAX / w[i]) return "size of a dma";
    count *= w[i];
  }
  dsp_range ranges[DSP_MAX_RANGES];
  if (dsp_list_ranges(c, ranges) == 2 && dsp_conflicts(&ranges[0], &ranges[1])) return "dma onto its source";
  return NULL;
}

static const char* check_conv(const uint32_t* w) {
  if (!are_extents(w + DSP_CONV_IN_H, 3) || !are_extents(w + DSP_CONV_OUT_H, 3) ||
      !are_extents(w + DSP_CONV_KERNEL_H, 6) || !are_extents(w + DSP_CONV_GROUP_IN, 2))
    return "extent of a convolution";
  if (!is_padding(w[DSP_CONV_PADDING_TOP]) || !is_padding(w[DSP_CONV_PADDING_LEFT]))
    return "padding of a convolution";
  const uint32_t in_wide = w[DSP_CONV_WIDE] & DSP_WIDE_FIRST,
                 weights_wide = w[DSP_CONV_WIDE] & DSP_WIDE_SECOND,
                 out_wide = w[DSP_CONV_WIDE] & DSP_WIDE_RESULT;
  if (w[DSP_CONV_WIDE] != (in_wide | weights_wide | out_wide)) return "types of a convolution";
  if (!is_aligned(w[DSP_CONV_INPUT], in_wide) || !is_aligned(w[DSP_CONV_WEIGHTS], weights_wide) ||
      !is_aligned(w[DSP_CONV_OUTPUT], out_wide))
    return "odd offset of int16 codes";
  if (!are_codes(w + DSP_CONV_IN_ZERO, in_wide, out_wide)) return "zero point or limit of a convolution";
  if (w[DSP_CONV_IS_TRANSPOSED] > 1) return "kind of a convolution";
  const uint64_t taps = (uint64_t)w[DSP_CONV_KERNEL_H] * w[DSP_CONV_KERNEL_W];
  if (taps > DSP_MAX_PRODUCTS || taps * w[DSP_CONV_GROUP_IN] > DSP_MAX_PRODUCTS)
    return "products of a convolution";
  if (w[DSP_CONV_FIRST_OUT] >= DSP_MAX_EXTENT) return "first channel of a convolution";
  const uint64_t last_group = (w[DSP_CONV_FIRST_OUT] + w[DSP_CONV_OUT_C] - 1) / w[DSP_CONV_GROUP_OUT];
  if ((last_group + 1) * w[DSP_CONV_GROUP_IN] > w[DSP_CONV_IN_C]) return "groups of a convolution";
  if (w[DSP_CONV_PIXEL_STRIDE] < w[DSP_CONV_OUT_C] || w[DSP_CONV_PIXEL_STRIDE] > DSP_MAX_EXTENT)
    return "pixel stride of a convolution";
  return NULL;
}

static const char* check_pool(const uint32_t* w) {
  if (w[DSP_POOL_KIND] > DSP_POOL_AVERAGE_OF_CODES) return "kind of a pool";
  if (!are_extents(w + DSP_POOL_IN_H, 3) || !are_extents(w + DSP_POOL_OUT_H, 8)) return "extent of a pool";
  if (!is_padding(w[DSP_POOL_PADDING_TOP]) || !is_padding(w[DSP_POOL_PADDING_LEFT]))
    return "padding of a pool";
  const uint32_t in_wide = w[DSP_POOL_WIDE] & DSP_WIDE_FIRST, out_wide = w[DSP_POOL_WIDE] & DSP_WIDE_RESULT;
  if (w[DSP_POOL_WIDE] != (in_wide | out_wide)) return "types of a pool";
  if (!is_aligned(w[DSP_POOL_INPUT], in_wide) || !is_aligned(w[DSP_POOL_OUTPUT], out_wide))
    return "odd offset of int16 codes";
  if (!are_codes(w + DSP_POOL_IN_ZERO, in_wide, out_wide)) return "zero point or limit of a pool";
  if (w[DSP_POOL_KIND] == DSP_POOL_AVERAGE_OF_CODES &&
      ((in_wide != 0) != (out_wide != 0) || w[DSP_POOL_IN_ZERO] != w[DSP_POOL_OUT_ZERO]))
    return "types or zero points of an average of codes";
  const uint64_t window = (uint64_t)w[DSP_POOL_KERNEL_H] * w[DSP_POOL_KERNEL_W];
  return window > (in_wide ? DSP_MAX_WIDE_WINDOW : DSP_MAX_WINDOW) ? "window of a pool" : NULL;
}

static const char* check_binary(const uint32_t* w) {
  const uint32_t wide = w[DSP_BINARY_WIDE], a_wide = wide & DSP_WIDE_FIRST, b_wide = wide & DSP_WIDE_SECOND,
                 out_wide = wide & DSP_WIDE_RESULT;
  if (w[DSP_BINARY_KIND] > DSP_BINARY_MINIMUM) return "kind of a binary op";
  if (wide != (a_wide | b_wide | out_wide)) return "types of a binary op";
  if (!is_aligned(w[DSP_BINARY_A], a_wide) || !is_aligned(w[DSP_BINARY_B], b_wide) ||
      !is_aligned(w[DSP_BINARY_OUTPUT], out_wide))
    return "odd offset of int16 codes";
  if (!is_zero(w[DSP_BINARY_A_ZERO], a_wide) || !are_codes(w + DSP_BINARY_B_ZERO, b_wide, out_wide))
    return "zero point or limit of a binary op";
  return w[DSP_BINARY_COUNT] < 1 ? "extent of a binary op" : NULL;
}

static const char* check_table(const uint32_t* w) {
  const uint32_t in_wide = w[DSP_TABLE_WIDE] & DSP_WIDE_FIRST, out_wide = w[DSP_TABLE_WIDE] & DSP_WIDE_RESULT;
  if (w[DSP_TABLE_WIDE] != (in_wide | out_wide)) return "types of a table";
  if (!is_aligned(w[DSP_TABLE_INPUT], in_wide) || !is_aligned(w[DSP_TABLE_OUTPUT], out_wide) ||
      !is_aligned(w[DSP_TABLE_TABLE], in_wide | out_wide))
    return "odd offset of int16 codes";
  const uint32_t fraction = w[DSP_TABLE_FRACTION];
  if (in_wide ? fraction < DSP_MIN_FRACTION || fraction > DSP_MAX_FRACTION : fraction != 0)
    return "fraction of a table";
  return w[DSP_TABLE_COUNT] < 1 ? "extent of a table" : NULL;
}

static const char* check_softmax(const uint32_t* w) {
  const uint32_t in_wide = w[DSP_SOFTMAX_WIDE] & DSP_WIDE_FIRST,
                 out_wide = w[DSP_SOFTMAX_WIDE] & DSP_WIDE_RESULT;
  if (w[DSP_SOFTMAX_ROWS] < 1 || w[DSP_SOFTMAX_ROWS] > DSP_MAX_EXTENT || w[DSP_SOFTMAX_COLUMNS] < 1 ||
      w[DSP_SOFTMAX_COLUMNS] > DSP_MAX_COLUMNS)
    return "extent of a softmax";
  if (w[DSP_SOFTMAX_WIDE] != (in_wide | out_wide)) return "types of a softmax";
  if (!is_aligned(w[DSP_SOFTMAX_INPUT], in_wide) || !is_aligned(w[DSP_SOFTMAX_OUTPUT], out_wide))
    return "odd offset of int16 codes";
  return w[DSP_SOFTMAX_INVERSE] > DSP_SOFTMAX_MAX_INVERSE || !is_zero(w[DSP_SOFTMAX_OUT_ZERO], out_wide)
             ? "scale of a softmax"
             : NULL;
}

static const char* check_small(const dsp_command* c) {
  const uint32_t* w = c->word;
  switch (c->opcode) {
    case DSP_OP_BINARY:
      return check_binary(w);
    case DSP_OP_TABLE:
      return check_table(w);
    case DSP_OP_SOFTMAX:
      return check_softmax(w);
    case DSP_OP_GATHER:
      return are_extents(w + DSP_GATHER_IN_H, 3) && are_extents(w + DSP_GATHER_OUT_H, 2)
                 ? NULL
                 : "extent of a gather";
    default:
      return NULL;
  }
}

// Lengths of a command: with int8 codes only, and with the word for int16 codes. 0: unknown opcode.
typedef struct lengths {
  uint8_t narrow, full;
} lengths;

static lengths lengths_of(uint32_t opcode) {
  static const lengths kLengths[] = {{0, 0},
                                     {1, 1},
                                     {DSP_LAYER_WORDS, DSP_LAYER_WORDS},
                                     {DSP_WAIT_WORDS, DSP_WAIT_WORDS},
                                     {0, 0},
                                     {DSP_CONV_NARROW_WORDS, DSP_CONV_WORDS},
                                     {DSP_POOL_NARROW_WORDS, DSP_POOL_WORDS},
                                     {DSP_BINARY_NARROW_WORDS, DSP_BINARY_WORDS},
                                     {DSP_TABLE_NARROW_WORDS, DSP_TABLE_WORDS},
                                     {DSP_SOFTMAX_NARROW_WORDS, DSP_SOFTMAX_WORDS},
                                     {DSP_GATHER_WORDS, DSP_GATHER_WORDS}};
  return kLengths[opcode < sizeof kLengths / sizeof kLengths[0] ? opcode : 0];
}

static const char* check_fields(const verifier* v, const dsp_command* c) {
  if (c->opcode == DSP_OP_DMA) return check_dma(c);
  const lengths words = lengths_of(c->opcode);
  if (words.full == 0) return "unknown opcode";
  if (c->word_count != words.narrow && c->word_count != words.full) return "length of a command";
  if (c->opcode == DSP_OP_LAYER)
    return c->word[DSP_LAYER_INDEX] < v->layout->layer_count ? NULL : "index of a layer";
  if (c->opcode == DSP_OP_WAIT)
    return c->word[DSP_WAIT_ENGINE] <= 1 && c->word[DSP_WAIT_LEFT] < DSP_QUEUE_LENGTH ? NULL
                                                                                      : "fields of a wait";
  if (c->opcode == DSP_OP_CONV) return check_conv(c->word);
  if (c->opcode == DSP_OP_POOL) return check_pool(c->word);
  return check_small(c);
}

static const char* check_range(const dsp_layout* layout, const dsp_range* range) {
  uint64_t size = 0;
  switch (range->memory) {
    case DSP_MEMORY_TCM:
      size = layout->tcm_bytes;
      break;
    case DSP_MEMORY_ARENA:
      size = layout->arena_bytes;
      break;
    case DSP_MEMORY_CONSTANTS:
      if (range->is_write) return "write to constants";
      size = layout->constant_bytes;
      break;
    case DSP_MEMORY_FILL:
      return "write to the fill byte";
    default: {
      const uint32_t io = range->memory - DSP_MEMORY_IO;
      if (io >= layout->io_count) return "unknown memory";
      if (range->is_write && io < layout->input_count) return "write to an input";
      size = layout->io_bytes[io];
    }
  }
  return range->end > size ? "range beyond its memory" : NULL;
}

static void drop_oldest(flight* f, uint32_t left) {
  if (f->count <= left) return;
  const uint32_t gone = f->count - left;
  for (uint32_t i = 0; i < left; ++i) {
    f->range_count[i] = f->range_count[i + gone];
    memcpy(f->ranges[i], f->ranges[i + gone], sizeof f->ranges[i]);
  }
  f->count = left;
}

// Compares the ranges with the commands in flight of the other engine, then adds them to the own ones.
static const char* check_flight(verifier* v, uint32_t engine, const dsp_range* ranges, uint32_t count) {
  const flight* other = &v->flights[1 - engine];
  for (uint32_t i = 0; i < other->count; ++i)
    for (uint32_t k = 0; k < other->range_count[i]; ++k)
      for (uint32_t r = 0; r < count; ++r)
        if (dsp_conflicts(&other->ranges[i][k], &ranges[r])) return "race with a command in flight";
  flight* own = &v->flights[engine];
  drop_oldest(own, DSP_QUEUE_LENGTH - 1);
  own->range_count[own->count] = count;
  memcpy(own->ranges[own->count], ranges, count * sizeof *ranges);
  ++own->count;
  return NULL;
}

static const char* check_command(verifier* v, const dsp_command* c) {
  const char* defect = check_fields(v, c);
  if (defect != NULL) return defect;
  if (c->opcode == DSP_OP_WAIT) drop_oldest(&v->flights[c->word[DSP_WAIT_ENGINE]], c->word[DSP_WAIT_LEFT]);
  dsp_range ranges[DSP_MAX_RANGES];
  const uint32_t count = dsp_list_ranges(c, ranges);
  for (uint32_t i = 0; i < count; ++i) {
    defect = check_range(v->layout, &ranges[i]);
    if (defect != NULL) return defect;
    if (ranges[i].memory <= DSP_MEMORY_ARENA && v->used[ranges[i].memory] < ranges[i].end)
      v->used[ranges[i].memory] = ranges[i].end;
  }
  // The engine may read operands after it wrote the first results.
  for (uint32_t i = 0; i < count && c->opcode != DSP_OP_DMA; ++i)
    for (uint32_t k = 0; k < i; ++k)
      if (dsp_conflicts(&ranges[i], &ranges[k])) return "result onto an operand";
  if (count != 0) {
    const uint32_t engine = c->opcode == DSP_OP_DMA ? DSP_ENGINE_DMA : DSP_ENGINE_COMPUTE;
    defect = check_flight(v, engine, ranges, count);
    if (defect != NULL) return defect;
  }
  dsp_clock_advance(&v->clock, c);
  return dsp_clock_end(&v->clock) > DSP_MAX_CYCLES ? "more cycles than allowed" : NULL;
}

static int report(dsp_defect* out, const char* reason, uint32_t offset) {
  out->reason = reason;
  out->offset = offset;
  return reason != NULL;
}

int dsp_verify(const dsp_stream* stream, const dsp_layout* layout, dsp_defect* out) {
  verifier v;
  memset(&v, 0, sizeof v);
  v.layout = layout;
  if (layout->tcm_bytes > DSP_TCM_BYTES) return report(out, "more tcm than the device has", 0);
  if (layout->io_count > DSP_MAX_IO || layout->input_count > layout->io_count)
    return report(out, "number of inputs and outputs", 0);
  uint32_t offset = 0;
  for (;;) {
    dsp_command command;
    if (!dsp_read_command(stream, offset, &command))
      return report(out, "end of the stream in a command", offset);
    const char* defect = check_command(&v, &command);
    if (defect != NULL) return report(out, defect, offset);
    offset += 4 * command.word_count;
    if (command.opcode != DSP_OP_END) continue;
    if (offset != stream->nbytes) return report(out, "commands after the end", offset);
    // A host allocates what the layout asks for.
    if (layout->arena_bytes > v.used[DSP_MEMORY_ARENA] + DSP_UNUSED_BYTES ||
        layout->tcm_bytes > v.used[DSP_MEMORY_TCM] + DSP_UNUSED_BYTES)
      return report(out, "more memory than the commands use", offset);
    return report(out, NULL, offset);
  }
}
