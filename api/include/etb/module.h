// Running programs (.pte) from C: load, give inputs, run, read outputs.
//
// This is the application's side; plugins never see it. A module owns everything (file, memory, kernels, threads). Its
// functions are [serial:module]; two modules may run on two threads. Nothing here aborts or prints.
//
//   etb_error error = ETB_ERROR_INIT;
//   etb_module* module = NULL;
//   if (etb_module_open("model.pte", NULL, &module, &error) != ETB_OK) return fail(error.text);
//   etb_value input = etb_value_tensor(ETB_DTYPE_FLOAT32, 1, sizes, data, sizeof data), output = ETB_VALUE_INIT;
//   etb_module_set_input(module, "forward", 0, &input, &error);
//   etb_module_execute(module, "forward", NULL, &error);
//   etb_module_get_output(module, "forward", 0, &output, &error);   // output.tensor.data
//   etb_module_close(module);
#ifndef ETB_MODULE_H_
#define ETB_MODULE_H_

#include "etb/base.h"
#include "etb/status.h"
#include "etb/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct etb_module etb_module;

// What a value is.
#define ETB_VALUE_NONE 0u
#define ETB_VALUE_TENSOR 1u
#define ETB_VALUE_INT 2u
#define ETB_VALUE_DOUBLE 3u
#define ETB_VALUE_BOOL 4u
#define ETB_VALUE_OTHER 5u  // a string or a list; cannot cross here

// One input or output. Which field counts is said by `kind`; the others are zero. The tensor lies inside, so this struct never grows:
// a later version gets a struct of its own.
typedef struct etb_value {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  uint32_t kind;   // ETB_VALUE_*
  uint32_t boolean;
  int64_t integer;
  double real;
  etb_tensor tensor;
} etb_value;

#define ETB_VALUE_INIT                                                 \
  {                                                                    \
    ETB_INIT_SIZE(etb_value), 0, 0, 0, 0, 0, {                         \
      ETB_INIT_SIZE(etb_tensor), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }                                                                  \
  }

// A tensor value in row-major order over memory of the caller. `sizes` has rank entries and stays valid with the value.
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

// How a file comes into memory.
#define ETB_LOAD_MMAP 0u           // pages come in when first touched; SIGBUS when the file becomes shorter meanwhile
#define ETB_LOAD_FILE 1u           // read into memory; the file may change or become shorter afterwards
#define ETB_LOAD_MMAP_LOCK 2u      // mapped and kept in memory, or refused
#define ETB_LOAD_MMAP_TRY_LOCK 3u  // mapped, and kept in memory where the system's limit allows

typedef struct etb_module_options {
  uint32_t struct_size;
  uint32_t flags;                 // must be zero
  uint32_t load_mode;             // ETB_LOAD_*
  uint32_t thread_count;          // for kernels; 0: as many as the machine has
  uint64_t max_memory_bytes;      // refuses programs that need more; 0: 16 GiB, or less
  const char* const* data_paths;  // data_path_count external weight files (.ptd), borrowed-for-call
  uint64_t data_path_count;
} etb_module_options;

#define ETB_MODULE_OPTIONS_INIT \
  { ETB_INIT_SIZE(etb_module_options), 0, ETB_LOAD_MMAP, 1, 0, 0, 0 }

// When a run has to stop. All zero: only when it loops for ever.
typedef struct etb_run_limits {
  uint32_t struct_size;
  uint32_t flags;             // must be zero
  uint64_t max_instructions;  // 0: 4,294,967,296 in loops; UINT64_MAX: no limit
  uint64_t timeout_ns;        // from the call on; 0: none. Looked at inside kernels, too
} etb_run_limits;

// Opens and verifies a program.
//
// path     [borrowed-for-call]
// options  [borrowed-for-call] NULL: the defaults of ETB_MODULE_OPTIONS_INIT
// out      [transferred-handle] ended by etb_module_close; untouched on error
// returns  ETB_OK; ETB_NOT_FOUND; ETB_ACCESS_FAILED; ETB_INVALID_PROGRAM (with the place); ETB_NOT_SUPPORTED
// threads  [any]   since 1.0
ETB_EXPORT etb_status ETB_CALL etb_module_open(const char* path, const etb_module_options* options,
                                               etb_module** out, etb_error* error);

