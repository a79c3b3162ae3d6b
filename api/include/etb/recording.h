// SPDX-License-Identifier: Apache-2.0
//
// Recordings: what a module did, as an ETDump (.etdp) that `etbackend inspect` and ExecuTorch's Inspector open.
//
// Open a recording, name it in the options of a module, run the module, write the file:
//
//   etb_recording* recording = NULL;
//   etb_module_options options = ETB_MODULE_OPTIONS_INIT;
//   etb_status status = etb_recording_open(NULL, &recording, &error);
//   options.recording = recording;
//   if (status == ETB_OK) status = etb_module_open("model.pte", &options, &module, &error);
//   if (status == ETB_OK) status = etb_module_call(module, NULL, &input, 1, NULL, &output, 1, &error);
//   if (status == ETB_OK) status = etb_recording_write(recording, "run.etdp", &error);
//   etb_module_close(module);
//   etb_recording_close(recording);
//
// A recording has a block "Default" for each method that is loaded, and a block "Execute" for each run: the times of
// the method, its operators and delegates, and of the events that plugins report. On request it has allocations, and
// the values that operators and delegates compute; the elements of tensors are in the debug buffer, a second file or
// memory. docs/profiling.md describes the events.
//
// A recording serves one module at a time: while a call or a started run uses it, other modules that have it and its own
// functions return ETB_BUSY.
#ifndef ETB_RECORDING_H_
#define ETB_RECORDING_H_

#include "etb/base.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// A record of what modules did; made by etb_recording_open, ended by etb_recording_close.
typedef struct etb_recording etb_recording;

// Instructions to record.
#define ETB_RECORD_ALL 0u     // each operator and delegate, and the events inside of delegates
#define ETB_RECORD_METHOD 1u  // only the whole method, at the least cost

// Values to record.
#define ETB_RECORD_NO_VALUES 0u
#define ETB_RECORD_OUTPUTS 1u     // outputs of the method
#define ETB_RECORD_ALL_VALUES 2u  // also what operators compute, and the arguments of delegates

// Flags of etb_recording_options.
#define ETB_RECORD_ALLOCATIONS \
  0x1u  // memory by allocator; ExecuTorch's Inspector 1.5.1 does not open such files

#define ETB_RECORD_WIDE_BFLOAT16 \
  0x2u  // bfloat16 as float32; ExecuTorch's Inspector 1.5.1 does not open files with bfloat16 values

// Choice among operators, delegates and the events inside of delegates. All zero: everything.
typedef struct etb_recording_filter {
  uint32_t struct_size;
  uint32_t flags;       // must be zero
  const char* pattern;  // regular expression (ECMAScript) that a part of the name matches; NULL: any name

  // Index of the first instruction in its chain; of an event with a debug id, that id.
  uint64_t first_id;
  uint64_t id_count;  // 0: no limit
} etb_recording_filter;

// Initialiser of an etb_recording_filter: everything.
#define ETB_RECORDING_FILTER_INIT \
  { ETB_INIT_SIZE(etb_recording_filter), 0, 0, 0, 0 }

// Options of etb_recording_open. All pointers are borrowed-for-call.
typedef struct etb_recording_options {
  uint32_t struct_size;
  uint32_t flags;                            // ETB_RECORD_ALLOCATIONS, ETB_RECORD_WIDE_BFLOAT16
  uint32_t instructions;                     // ETB_RECORD_ALL or ETB_RECORD_METHOD
  uint32_t values;                           // ETB_RECORD_NO_VALUES, _OUTPUTS or _ALL_VALUES
  const etb_recording_filter* event_filter;  // times to record; NULL: all
  const etb_recording_filter* value_filter;  // values of operators and delegates to record; NULL: all
  const char* debug_path;                    // file of the debug buffer; NULL: it is kept in memory
  uint64_t max_debug_bytes;                  // of the debug buffer; 0: 16 GiB. Later values are only counted
  uint64_t max_event_bytes;                  // memory for events; 0: 512 MiB. Later events are only counted
} etb_recording_options;

// Initialiser of an etb_recording_options: all times, no values.
#define ETB_RECORDING_OPTIONS_INIT \
  { ETB_INIT_SIZE(etb_recording_options), 0, 0, 0, 0, 0, 0, 0, 0 }

// Opens an empty recording.
//
// options  [borrowed-for-call] NULL: those of ETB_RECORDING_OPTIONS_INIT.
// out      [transferred-handle] ended by etb_recording_close; unchanged on error.
// returns  ETB_OK; ETB_INVALID_ARGUMENT (a pattern that is no regular expression, an unknown level);
//          ETB_ACCESS_FAILED (debug_path).
// threads  [any]   may block: yes
// since    1.0     mirrors  ExecuTorch devtools/etdump/etdump_flatcc.h, ETDumpGen
ETB_EXPORT etb_status ETB_CALL etb_recording_open(const etb_recording_options* options, etb_recording** out,
                                                  etb_error* error);

// Ends a recording. Modules that have it go on; what they record is lost.
//
// recording  consumed; may be NULL.
// threads    [serial:recording]
// since      1.0
ETB_EXPORT void ETB_CALL etb_recording_close(etb_recording* recording);

// Writes what was recorded. If the debug buffer is a file, that file is complete after the first call, and later values
// are only counted.
//
// path     [borrowed-for-call] of the ETDump; a file of this name is replaced.
// returns  ETB_OK; ETB_ACCESS_FAILED; ETB_OUT_OF_RESOURCES (disk full).
// threads  [serial:recording]   may block: yes
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_recording_write(etb_recording* recording, const char* path,
                                                   etb_error* error);

// Makes the ETDump in memory.
//
// out      receives the bytes, which are valid until the next call on the recording.
// returns  ETB_OK; ETB_OUT_OF_MEMORY.
// threads  [serial:recording]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_recording_bytes(etb_recording* recording, etb_bytes* out,
                                                   etb_error* error);

// Returns the debug buffer in memory.
//
// out      receives the bytes, which are valid until the module runs again; none of a debug buffer in a file.
// returns  ETB_OK.
// threads  [serial:recording]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_recording_debug_bytes(etb_recording* recording, etb_bytes* out,
                                                         etb_error* error);

// Forgets what was recorded, and its debug buffer if that is in memory. Does nothing while the recording is used.
//
// threads  [serial:recording]
// since    1.0
ETB_EXPORT void ETB_CALL etb_recording_clear(etb_recording* recording);

// Sets the number that the next runs have in a BundledProgram: the index of their inputs.
//
// index    -1: none.
// threads  [serial:recording]
// since    1.0
ETB_EXPORT void ETB_CALL etb_recording_set_input_index(etb_recording* recording, int32_t index);

// Returns how many events and values were not stored, because a limit was reached; 0 while the recording is used.
//
// threads  [serial:recording]
// since    1.0
ETB_EXPORT uint64_t ETB_CALL etb_recording_dropped_count(const etb_recording* recording);

#ifdef __cplusplus
}
#endif

#endif
