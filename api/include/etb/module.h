// SPDX-License-Identifier: Apache-2.0
//
// Running programs (.pte) from C: load a program, set inputs, run, read outputs.
//
// This is the API of applications; plugins never see it. A module owns everything: file, memory, kernels. It
// runs delegates of the program on plugins, found by name among the installed ones, and the rest on portable
// kernels. Its functions are [serial:module]; two modules may run on two threads. No function aborts or prints.
// Where a function takes the name of a method, NULL means "forward", or the first method if there is none of
// that name.
//
// Example add.c: adds two vectors with a program whose method "forward" returns x + y. The test
// header_examples compiles it; docs/examples/run_program.c is the same with a matrix.
//
//   #include <stdio.h>
//
//   #include "etb/module.h"
//
//   int add(const char* path, float x[3], float y[3]) {
//     etb_error error = ETB_ERROR_INIT;
//     etb_module* module = NULL;
//     int64_t sizes[1] = {3};
//     etb_value inputs[2] = {etb_value_tensor(ETB_DTYPE_FLOAT32, 1, sizes, x, 3 * sizeof *x),
//                            etb_value_tensor(ETB_DTYPE_FLOAT32, 1, sizes, y, 3 * sizeof *y)};
//     etb_value sum = ETB_VALUE_INIT;
//     etb_status status = etb_module_open(path, NULL, &module, &error);
//     if (status == ETB_OK) status = etb_module_call(module, NULL, inputs, 2, NULL, &sum, 1, &error);
//     if (status == ETB_OK)
//       printf("%g\n", ((const float*)sum.tensor.data)[2]);
//     else
//       fprintf(stderr, "%s\n", error.text);
//     etb_module_close(module);
//     return status == ETB_OK ? 0 : 1;
//   }
#ifndef ETB_MODULE_H_
#define ETB_MODULE_H_

#include "etb/base.h"
#include "etb/delegate.h"
#include "etb/host.h"
#include "etb/recording.h"
#include "etb/registry.h"
#include "etb/status.h"
#include "etb/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// An open program; made by etb_module_open, ended by etb_module_close.
typedef struct etb_module etb_module;

// Kind of a value; it names the field of etb_value that holds it.
#define ETB_VALUE_NONE 0u
#define ETB_VALUE_TENSOR 1u
#define ETB_VALUE_INT 2u
#define ETB_VALUE_DOUBLE 3u
#define ETB_VALUE_BOOL 4u
#define ETB_VALUE_OTHER 5u  // a string or a list; it cannot cross here

// One input or output. Only the field that `kind` names is read; the others are zero. The tensor is a member,
// not a pointer, so this struct never grows: a later version gets a struct of its own.
typedef struct etb_value {
  uint32_t struct_size;
  uint32_t flags;     // must be zero
  uint32_t kind;      // ETB_VALUE_*
  uint32_t boolean;   // BOOL: 0 or 1
  int64_t integer;    // INT
  double real;        // DOUBLE
  etb_tensor tensor;  // TENSOR
} etb_value;

// Initialiser of an etb_value of kind NONE.
#define ETB_VALUE_INIT                                                 \
  {                                                                    \
    ETB_INIT_SIZE(etb_value), 0, 0, 0, 0, 0, {                         \
      ETB_INIT_SIZE(etb_tensor), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }                                                                  \
  }

// Makes a tensor value in row-major order over memory of the caller.
//
// sizes    rank entries; they stay valid as long as the value.
// data     nbytes of them; they stay valid as long as the value.
// since    1.0
static inline etb_value etb_value_tensor(etb_dtype dtype, uint32_t rank, int64_t* sizes, void* data,
                                         uint64_t nbytes) {
  etb_value value = ETB_VALUE_INIT;
  value.kind = ETB_VALUE_TENSOR;
  value.tensor.dtype = dtype;
  value.tensor.rank = rank;
  value.tensor.sizes = sizes;
  value.tensor.data = data;
  value.tensor.capacity_bytes = nbytes;
  return value;
}