// The same for a program in memory.
//
// bytes    [borrowed-until-destroy] on a 16-byte boundary
ETB_EXPORT etb_status ETB_CALL etb_module_open_bytes(etb_bytes bytes, const etb_module_options* options,
                                                     etb_module** out, etb_error* error);

// Ends a module; NULL is fine.
// threads  [serial:module]   since 1.0
ETB_EXPORT void ETB_CALL etb_module_close(etb_module* module);

// Methods of the program. The name is valid until close; NULL when there is no method `index`.
// threads  [serial:module]   since 1.0
ETB_EXPORT uint32_t ETB_CALL etb_module_method_count(const etb_module* module);
ETB_EXPORT const char* ETB_CALL etb_module_method_name(const etb_module* module, uint32_t index);

// Makes a method ready; execute does it by itself. Loading again is fine.
//
// returns  ETB_OK; ETB_NOT_FOUND (method); ETB_OPERATOR_MISSING (all of them, with dtypes); ETB_OUT_OF_MEMORY
// threads  [serial:module]   since 1.0
ETB_EXPORT etb_status ETB_CALL etb_module_load_method(etb_module* module, const char* method,
                                                      etb_error* error);

// Ends a method and its state; the next run starts from initial values. A method that is not loaded is fine.
// threads  [serial:module]   since 1.0
ETB_EXPORT void ETB_CALL etb_module_unload_method(etb_module* module, const char* method);

// How many inputs and outputs a method has.
// threads  [serial:module]   since 1.0
ETB_EXPORT etb_status ETB_CALL etb_module_io_count(etb_module* module, const char* method,
                                                   uint32_t* out_input_count, uint32_t* out_output_count,
                                                   etb_error* error);

// What an input or output looks like: kind, dtype, rank, sizes (upper bounds of a dynamic tensor), dim order. No data. The
// arrays are valid until the next call on the module. Loads the method.
// threads  [serial:module]   since 1.0
ETB_EXPORT etb_status ETB_CALL etb_module_input_spec(etb_module* module, const char* method, uint32_t index,
                                                     etb_value* out, etb_error* error);
ETB_EXPORT etb_status ETB_CALL etb_module_output_spec(etb_module* module, const char* method, uint32_t index,
                                                      etb_value* out, etb_error* error);

// Gives an input its value. Loads the method.
//
// value    [borrowed-for-call] A tensor's bytes are copied, or, when the program leaves that input's memory to the caller,
//          borrowed until the run after this call has ended.
// returns  ETB_OK; ETB_INVALID_ARGUMENT naming index, found and expected
// threads  [serial:module]   since 1.0
ETB_EXPORT etb_status ETB_CALL etb_module_set_input(etb_module* module, const char* method, uint32_t index,
                                                    const etb_value* value, etb_error* error);

// Where an output is written that the program leaves to the caller; borrowed until the method is unloaded or given another.
// threads  [serial:module]   since 1.0
ETB_EXPORT etb_status ETB_CALL etb_module_set_output(etb_module* module, const char* method, uint32_t index,
                                                     void* memory, uint64_t nbytes, etb_error* error);

// Runs a method on the inputs set before. State of the program persists between runs.
//
// limits   [borrowed-for-call] NULL: all zero
// returns  ETB_OK; ETB_INVALID_STATE (an input was never set); what the program or a backend answers; ETB_OUT_OF_RESOURCES or
//          ETB_DEADLINE_EXCEEDED at a limit. On error outputs hold unspecified bytes and the module stays usable.
// threads  [serial:module]   since 1.0   may block: yes
ETB_EXPORT etb_status ETB_CALL etb_module_execute(etb_module* module, const char* method,
                                                  const etb_run_limits* limits, etb_error* error);

// An output of the last run.
//
// out      a tensor's data and arrays are the module's, valid until the method runs again or is unloaded
// threads  [serial:module]   since 1.0
ETB_EXPORT etb_status ETB_CALL etb_module_get_output(etb_module* module, const char* method, uint32_t index,
                                                     etb_value* out, etb_error* error);

#ifdef __cplusplus
}
#endif

#endif
