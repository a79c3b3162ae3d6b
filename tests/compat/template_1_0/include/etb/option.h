// Options: typed key-value pairs that can change at run time, with a schema; and compile specs: key-bytes
// pairs fixed ahead of time.
//
// Scopes: plugin (init), device (device_open), delegate (create), run (execute). An unknown key is an error
// unless it starts with "x-", which a plugin that does not know it ignores (ABI-OPT-01).
#ifndef ETB_OPTION_H_
#define ETB_OPTION_H_

#include "etb/base.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t etb_option_type;
#define ETB_OPTION_BOOL 1u   // i64, 0 or 1
#define ETB_OPTION_I64 2u    // i64
#define ETB_OPTION_F64 3u    // f64
#define ETB_OPTION_TEXT 4u   // text, UTF-8, NUL-terminated
#define ETB_OPTION_BYTES 5u  // bytes
#define ETB_OPTION_LIST 6u   // items, each of a type that is not LIST

// The object that an option belongs to or an extension is asked of.
#define ETB_OBJECT_PLUGIN 1u
#define ETB_OBJECT_DEVICE 2u
#define ETB_OBJECT_DELEGATE 4u
#define ETB_OBJECT_CONTEXT 8u
#define ETB_OBJECT_RUN 16u  // options only: one execute

// One option. Only the field that `type` names is read; the others are zero.
typedef struct etb_option {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  const char* key;
  etb_option_type type;
  uint32_t item_count;
  int64_t i64;
  double f64;
  const char* text;
  etb_bytes bytes;
  const struct etb_option* items;  // item_count of them, walked as ABI-SIZE-04 says
  const void* reserved_pointer;    // must be NULL
} etb_option;

// When an option may change after its object was made.
#define ETB_OPTION_FIXED 0u     // never
#define ETB_OPTION_BETWEEN 1u   // between runs
#define ETB_OPTION_ANY_TIME 2u  // also during a run

// What an option is. `minimum` and `maximum` bound I64 and F64 options, inclusive, when minimum < maximum; otherwise (both 0,
// or infinite) there is no bound. `choices` lists the values of a TEXT option that has few.
typedef struct etb_option_schema {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  const char* key;
  const char* doc;  // one sentence for `etbackend info`
  etb_option_type type;
  uint32_t scopes;        // ETB_OBJECT_* bits
  uint32_t mutable_when;  // ETB_OPTION_FIXED, _BETWEEN, _ANY_TIME
  uint32_t choice_count;
  const etb_option* default_value;  // NULL: it has none, and must be given
  double minimum;
  double maximum;
  const char* const* choices;
  const void* reserved_pointer;  // must be NULL
} etb_option_schema;

// A sink takes items of unknown number. The callee calls `put` on the calling thread before it returns; the
// item is borrowed-for-call. If put answers anything but ETB_OK the callee stops and returns that status
// (ABI-SINK-01, ABI-SINK-02).
typedef struct etb_option_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Takes one item [borrowed-for-call], on the thread of the call that was given the sink, before it returns (ABI-SINK-01).
  // threads  [serial:sink]   since 1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_option* option);
} etb_option_sink;

typedef struct etb_option_schema_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Takes one item [borrowed-for-call], on the thread of the call that was given the sink, before it returns (ABI-SINK-01).
  // threads  [serial:sink]   since 1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_option_schema* schema);
} etb_option_schema_sink;

// A sink of texts, e.g. op names.
typedef struct etb_text_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Takes one item [borrowed-for-call], on the thread of the call that was given the sink, before it returns (ABI-SINK-01).
  // threads  [serial:sink]   since 1.0
  etb_status(ETB_CALL* put)(void* ctx, const char* text);
} etb_text_sink;

// One compile spec, carried byte for byte from compilation through the .pte to delegate creation
// (ABI-SPEC-01).
typedef struct etb_compile_spec {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  const char* key;
  etb_bytes value;
} etb_compile_spec;

#ifdef __cplusplus
}
#endif

#endif