// How a file comes into memory. Choose MMAP for files that do not change; FILE for a server, which survives a
// file that another process shortens.
#define ETB_LOAD_MMAP 0u           // pages are read at the first access; SIGBUS if the file is cut meanwhile
#define ETB_LOAD_FILE 1u           // read into memory; the file may change or become shorter afterwards
#define ETB_LOAD_MMAP_LOCK 2u      // mapped and locked in memory; an error where a limit forbids it
#define ETB_LOAD_MMAP_TRY_LOCK 3u  // mapped, and locked in memory where the system's limit allows it

// Flags of etb_module_options.
#define ETB_MODULE_NO_PLUGINS 0x1u  // programs with delegates are rejected
#define ETB_MODULE_SHARED_ARENAS \
  0x2u                          // all methods use one set of arenas; they must not depend on each other's
#define ETB_MODULE_SECURE 0x4u  // kernel libraries need a digest and belong to root

// A delegate's run goes on while instructions run that do not depend on it, so that devices, plugins and kernels work at the
// same time. Results are the same. A plugin without asynchronous runs gets a thread. A run with `trace` or `recording`
// is in order.
#define ETB_MODULE_ASYNC 0x8u

// Kind of a trace event.
#define ETB_TRACE_LOAD_METHOD 0u
#define ETB_TRACE_EXECUTE 1u
#define ETB_TRACE_KERNEL 2u
#define ETB_TRACE_DELEGATE 3u
#define ETB_TRACE_MOVE 4u
#define ETB_TRACE_JUMP_FALSE 5u
#define ETB_TRACE_FREE 6u
#define ETB_TRACE_INIT_METHOD 7u  // a part of LOAD_METHOD, reported before it

// One thing that a method did while it was loaded or ran.
typedef struct etb_trace_event {
  uint32_t struct_size;
  uint32_t flags;             // must be zero
  uint32_t kind;              // ETB_TRACE_*
  int32_t chain_index;        // -1 outside of chains
  int32_t instruction_index;  // in its chain; -1 outside
  uint32_t reserved;          // must be zero
  const char* name;           // kernel, method or delegate id
  uint64_t begin_ns;          // on a monotonic clock
  uint64_t end_ns;
} etb_trace_event;

// Sink of trace events. The rules of all sinks are in base.h; the status is ignored.
typedef struct etb_trace_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Receives one event when its work has ended, so the events of a delegate come before its own.
  //
  // event    [borrowed-for-call]
  // returns  ETB_OK; any other status is ignored.
  // presence required
  // threads  [serial:module]
  // since    1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_trace_event* event);

  // Receives the events that plugins make inside their delegates; NULL: none are wanted.
  const etb_event_sink* delegate_events;
} etb_trace_sink;

// Allocators of planned memory. A program has planned memory of ids 1, 2, ...: one id, or those of
// `etbackend compile --memory`.
typedef struct etb_memory_allocators {
  uint32_t struct_size;
  uint32_t flags;  // must be zero

  // count allocators; by_id[i] allocates the memory with id i + 1 in one piece, exactly as large as planned. NULL: the
  // allocator of the module. Allocated memory is aligned to 64 bytes, and freed with the method.
  const etb_alloc_service* const* by_id;
  uint64_t count;
} etb_memory_allocators;

// Initialiser of an etb_memory_allocators.
#define ETB_MEMORY_ALLOCATORS_INIT \
  { ETB_INIT_SIZE(etb_memory_allocators), 0, 0, 0 }

