// SPDX-License-Identifier: Apache-2.0
//
// DRAFT, may change. Values that a delegate computes inside, for a recording of intermediate outputs. Names and debug ids
// are those of the artifact's debug map.
//
//   const etb_value_sink* values = etb_values_of(args->events);
//   if (values != NULL && values->wants(values->events.ctx, "conv1", -1))
//     values->put_value(values->events.ctx, &value);
#ifndef ETB_EXT_DRAFT_VALUES_H_
#define ETB_EXT_DRAFT_VALUES_H_

#include <stddef.h>

#include "etb/delegate.h"

#ifdef __cplusplus
extern "C" {
#endif

// Kind of an etb_inner_value; it names the field that has the value.
#define ETB_INNER_TENSORS 0u
#define ETB_INNER_INT 1u
#define ETB_INNER_BOOL 2u
#define ETB_INNER_DOUBLE 3u

// A value with the name or the debug id of the work that computed it, as in etb_event.
typedef struct etb_inner_value {
  uint32_t struct_size;
  uint32_t flags;             // must be zero
  const char* name;           // NULL: debug_id identifies the work
  int64_t debug_id;           // -1: name identifies the work
  uint32_t kind;              // ETB_INNER_*
  uint32_t tensor_count;      // 1, or the length of a list of tensors
  const etb_tensor* tensors;  // packed, in host memory
  int64_t integer;            // INT; BOOL: 0 or 1
  double real;                // DOUBLE
} etb_inner_value;

// Content of etb_value_sink.id.
#define ETB_VALUE_SINK_ID 0x6c6176312d627465u  // "etb-1val"

// A sink of events that takes values, too. A host that wants values passes it where etb_exec_args.events has a sink of
// events; events.struct_size is then the size of this struct.
typedef struct etb_value_sink {
  etb_event_sink events;
  uint64_t id;  // ETB_VALUE_SINK_ID

  // Asks whether a value is wanted, before the plugin copies it from a device.
  //
  // returns  1 or 0.
  // presence required
  // threads  [serial:sink]
  uint32_t(ETB_CALL* wants)(void* ctx, const char* name, int64_t debug_id);

  // Receives one value.
  //
  // value    [borrowed-for-call]
  // returns  ETB_OK; ETB_INVALID_ARGUMENT (a tensor that is not packed, or not in host memory), which ends nothing.
  // presence required
  // threads  [serial:sink]
  etb_status(ETB_CALL* put_value)(void* ctx, const etb_inner_value* value);
} etb_value_sink;

// Returns the sink of values behind a sink of events; NULL: no values are wanted.
static inline const etb_value_sink* etb_values_of(const etb_event_sink* events) {
  const etb_value_sink* values = (const etb_value_sink*)(const void*)events;
  if (events == NULL || events->struct_size < sizeof(etb_value_sink)) return NULL;
  return values->id == ETB_VALUE_SINK_ID ? values : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
