// SPDX-License-Identifier: Apache-2.0
//
// The simulated DSP: verifies a command stream, then runs it and counts its cycles. No heap, no floating
// point, no library but memcpy and memset. A real DSP would replace this file's functions, except
// dsp_verify.
#ifndef ETB_DSP_CORE_H_
#define ETB_DSP_CORE_H_

#include <stddef.h>

#include "plugins/dsp_stub/core/dsp_commands.h"

#ifdef __cplusplus
extern "C" {
#endif

// Sizes of the memories that a stream may use.
typedef struct dsp_layout {
  uint32_t tcm_bytes;
  uint32_t arena_bytes;
  uint32_t constant_bytes;
  uint32_t input_count;  // the first memories of io
  uint32_t io_count;     // at most DSP_MAX_IO
  uint32_t layer_count;
  uint32_t io_bytes[DSP_MAX_IO];
} dsp_layout;

typedef struct dsp_stream {
  const uint8_t* bytes;  // any alignment
  uint32_t nbytes;       // a multiple of 4
} dsp_stream;

// The first defect that dsp_verify found. reason is a text without end of life, NULL: none.
typedef struct dsp_defect {
  const char* reason;
  uint32_t offset;  // bytes from the start of the stream to the command
} dsp_defect;

// One command. Words beyond its own are 0.
typedef struct dsp_command {
  uint32_t opcode;
  uint32_t word_count;
  uint32_t word[DSP_MAX_WORDS];
} dsp_command;

// Bytes that a command reads or writes: [first, end) of a memory. A strided copy touches only some of them.
typedef struct dsp_range {
  uint32_t memory;
  uint32_t is_write;
  uint64_t first;
  uint64_t end;
} dsp_range;
#define DSP_MAX_RANGES 4u

// A clock that commands advance: the control core issues commands in order to two engines. Each engine runs
// its commands in order, at the same time as the other one.
typedef struct dsp_clock {
  uint64_t now;  // of the control core
  uint64_t ends[2][DSP_QUEUE_LENGTH];
  uint64_t issued[2];
  uint64_t busy[2];    // cycles of work of each engine
  uint64_t dma_bytes;  // copied, without fills
} dsp_clock;

// Reads the command at `offset`. Returns 0 if the stream has no whole command there.
int dsp_read_command(const dsp_stream* stream, uint32_t offset, dsp_command* out);
// Lists the ranges of a command; returns their number. Extents may be any: ends saturate.
uint32_t dsp_list_ranges(const dsp_command* command, dsp_range out[DSP_MAX_RANGES]);
// True for two ranges with a common byte, at least one written.
int dsp_conflicts(const dsp_range* a, const dsp_range* b);
// Returns the cycles that a verified command occupies its engine.
uint64_t dsp_count_cycles(const dsp_command* command);

void dsp_clock_start(dsp_clock* clock);
void dsp_clock_advance(dsp_clock* clock, const dsp_command* command);
// Returns the time when everything issued so far has ended.
uint64_t dsp_clock_end(const dsp_clock* clock);

// Returns 0 if every command is known and inside the memories, none reads or writes what a command in flight
// on the other engine writes, and the stream ends within DSP_MAX_CYCLES. Else 1, and `out` has the first
// defect.
int dsp_verify(const dsp_stream* stream, const dsp_layout* layout, dsp_defect* out);
// Returns the cycles of one run of a verified stream. They do not depend on data.
uint64_t dsp_total_cycles(const dsp_stream* stream);

typedef struct dsp_memories {
  uint8_t* tcm;
  uint8_t* arena;
  const uint8_t* constants;
  const uint8_t* inputs[DSP_MAX_IO];
  uint8_t* outputs[DSP_MAX_IO];
  uint32_t input_count;
} dsp_memories;

// Called after each layer with the cycles at its begin and end, from 0 at the start of the run. A result
// other than 0 ends the run.
typedef struct dsp_observer {
  int (*layer)(void* ctx, uint32_t index, uint64_t begin_cycle, uint64_t end_cycle);
  void* ctx;
} dsp_observer;

// Runs a verified stream. Returns 0, or the result of the observer that ended the run. `clock` has the final
// state.
int dsp_run(const dsp_stream* stream, const dsp_memories* memories, const dsp_observer* observer,
            dsp_clock* clock);

// The arithmetic rule of results: rounds value * multiplier / 2^shift to the nearest integer, ties towards
// plus infinity. shift is 1 to 62; others count as the nearest of these.
int64_t dsp_requantise(int64_t value, int32_t multiplier, uint32_t shift);
// The same rule for sums of int16 codes: the value is saturated to 48 bits. shift is 0 to 62.
int64_t dsp_requantise_wide(int64_t value, int16_t multiplier, uint32_t shift);
// The rule of tables of int16 codes: the code `rest` steps of 2^fraction after the sample `before`, rounded once as above.
int64_t dsp_interpolate(int32_t before, int32_t after, uint32_t rest, uint32_t fraction,
                        uint32_t sample_bits);
// Bytes of the table that a TABLE command reads.
uint32_t dsp_table_bytes(uint32_t wide, uint32_t fraction);

#ifdef __cplusplus
}
#endif

#endif