// Options of etb_module_open. The struct is borrowed-for-call, and so is all that it points to, except
// `allocator`, those of `memory_allocators`, `trace`, `recording` and the registry's content, which live as long as the
// module.
typedef struct etb_module_options {
  uint32_t struct_size;
  uint32_t flags;                 // ETB_MODULE_*
  uint32_t load_mode;             // ETB_LOAD_*
  uint32_t thread_count;          // for kernels and plugins; 0: one for each processor; not with a registry
  uint64_t max_memory_bytes;      // programs that need more are rejected; 0: 16 GiB, or less
  const char* const* data_paths;  // data_path_count external weight files (.ptd)
  uint64_t data_path_count;

  // The registry that finds plugins, and whose threads the module uses. NULL: the installed plugins. Modules
  // without a registry and with equal thread_count share threads and plugins.
  etb_registry* registry;
  const etb_backend_choice* choices;  // choice_count of them; each replaces the registry's for the same id
  uint64_t choice_count;
  const etb_setting* settings;  // setting_count options for devices, delegates, contexts and runs
  uint64_t setting_count;
  const char* const* kernel_libraries;  // kernel_library_count libraries: PATH or PATH@sha256:HEX
  uint64_t kernel_library_count;
  const etb_alloc_service* allocator;  // memory of arenas, state, scratch and outputs; NULL: the C library's
  const etb_trace_sink* trace;         // NULL: nothing is traced, and no clock is read
  uint64_t random_seed;                // seed of operators that draw random numbers

  // Records loading and runs; it lives as long as the module and serves no other one. NULL: nothing is recorded. Not
  // with `trace`.
  etb_recording* recording;
  const etb_memory_allocators* memory_allocators;  // they live as long as the module; NULL: `allocator`

  // Most bytes that the delegates of one device may hold, as their plugins state them: those of all modules of the registry.
  // Loading a method that needs more fails, and the error has the bytes of each delegate. 0: no limit.
  uint64_t max_device_bytes;
} etb_module_options;

// Initialiser of an etb_module_options: mapped file, one thread for each processor, installed plugins.
#define ETB_MODULE_OPTIONS_INIT \
  { ETB_INIT_SIZE(etb_module_options), 0, ETB_LOAD_MMAP, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

// Flag of etb_run_limits: etb_module_cancel stops this run. With a plugin that can cancel, such a run takes some
// microseconds more. Runs of etb_module_start need no flag.
#define ETB_RUN_CANCELLABLE 0x1u

// Limits of one run, its priority and its number. All zero: only a program that loops for ever is stopped.
typedef struct etb_run_limits {
  uint32_t struct_size;
  uint32_t flags;             // ETB_RUN_*
  uint64_t max_instructions;  // 0: 4,294,967,296 in loops; UINT64_MAX: no limit
  uint64_t timeout_ns;        // from the start of the call; 0: none. Kernels and plugins check it too
  uint32_t priority;          // for plugins that order the runs of a device: 1 (background) to 1000; 0: 500, normal
  uint32_t reserved;          // must be zero
  uint64_t run_id;            // number of the run in logs and traces of plugins; 0: the library chooses one
} etb_run_limits;

// Initialiser of an etb_run_limits.
#define ETB_RUN_LIMITS_INIT \
  { ETB_INIT_SIZE(etb_run_limits), 0, 0, 0, 0, 0, 0 }

// The plugin that serves one delegate of the program, and why. Its texts are borrowed from the module.
typedef struct etb_decision {
  uint32_t struct_size;
  uint32_t flags;              // must be zero
  const char* backend_id;      // delegate id in the program
  const char* plugin_id;       // "" when no plugin could be used
  const char* plugin_version;  // "" likewise
  const char* rule;            // the rule that decided, such as "only candidate"
  const char* json;            // all candidates and places, as `etbackend explain --json` prints them
} etb_decision;

// Initialiser of an etb_decision.
#define ETB_DECISION_INIT \
  { ETB_INIT_SIZE(etb_decision), 0, 0, 0, 0, 0, 0 }

// Opens and verifies a program.
//
// path     [borrowed-for-call]
// options  [borrowed-for-call] NULL: the defaults of ETB_MODULE_OPTIONS_INIT.
// out      [transferred-handle] ended by etb_module_close; unchanged on error.
// returns  ETB_OK; ETB_NOT_FOUND; ETB_ACCESS_FAILED; ETB_INVALID_PROGRAM (with the location);
//          ETB_NOT_SUPPORTED.
// threads  [any]   may block: yes
// since    1.0     mirrors  ExecuTorch extension/module/module.h, Module::load
ETB_EXPORT etb_status ETB_CALL etb_module_open(const char* path, const etb_module_options* options,
                                               etb_module** out, etb_error* error);

// Opens and verifies a program in memory.
//
// bytes    [borrowed-until-destroy] on a 16-byte boundary.
// options  [borrowed-for-call] NULL: the defaults of ETB_MODULE_OPTIONS_INIT.
// out      [transferred-handle] ended by etb_module_close; unchanged on error.
// returns  as etb_module_open.
// threads  [any]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_module_open_bytes(etb_bytes bytes, const etb_module_options* options,
                                                     etb_module** out, etb_error* error);

