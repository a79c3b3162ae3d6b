// SPDX-License-Identifier: Apache-2.0
//
// Options and compile specs. Options are typed key-value pairs that may change at run time and have a schema.
// Compile specs are pairs of key and bytes that are fixed ahead of time.
//
// The function that receives an option decides its scope: init (plugin), open (device), create (delegate),
// context_create (context), execute (run).
// An unknown key is an error unless it starts with "x-"; a plugin ignores an "x-" key that it does not know
// (ABI-OPT-01).
//
//   etb_option threads = {.struct_size = ETB_INIT_SIZE(etb_option)};
//   threads.key = "threads";
//   threads.type = ETB_OPTION_I64;
//   threads.i64 = 4;
//   table->init(&host, &threads, 1, &plugin, &error);
#ifndef ETB_OPTION_H_
#define ETB_OPTION_H_

#include "etb/base.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Type of an option; it names the field of etb_option that holds the value.
typedef uint32_t etb_option_type;
#define ETB_OPTION_BOOL 1u   // i64, 0 or 1
#define ETB_OPTION_I64 2u    // i64
#define ETB_OPTION_F64 3u    // f64
#define ETB_OPTION_TEXT 4u   // text, UTF-8, NUL-terminated
#define ETB_OPTION_BYTES 5u  // bytes
#define ETB_OPTION_LIST 6u   // items, each of a type that is not LIST

// Kind of the object that an option belongs to, or that an extension is requested for.
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
  const struct etb_option* items;  // item_count of them (ABI-SIZE-04)
  const void* reserved_pointer;    // must be NULL
} etb_option;

// Moment at which an option may change after its object was made.
#define ETB_OPTION_FIXED 0u     // never
#define ETB_OPTION_BETWEEN 1u   // between runs
#define ETB_OPTION_ANY_TIME 2u  // also during a run

// Description of one option that a plugin knows.
typedef struct etb_option_schema {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  const char* key;
  const char* doc;  // one sentence for `etbackend info`
  etb_option_type type;
  uint32_t scopes;                  // ETB_OBJECT_* bits
  uint32_t mutable_when;            // ETB_OPTION_FIXED, _BETWEEN, _ANY_TIME
  uint32_t choice_count;            // number of choices, 0: any value of the type
  const etb_option* default_value;  // NULL: it has none, and the caller must pass the option

  // Inclusive bounds of an I64 or F64 option. They apply when minimum < maximum; otherwise (both 0, or
  // infinite) there is no bound.
  double minimum;
  double maximum;

  const char* const* choices;    // choice_count values that a TEXT option may have
  const void* reserved_pointer;  // must be NULL
} etb_option_schema;

// Sink of options. The rules of all sinks are in base.h.
typedef struct etb_option_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Receives one option.
  //
  // option   [borrowed-for-call]
  // returns  ETB_OK; any other status ends the call that was given the sink (ABI-SINK-02).
  // presence required
  // threads  [serial:sink]
  // since    1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_option* option);
} etb_option_sink;

// Sink of option schemas.
typedef struct etb_option_schema_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Receives the schema of one option.
  //
  // schema   [borrowed-for-call]
  // returns  ETB_OK; any other status ends the call that was given the sink (ABI-SINK-02).
  // presence required
  // threads  [serial:sink]
  // since    1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_option_schema* schema);
} etb_option_schema_sink;

// Sink of texts, e.g. op names.
typedef struct etb_text_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Receives one text.
  //
  // text     [borrowed-for-call] UTF-8, NUL-terminated.
  // returns  ETB_OK; any other status ends the call that was given the sink (ABI-SINK-02).
  // presence required
  // threads  [serial:sink]
  // since    1.0
  etb_status(ETB_CALL* put)(void* ctx, const char* text);
} etb_text_sink;

// One compile spec. It is carried byte for byte from compilation through the .pte to delegate creation
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
