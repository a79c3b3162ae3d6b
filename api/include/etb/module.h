// SPDX-License-Identifier: Apache-2.0
//
// Running programs (.pte) from C: load a program, set inputs, run, read outputs.
//
// This is the API of applications; plugins never see it. A module owns everything: file, memory, kernels,
// threads. Its functions are [serial:module]; two modules may run on two threads. No function aborts or
// prints.
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
//     etb_value left = etb_value_tensor(ETB_DTYPE_FLOAT32, 1, sizes, x, 3 * sizeof *x);
//     etb_value right = etb_value_tensor(ETB_DTYPE_FLOAT32, 1, sizes, y, 3 * sizeof *y);
//     etb_value sum = ETB_VALUE_INIT;
//     etb_status status = etb_module_open(path, NULL, &module, &error);
//     if (status == ETB_OK) status = etb_module_set_input(module, "forward", 0, &left, &error);
//     if (status == ETB_OK) status = etb_module_set_input(module, "forward", 1, &right, &error);
//     if (status == ETB_OK) status = etb_module_execute(module, "forward", NULL, &error);
//     if (status == ETB_OK) status = etb_module_get_output(module, "forward", 0, &sum, &error);
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

// Options of etb_module_open.
typedef struct etb_module_options {
  uint32_t struct_size;
  uint32_t flags;                 // must be zero
  uint32_t load_mode;             // ETB_LOAD_*
  uint32_t thread_count;          // for kernels; 0: as many as the machine has
  uint64_t max_memory_bytes;      // programs that need more are rejected; 0: 16 GiB, or less
  const char* const* data_paths;  // [borrowed-for-call] data_path_count external weight files (.ptd)
  uint64_t data_path_count;
} etb_module_options;

// Initialiser of an etb_module_options: mapped, one thread, default memory limit, no external weights.
#define ETB_MODULE_OPTIONS_INIT \
  { ETB_INIT_SIZE(etb_module_options), 0, ETB_LOAD_MMAP, 1, 0, 0, 0 }

// Limits of one run. All zero: only a program that loops for ever is stopped.
typedef struct etb_run_limits {
  uint32_t struct_size;
  uint32_t flags;             // must be zero
  uint64_t max_instructions;  // 0: 4,294,967,296 in loops; UINT64_MAX: no limit
  uint64_t timeout_ns;        // from the start of the call; 0: none. Kernels check it too
} etb_run_limits;

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

// Ends a module.
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

// Ends a method and its state; the next run starts from initial values.
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

// Describes an input: kind, dtype, rank, sizes (upper bounds of a dynamic tensor), dim order, but no data.
// Loads the method.
//
// method   [borrowed-for-call] its name.
// out      the caller initialises it with ETB_VALUE_INIT; its arrays are valid until the next call on the
//          module.
// returns  ETB_OK; ETB_NOT_FOUND (method); ETB_INVALID_ARGUMENT (index); the errors of
//          etb_module_load_method.
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

#ifdef __cplusplus
}
#endif

#endif