// Opens and verifies a program in a part of an open file, such as an asset in a package.
//
// descriptor  of a plain file; the caller keeps it and may close it after the call.
// offset      first byte of the program.
// nbytes      0: to the end of the file.
// options     [borrowed-for-call] NULL: the defaults of ETB_MODULE_OPTIONS_INIT. load_mode is not read: the
//             file is mapped.
// out         [transferred-handle] ended by etb_module_close; unchanged on error.
// returns     as etb_module_open.
// threads     [any]   may block: yes
// since       1.0
ETB_EXPORT etb_status ETB_CALL etb_module_open_descriptor(int descriptor, uint64_t offset, uint64_t nbytes,
                                                          const etb_module_options* options, etb_module** out,
                                                          etb_error* error);

// Opens a second module on the program of a first one: the file is mapped once, methods, memory and state are
// its own. So two threads can run one program.
//
// module   stays independent of the new one; either may be closed first.
// options  [borrowed-for-call] as etb_module_open.
// out      [transferred-handle] ended by etb_module_close; unchanged on error.
// returns  as etb_module_open.
// threads  [serial:module]   may block: yes
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_module_open_again(etb_module* module, const etb_module_options* options,
                                                     etb_module** out, etb_error* error);

// Ends a module. A run that etb_module_start began is cancelled and waited for.
//
// module   consumed; may be NULL.
// threads  [serial:module]
// since    1.0
ETB_EXPORT void ETB_CALL etb_module_close(etb_module* module);

// Returns the number of methods of the program.
//
// threads  [serial:module]
// since    1.0
ETB_EXPORT uint32_t ETB_CALL etb_module_method_count(const etb_module* module);

// Returns the name of a method.
//
// returns  valid until close; NULL when there is no method `index`.
// threads  [serial:module]
// since    1.0
ETB_EXPORT const char* ETB_CALL etb_module_method_name(const etb_module* module, uint32_t index);

// Makes a method ready to run. Other functions do it on demand; loading a loaded method does nothing.
//
// method   [borrowed-for-call] its name.
// returns  ETB_OK; ETB_NOT_FOUND (method); ETB_OPERATOR_MISSING (all of them, with dtypes);
//          ETB_OUT_OF_MEMORY.
// threads  [serial:module]   may block: yes
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_module_load_method(etb_module* module, const char* method,
                                                      etb_error* error);

// Ends a method and its state; the next run starts from initial values. Does nothing while a started run uses the
// module, or another module its recording.
//
// method   [borrowed-for-call] its name; a method that is not loaded is no error.
// threads  [serial:module]
// since    1.0
ETB_EXPORT void ETB_CALL etb_module_unload_method(etb_module* module, const char* method);

// Returns the number of inputs and outputs of a method.
//
// method   [borrowed-for-call] its name.
// returns  ETB_OK; ETB_NOT_FOUND (method).
// threads  [serial:module]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_module_io_count(etb_module* module, const char* method,
                                                   uint32_t* out_input_count, uint32_t* out_output_count,
                                                   etb_error* error);

// Returns the number of delegates of a method. The method need not be loaded, nor its plugins be installed.
//
// method   [borrowed-for-call] its name.
// returns  ETB_OK; ETB_NOT_FOUND (method).
// threads  [serial:module]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_module_delegate_count(etb_module* module, const char* method,
                                                         uint32_t* out_count, etb_error* error);

// Returns the id of a delegate of a method, such as "XnnpackBackend". Several delegates may have one id.
//
// method   [borrowed-for-call] its name.
// out_id   receives a text that is valid until the next call on the module.
// returns  ETB_OK; ETB_NOT_FOUND (method); ETB_INVALID_ARGUMENT (index).
// threads  [serial:module]
// since    1.0     mirrors  ExecuTorch runtime/executor/method_meta.h, MethodMeta::get_backend_name
ETB_EXPORT etb_status ETB_CALL etb_module_delegate_id(etb_module* module, const char* method, uint32_t index,
                                                      const char** out_id, etb_error* error);

// Describes an input: kind, dtype, rank, sizes (upper bounds of a dynamic tensor), dim order, but no data. The
// method need not be loaded.
//
// method   [borrowed-for-call] its name.
// out      the caller initialises it with ETB_VALUE_INIT; its arrays are valid until the next call on the
//          module.
// returns  ETB_OK; ETB_NOT_FOUND (method); ETB_INVALID_ARGUMENT (index).
// threads  [serial:module]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_module_input_spec(etb_module* module, const char* method, uint32_t index,
                                                     etb_value* out, etb_error* error);

// Describes an output, as etb_module_input_spec describes an input.
//
// threads  [serial:module]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_module_output_spec(etb_module* module, const char* method, uint32_t index,
                                                      etb_value* out, etb_error* error);

// Sets an input. Loads the method.
//
// method   [borrowed-for-call] its name.
// value    [borrowed-for-call] A tensor's bytes are copied. Only when the program leaves the memory of that
//          input to the caller they are borrowed, until the run after this call has ended.
// returns  ETB_OK; ETB_INVALID_ARGUMENT (index, kind, dtype or sizes: with found and expected); the errors of
//          etb_module_load_method.
// threads  [serial:module]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_module_set_input(etb_module* module, const char* method, uint32_t index,
                                                    const etb_value* value, etb_error* error);

// Sets the memory of an output that the program leaves to the caller.
//
// method   [borrowed-for-call] its name.
// memory   nbytes of them, borrowed until the method is unloaded or the output gets other memory.
// returns  ETB_OK; ETB_INVALID_ARGUMENT (index, or too few bytes); the errors of etb_module_load_method.
// threads  [serial:module]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_module_set_output(etb_module* module, const char* method, uint32_t index,
                                                     void* memory, uint64_t nbytes, etb_error* error);

// Changes an option of the delegates of an open module, as a setting of etb_module_options does when it is opened.
// Methods that are loaded later get it, too. The scopes in the plugin's schema decide what changes: later runs of the
// module; else its contexts; else its delegates. Other modules keep their values: a delegate that they share does not
// change. An option that is fixed when a delegate is made, or belongs to a device, can change while no loaded method
// has a delegate of that id.
//
// backend_id  [borrowed-for-call] delegate id in the program.
// key         [borrowed-for-call] one that the plugin lists.
// text        [borrowed-for-call] the value, as in etb_setting.
// returns     ETB_OK; ETB_NOT_FOUND (delegate id, plugin or key: with those that exist); ETB_INVALID_ARGUMENT (value:
//             with the type, bounds or choices expected; or an option of the plugin itself); ETB_INVALID_STATE (no
//             change now, with the reason); ETB_NOT_SUPPORTED (no plugins); the plugin's error. On error the value
//             stays, unless the plugin rejects the change for the second of several delegates of the id, or a later one.
// threads     [serial:module]   may block: yes
// since       1.0
ETB_EXPORT etb_status ETB_CALL etb_module_set_option(etb_module* module, const char* backend_id,
                                                     const char* key, const char* text, etb_error* error);

// Runs a method on the inputs set before. State of the program persists between runs.
//
// method   [borrowed-for-call] its name.
// limits   [borrowed-for-call] NULL: all zero.
// returns  ETB_OK; ETB_INVALID_STATE (an input was never set); ETB_OUT_OF_RESOURCES or ETB_DEADLINE_EXCEEDED
//          at a limit; the error of the program or a backend. On error outputs hold unspecified bytes and the
//          module stays usable.
// threads  [serial:module]   may block: yes
// since    1.0     mirrors  ExecuTorch extension/module/module.h, Module::execute
ETB_EXPORT etb_status ETB_CALL etb_module_execute(etb_module* module, const char* method,
                                                  const etb_run_limits* limits, etb_error* error);

// Returns an output of the last run.
//
// method   [borrowed-for-call] its name.
// out      the caller initialises it with ETB_VALUE_INIT. A tensor's data and arrays belong to the module and
//          are valid until the method runs again or is unloaded.
// returns  ETB_OK; ETB_INVALID_ARGUMENT (index); ETB_INVALID_STATE (no run yet).
// threads  [serial:module]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_module_get_output(etb_module* module, const char* method, uint32_t index,
                                                     etb_value* out, etb_error* error);

// Sets all inputs, runs a method, and returns its outputs: etb_module_set_input, etb_module_execute and
// etb_module_get_output in one call.
//
// method   [borrowed-for-call] its name.
// inputs   [borrowed-for-call] input_count of them: as many as the method has.
// limits   [borrowed-for-call] NULL: all zero.
// outputs  receives the first output_count outputs, as etb_module_get_output. The caller initialises each with
//          ETB_VALUE_INIT.
// returns  the errors of the three functions; ETB_INVALID_ARGUMENT (input_count or output_count does not suit).
// threads  [serial:module]   may block: yes
// since    1.0     mirrors  ExecuTorch extension/module/module.h, Module::forward
ETB_EXPORT etb_status ETB_CALL etb_module_call(etb_module* module, const char* method,
                                               const etb_value* inputs, uint32_t input_count,
                                               const etb_run_limits* limits, etb_value* outputs,
                                               uint32_t output_count, etb_error* error);

// Receives the end of a run that etb_module_start began.
//
// ctx      as given to etb_module_start.
// status   of the run.
// error    [borrowed-for-call] NULL after ETB_OK.
// threads  [serial:module]
// since    1.0
typedef void(ETB_CALL* etb_run_done_fn)(void* ctx, etb_status status, const etb_error* error);

// Starts a run on a thread of the module and returns. Until the run has ended, other calls on the module
// return ETB_BUSY, except etb_module_cancel, etb_module_wait and etb_module_close.
//
// method   [borrowed-for-call] its name. It is loaded before this call returns.
// limits   [borrowed-for-call] NULL: all zero. The time counts from this call.
// done     called once when the run has ended, on the module's thread, after the module is ready for further
//          calls; it may start the next run, and must not close or wait. NULL: nothing is called.
// ctx      first argument of `done`.
// returns  ETB_OK: the run was started, `done` will be called; the errors of etb_module_load_method;
//          ETB_INVALID_STATE (an input was never set); ETB_BUSY; ETB_OUT_OF_RESOURCES (no thread). On error
//          `done` is not called.
// threads  [serial:module]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_module_start(etb_module* module, const char* method,
                                                const etb_run_limits* limits, etb_run_done_fn done, void* ctx,
                                                etb_error* error);

// Waits until the run that etb_module_start began has ended, and returns its status.
//
// timeout_ns  UINT64_MAX: no limit; 0: only asks.
// returns     the status and the error of the run; ETB_DEADLINE_EXCEEDED with reason "module.running" when it
//             has not ended; ETB_INVALID_STATE when no run was started.
// threads     [any]   may block: yes
// since       1.0
ETB_EXPORT etb_status ETB_CALL etb_module_wait(etb_module* module, uint64_t timeout_ns, etb_error* error);

// Asks the present run of a module to stop: one of etb_module_start, or one with ETB_RUN_CANCELLABLE. The run then
// returns ETB_CANCELLED, unless it ends first. Without a run the call has no effect.
//
// threads  [any]
// since    1.0
ETB_EXPORT void ETB_CALL etb_module_cancel(etb_module* module);

// Returns the number of delegates that loaded methods asked for, failed ones included.
//
// threads  [serial:module]
// since    1.0
ETB_EXPORT uint32_t ETB_CALL etb_module_decision_count(const etb_module* module);

// Reports which plugin serves a delegate of the loaded methods, and why.
//
// out      the caller initialises it with ETB_DECISION_INIT; its texts are valid until the next call on the
//          module.
// returns  ETB_OK; ETB_INVALID_ARGUMENT (index).
// threads  [serial:module]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_module_decision(etb_module* module, uint32_t index, etb_decision* out,
                                                   etb_error* error);

#ifdef __cplusplus
}
#endif

#endif
